//! Over shared memory: many questions at a time on one connection, answers read in place.
//!
//! `connection` is that connection, its questions under way, and the task that waits for their answers.

mod connection;

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use shm_channel::{Answer, CRC32, Checksum};
use tokio::sync::Notify;
use tokio::task::coop;
use tokio::time::{Instant, timeout_at};

use self::connection::{ChannelConnection, NoAnswer};
use super::pool;
use crate::request::DataRequest;
use crate::transport::{Failure, Payload, Transport, judged};

/// Over shared memory.
#[derive(Debug)]
pub struct Shm {
    path: PathBuf,
    spin: Duration,
    link: Mutex<Option<Arc<ChannelConnection>>>,
    /// Held while connecting, so that only one task connects.
    connecting: tokio::sync::Mutex<()>,
}

impl Shm {
    /// A producer at this path; connects when asked, and anew when the producer is gone.
    ///
    /// Each answer is looked for during `spin`, others having their turns meanwhile, before its
    /// task sleeps; zero for not at all.
    pub fn new(path: impl Into<PathBuf>, spin: Duration) -> Self {
        let (link, connecting) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { path: path.into(), spin, link, connecting }
    }

    /// The connection that there is, or a new one.
    async fn link(&self, until: Instant) -> Result<Arc<ChannelConnection>, Failure> {
        if let Some(link) = self.current() {
            return Ok(link);
        }
        let connecting = async {
            let _held = self.connecting.lock().await;
            // Others may have connected while we waited.
            if let Some(link) = self.current() {
                return Ok(link);
            }
            let link = ChannelConnection::connect(self.path.clone()).await?;
            *self.kept() = Some(link.clone());
            Ok(link)
        };
        let connected = timeout_at(until, connecting).await;
        connected.unwrap_or_else(|_| Err(Failure::unreachable("connecting took too long")))
    }

    fn current(&self) -> Option<Arc<ChannelConnection>> {
        self.kept().as_ref().filter(|link| !link.is_over()).cloned()
    }

    fn kept(&self) -> MutexGuard<'_, Option<Arc<ChannelConnection>>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer in place; retried with more space if the producer needs it.
    async fn exchange(&self, ask: &DataRequest, until: Instant) -> Result<LentAnswer, Failure> {
        let request = ask.wire();
        let mut room = ask.what.expected_length();
        loop {
            let link = self.link(until).await?;
            match link.exchange(request.as_bytes(), room, self.spin, until).await {
                Ok(answer) => {
                    return Ok(LentAnswer { answer, _freed: SpaceNotifier(link.freed()) });
                }
                Err(NoAnswer::TooLarge(needed)) if needed > room => room = needed,
                Err(ended) => return Err(ended.into_failure()),
            }
        }
    }
}

impl Drop for Shm {
    fn drop(&mut self) {
        if let Some(link) = self.kept().take() {
            link.close();
        }
    }
}

/// An answer in shared memory, which is the producer's again when this is dropped.
pub struct LentAnswer {
    answer: Answer,
    // After the answer: fields are dropped in their order.
    _freed: SpaceNotifier,
}

/// Notifies requests that wait for space.
struct SpaceNotifier(Arc<Notify>);

impl Drop for SpaceNotifier {
    fn drop(&mut self) {
        self.0.notify_waiters();
    }
}

impl Deref for LentAnswer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.answer
    }
}

impl fmt::Debug for LentAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.answer.fmt(formatter)
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
        judged(ask, Payload::lent(lent), value)
    }
}
