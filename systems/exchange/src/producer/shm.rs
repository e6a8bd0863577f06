//! The producer over shared memory: a thread for each worker of the channel.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use serving::metrics::Registry;
use serving::stop::Stop;
use shm_channel::{AnswerBuffer, CRC32, Checksum, Error, Producer, Reply, Settings};

use super::metrics::TransportMetrics;
use super::payloads::PayloadCache;
use crate::prepared::{Prepared, patch};
use crate::request::DataRequest;

/// A channel and the threads that answer over it; dropping it ends both, once what was asked before is
/// answered.
pub(super) struct ChannelServer {
    producer: Option<Arc<Producer>>,
    workers: Vec<JoinHandle<()>>,
}

impl ChannelServer {
    /// Listens at the path and answers what comes.
    pub(super) fn start(
        path: &Path,
        settings: Settings,
        cache: &Arc<PayloadCache>,
        registry: &Registry,
    ) -> Result<Self, Error> {
        let figures = TransportMetrics::new(registry, "shm");
        let help = "Requests whose slot was too small for the answer; the reply has the size.";
        let too_large = registry.counter("shm_too_large_total", help);
        let (producer, workers) = Producer::bind(path, settings)?;
        // From here on, what was started is ended if the next thread cannot be.
        let mut served = Self { producer: Some(Arc::new(producer)), workers: Vec::new() };
        for (number, worker) in workers.into_iter().enumerate() {
            let (cache, figures, too_large) = (cache.clone(), figures.clone(), too_large.clone());
            let answering = move || {
                worker.run(|request, buffer| {
                    let reply = answer(request, buffer, &cache);
                    match reply {
                        Reply::Answer(_) => figures.answered.one(),
                        Reply::Refused(_) => figures.refused.one(),
                        // It comes again with more, and is counted with how that ends.
                        Reply::TooLarge(_) => too_large.one(),
                    }
                    reply
                });
            };
            let thread = std::thread::Builder::new().name(format!("shm-{number}"));
            let started = thread.spawn(answering);
            let doing = "starting a thread";
            served.workers.push(started.map_err(|source| Error::Io { doing, source })?);
        }
        Ok(served)
    }

    /// For metrics of its clients.
    pub(super) fn producer(&self) -> Weak<Producer> {
        self.producer.as_ref().map(Arc::downgrade).unwrap_or_default()
    }

    /// Answers until stopped, and then what was asked before.
    pub(super) async fn until(self, mut stop: Stop) {
        stop.pulled().await;
        // Its threads are waited for on one that has nothing else to do; none of them fails.
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }
}

impl Drop for ChannelServer {
    fn drop(&mut self) {
        self.producer = None;
        for worker in self.workers.drain(..) {
            // One that panicked has ended, too.
            let _ = worker.join();
        }
    }
}

/// Answers in place, or says what is said instead.
fn answer(request: &[u8], buffer: &mut AnswerBuffer<'_>, cache: &PayloadCache) -> Reply {
    match DataRequest::read(request) {
        Ok(ask) => put(&cache.prepared(ask.what), ask.nonce, buffer),
        Err(refusal) => Reply::Refused(u64::from(refusal.code())),
    }
}

/// Copies the payload into the slot if it is not there yet, and writes the nonce into it.
fn put(prepared: &Prepared, nonce: u64, buffer: &mut AnswerBuffer<'_>) -> Reply {
    let bytes = prepared.bytes();
    let is_there = buffer.tag() == Some(prepared.id());
    let Some(place) = buffer.get_mut(..bytes.len()) else {
        return Reply::TooLarge(bytes.len());
    };
    if !is_there {
        place.copy_from_slice(bytes);
    }
    patch(place, nonce);
    buffer.set_tag(prepared.id());
    buffer.set_checksum(Checksum { kind: CRC32, value: u64::from(prepared.checksum(nonce)) });
    Reply::Answer(bytes.len())
}
