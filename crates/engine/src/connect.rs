//! Opening a connection with a stream on it: the transport, the protocol's session, and the task that it needs.

use std::any::Any;

use record::FailureKind;
use tokio::task::{JoinHandle, spawn_local};

use crate::clock::Clock;
use crate::driver::{Call, Driver, Exchange, NewConnection, Onward};
use crate::transport::{Endpoint, Network, no_target, with_origin};

/// A connection with its first stream.
///
/// Fields are dropped in order: the stream before its connection, and that before its task.
pub struct OpenedConnection<D: Driver> {
    /// Its first stream.
    pub stream: D::Stream,
    /// The connection.
    pub connection: D::Connection,
    /// The task that it needs, if it needs one.
    pub background: Option<BackgroundTask>,
}

/// The task of a connection; it ends when this is dropped.
pub struct BackgroundTask(JoinHandle<()>);

impl Drop for BackgroundTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Connects for this operation and opens a stream. Call it within a local runtime.
///
/// Errors: the kind of failure and what was seen
pub async fn connect<C: Clock, N: Network, D: Driver>(
    driver: &D,
    operation: &D::Operation,
    endpoint: &Endpoint,
    network: &N,
    exchange: &mut Exchange<C>,
) -> Result<OpenedConnection<D>, (FailureKind, String)> {
    let stream = network.open(endpoint, exchange).await?;
    let NewConnection { mut connection, background } =
        driver.connect(operation, endpoint, stream, exchange).await?;
    let background = background.map(|task| BackgroundTask(spawn_local(task)));
    let Some(stream) = driver.open_stream(&mut connection) else {
        return Err((FailureKind::Closed, "a new connection carries no stream".to_owned()));
    };
    Ok(OpenedConnection { stream, connection, background })
}

/// The way of an operation that is performed outside of a load.
pub struct Route<'a, N, D: Driver> {
    /// Who speaks.
    pub driver: &'a D,
    /// What is performed.
    pub operation: &'a D::Operation,
    /// Where it may go.
    pub endpoints: &'a [Endpoint],
    /// Its own target among them.
    pub target: usize,
    /// Opens the streams.
    pub network: &'a N,
}

impl<N: Network, D: Driver> Route<'_, N, D> {
    /// The place of this call's target.
    ///
    /// Errors: its address is no target; the kind of failure and what was seen
    pub fn first(&self, call: &Call) -> Result<usize, (FailureKind, String)> {
        match self.driver.origin(self.operation, call, &self.endpoints[self.target]) {
            None => Ok(self.target),
            Some(origin) => with_origin(self.endpoints, &origin, self.target)
                .ok_or_else(|| (FailureKind::Redirect, no_target(&origin))),
        }
    }

    /// A connection to the target of this call.
    ///
    /// Errors: the kind of failure and what was seen
    pub async fn begin<C: Clock>(
        &self,
        call: &Call,
        exchange: &mut Exchange<C>,
    ) -> Result<OpenedConnection<D>, (FailureKind, String)> {
        self.connect(self.first(call)?, exchange).await
    }

    /// A connection on which the operation goes on, and how far it has come; `None` if it has ended.
    ///
    /// Errors: the kind of failure and what was seen
    pub async fn go_on<C: Clock>(
        &self,
        exchange: &mut Exchange<C>,
    ) -> Result<Option<(OpenedConnection<D>, Box<dyn Any>)>, (FailureKind, String)> {
        let Some(Onward { origin, state }) = exchange.onward.take() else { return Ok(None) };
        let Some(target) = with_origin(self.endpoints, &origin, self.target) else {
            return Ok(None);
        };
        exchange.detail = None;
        exchange.reusable = true;
        Ok(Some((self.connect(target, exchange).await?, state)))
    }

    async fn connect<C: Clock>(
        &self,
        target: usize,
        exchange: &mut Exchange<C>,
    ) -> Result<OpenedConnection<D>, (FailureKind, String)> {
        let endpoint = &self.endpoints[target];
        connect(self.driver, self.operation, endpoint, self.network, exchange).await
    }
}
