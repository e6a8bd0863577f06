//! The reports of a run, in order: those that are stored already, then those that come.

use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::time::Duration;

use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use async_nats::jetstream::{Message, stream};
use futures_util::StreamExt;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;

use crate::connection::{FleetError, RunStore};
use crate::protocol::{Dispatch, store_name};

/// A gap in the connection is noticed after so long.
const GAP_SEEN_WITHIN: Duration = Duration::from_secs(4);
/// Time limit for a report that is stored.
const STORED_WITHIN: Duration = Duration::from_secs(30);
/// How often NATS is asked: a request that was under way when NATS went away is lost.
const ATTEMPTS: u32 = 4;
/// Reports that wait here; the others wait at NATS.
const WAITING: usize = 64;

/// The reports of a run, from a sequence number on.
pub struct Reports {
    received: RefCell<Receiver<Received>>,
    /// Whether reports that were stored before this was asked for have not been taken yet.
    is_behind: Cell<bool>,
}

/// A report.
struct Received {
    /// None if it cannot be read.
    dispatch: Option<Dispatch>,
    /// Reports that are stored after it.
    pending: u64,
}

/// Sequence numbers of the reports that NATS has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// The first that it still has.
    pub first: u64,
    /// The next that comes.
    pub next: u64,
}

impl Kept {
    /// Errors: there is no such run, or the servers refuse
    pub async fn of(store: &RunStore, run: &str) -> Result<Self, FleetError> {
        let stream = repeated(async || stream(store, run).await).await?;
        let state = &stream.cached_info().state;
        Ok(Self { first: state.first_sequence, next: state.last_sequence + 1 })
    }
}

impl Reports {
    /// Receives the reports of a run from this sequence number on.
    ///
    /// Errors: there is no such run, or the servers refuse
    pub async fn receive(store: &RunStore, run: &str, first: u64) -> Result<Self, FleetError> {
        repeated(async || Self::try_receive(store, run, first).await).await
    }

    async fn try_receive(store: &RunStore, run: &str, first: u64) -> Result<Self, FleetError> {
        let stream = stream(store, run).await?;
        let ordered = pull::OrderedConfig {
            max_expires: GAP_SEEN_WITHIN,
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: first.max(1) },
            ..pull::OrderedConfig::default()
        };
        let is_behind = stream.cached_info().state.last_sequence >= first.max(1);
        let consumer = stream.create_consumer(ordered).await.map_err(|error| failed(&error))?;
        let mut messages = consumer.messages().await.map_err(|error| failed(&error))?;
        let (sender, received) = channel(WAITING);
        tokio::spawn(async move {
            // An error is a gap in the connection: the consumer goes on where it was.
            while let Some(message) = messages.next().await {
                let Ok(message) = message else { continue };
                if sender.send(Received::from(&message)).await.is_err() {
                    return;
                }
            }
        });
        Ok(Self { received: RefCell::new(received), is_behind: Cell::new(is_behind) })
    }

    /// The next report, if one comes in time.
    pub fn next(&self, runtime: &Runtime, within: Duration) -> Option<Dispatch> {
        let mut received = self.received.borrow_mut();
        let valid = async {
            loop {
                let Received { dispatch, pending } = received.recv().await?;
                if pending == 0 {
                    self.is_behind.set(false);
                }
                if dispatch.is_some() {
                    return dispatch;
                }
            }
        };
        runtime.block_on(async { timeout(within, valid).await }).ok().flatten()
    }

    /// Whether reports that were stored before this was asked for have not been taken yet.
    pub fn is_behind(&self) -> bool {
        self.is_behind.get()
    }

    /// Shows all reports that are stored.
    ///
    /// Errors: they do not come in time
    pub fn show_stored(
        self,
        runtime: &Runtime,
        mut show: impl FnMut(Dispatch),
    ) -> Result<(), FleetError> {
        while self.is_behind() {
            match self.next(runtime, STORED_WITHIN) {
                Some(dispatch) => show(dispatch),
                None if self.is_behind() => {
                    return Err(failed(&"what agents have stored does not come"));
                }
                None => {}
            }
        }
        Ok(())
    }
}

impl From<&Message> for Received {
    fn from(message: &Message) -> Self {
        Self {
            dispatch: serde_json::from_slice(&message.payload).ok(),
            pending: message.info().map_or(0, |info| info.pending),
        }
    }
}

async fn stream(store: &RunStore, run: &str) -> Result<stream::Stream, FleetError> {
    store.context.get_stream(store_name(run)).await.map_err(|error| failed(&error))
}

/// Asks until there is an answer; the last error after [`ATTEMPTS`].
async fn repeated<T>(ask: impl AsyncFn() -> Result<T, FleetError>) -> Result<T, FleetError> {
    let mut attempts = 1;
    loop {
        match ask().await {
            Err(_) if attempts < ATTEMPTS => attempts += 1,
            ended => return ended,
        }
    }
}

fn failed(error: &dyn Display) -> FleetError {
    FleetError::new(format!("cannot receive reports from NATS: {error}"))
}
