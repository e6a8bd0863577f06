//! Opening a connection with a stream on it: the transport, the protocol's session, and the task that it needs.

use record::FailureKind;
use tokio::task::{JoinHandle, spawn_local};

use crate::clock::Clock;
use crate::driver::{Driver, Exchange, NewConnection};
use crate::transport::{Endpoint, Network};

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
