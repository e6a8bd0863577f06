//! The reports of a run, in order, from where they are wanted; those of the past first.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Display;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use async_nats::jetstream::{Message, stream};
use futures_util::StreamExt;

use crate::connection::{FleetError, RunStore};
use crate::protocol::{Dispatch, store_name};

/// A gap in the connection is noticed after so long.
const GAP_SEEN_WITHIN: Duration = Duration::from_secs(4);
/// Time limit for the reports of the past to come.
const PAST_WITHIN: Duration = Duration::from_secs(60);

/// The reports of a run.
pub struct Reports {
    received: Receiver<Received>,
    /// What was stored before it was asked for, and is not taken yet.
    past: RefCell<VecDeque<Dispatch>>,
}

/// A report.
struct Received {
    /// None if it cannot be read.
    dispatch: Option<Dispatch>,
    /// Reports that are stored after it.
    pending: u64,
}

impl Reports {
    /// Receives all reports of a run, or those from this sequence number on.
    ///
    /// Errors: there is no such run, or the servers refuse
    pub async fn receive(
        store: &RunStore,
        run: &str,
        first: Option<u64>,
    ) -> Result<Self, FleetError> {
        let stream = reports(store, run).await?;
        let ordered = pull::OrderedConfig {
            max_expires: GAP_SEEN_WITHIN,
            deliver_policy: match first {
                Some(start_sequence) => DeliverPolicy::ByStartSequence { start_sequence },
                None => DeliverPolicy::All,
            },
            ..pull::OrderedConfig::default()
        };
        let consumer = stream.create_consumer(ordered).await.map_err(|error| failed(&error))?;
        let mut messages = consumer.messages().await.map_err(|error| failed(&error))?;
        let (sender, received) = channel();
        tokio::spawn(async move {
            // An error is a gap in the connection: the consumer goes on where it was.
            while let Some(message) = messages.next().await {
                let Ok(message) = message else { continue };
                if !pass(&message, &sender) {
                    return;
                }
            }
        });
        Ok(Self { received, past: RefCell::default() })
    }

    /// The next report, if one comes in time.
    pub fn next(&self, within: Duration) -> Option<Dispatch> {
        if let Some(past) = self.past.borrow_mut().pop_front() {
            return Some(past);
        }
        match self.received.recv_timeout(within) {
            Ok(received) => received.dispatch,
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                // The receiving task ends with the runtime alone.
                std::thread::sleep(within);
                None
            }
        }
    }

    /// Whether reports of the past wait to be taken.
    pub fn has_past(&self) -> bool {
        !self.past.borrow().is_empty()
    }

    /// Waits for the reports that were stored before, and shows them; they remain to be taken.
    ///
    /// Errors: they do not come in time
    pub fn past(&self, mut show: impl FnMut(&Dispatch)) -> Result<(), FleetError> {
        let mut past = self.past.borrow_mut();
        loop {
            let Ok(Received { dispatch, pending }) = self.received.recv_timeout(PAST_WITHIN) else {
                return Err(failed(&"those that agents have stored do not come"));
            };
            if let Some(dispatch) = dispatch {
                show(&dispatch);
                past.push_back(dispatch);
            }
            if pending == 0 {
                return Ok(());
            }
        }
    }
}

/// Sequence numbers of the first report that the servers keep, and of the next one that comes.
///
/// Errors: there is no such run, or the servers refuse
pub async fn kept(store: &RunStore, run: &str) -> Result<(u64, u64), FleetError> {
    let stream = reports(store, run).await?;
    let state = &stream.cached_info().state;
    Ok((state.first_sequence, state.last_sequence + 1))
}

async fn reports(store: &RunStore, run: &str) -> Result<stream::Stream, FleetError> {
    store.context.get_stream(store_name(run)).await.map_err(|error| failed(&error))
}

fn failed(error: &dyn Display) -> FleetError {
    FleetError::new(format!("cannot receive reports from NATS: {error}"))
}

/// Whether anybody receives them still.
fn pass(message: &Message, sender: &Sender<Received>) -> bool {
    let pending = message.info().map_or(0, |info| info.pending);
    let dispatch = serde_json::from_slice(&message.payload).ok();
    sender.send(Received { dispatch, pending }).is_ok()
}
