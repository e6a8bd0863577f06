//! Over shared memory: many requests at a time on one connection, answers read in place.
//!
//! `connection` is that connection with its requests in flight and the task that waits for their answers; a
//! `lent_answer` is read in place.

mod connection;
pub(crate) mod lent_answer;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use shm_channel::{CRC32, Checksum};
use tokio::task::coop;
use tokio::time::{Instant, timeout_at};

use self::connection::{ChannelConnection, NoAnswer};
use self::lent_answer::{LentAnswer, SpaceNotifier};
use super::pool;
use crate::failure::Failure;
use crate::payload::Payload;
use crate::request::DataRequest;
use crate::transport::{Transport, verified};

/// Over shared memory.
#[derive(Debug)]
pub struct Shm {
    path: PathBuf,
    spin: Duration,
    connection: Mutex<Option<Arc<ChannelConnection>>>,
    /// Held while connecting, so that only one task connects.
    connecting: tokio::sync::Mutex<()>,
}

impl Shm {
    /// A producer at this path; connects when asked, and anew when the producer is gone.
    ///
    /// Each answer is looked for during `spin`, others having their turns meanwhile, before its
    /// task sleeps; zero for not at all.
    pub fn new(path: impl Into<PathBuf>, spin: Duration) -> Self {
        let (connection, connecting) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { path: path.into(), spin, connection, connecting }
    }

    /// The connection that there is, or a new one.
    async fn connected(&self, until: Instant) -> Result<Arc<ChannelConnection>, Failure> {
        if let Some(connection) = self.current() {
            return Ok(connection);
        }
        let connecting = async {
            let _held = self.connecting.lock().await;
            // Others may have connected while we waited.
            if let Some(connection) = self.current() {
                return Ok(connection);
            }
            let connection = ChannelConnection::connect(self.path.clone()).await?;
            *self.connection_slot() = Some(connection.clone());
            Ok(connection)
        };
        let connected = timeout_at(until, connecting).await;
        connected.unwrap_or_else(|_| Err(Failure::unreachable("connecting took too long")))
    }

    fn current(&self) -> Option<Arc<ChannelConnection>> {
        self.connection_slot().as_ref().filter(|connection| !connection.is_over()).cloned()
    }

    fn connection_slot(&self) -> MutexGuard<'_, Option<Arc<ChannelConnection>>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer in place; retried with more space if the producer needs it.
    async fn exchange(&self, ask: &DataRequest, until: Instant) -> Result<LentAnswer, Failure> {
        let request = ask.wire();
        let mut room = ask.what.expected_length();
        loop {
            let connection = self.connected(until).await?;
            match connection.exchange(request.as_bytes(), room, self.spin, until).await {
                Ok(answer) => {
                    return Ok(LentAnswer { answer, _freed: SpaceNotifier(connection.freed()) });
                }
                Err(NoAnswer::TooLarge(needed)) if needed > room => room = needed,
                Err(ended) => return Err(ended.into_failure()),
            }
        }
    }
}

impl Drop for Shm {
    fn drop(&mut self) {
        if let Some(connection) = self.connection_slot().take() {
            connection.close();
        }
    }
}

impl Transport for Shm {
    async fn fetch(&self, ask: &DataRequest, deadline: Duration) -> Result<Payload, Failure> {
        // Who never has to wait would otherwise never let others have their turn.
        coop::consume_budget().await;
        let lent = self.exchange(ask, pool::deadline_after(deadline)).await?;
        let Some(Checksum { kind: CRC32, value }) = lent.answer.checksum() else {
            return Err(Failure::Damaged("the answer has no checksum".to_owned()));
        };
        verified(ask, Payload::lent(lent), value)
    }
}
