//! Casts that come over NATS: a subscription to one subject.

use std::io::{Error, Result};
use std::time::Duration;

use async_nats::{Client, Subscriber};
use futures_util::{FutureExt, StreamExt};
use serving::stop::Stop;
use timer::monotonic;
use tokio::time::sleep;

use super::intake::Shared;
use crate::cast::nats::passed;

/// Messages that may wait in the client; what comes beyond it drops, which shows as gaps.
const ARRIVALS: usize = 1 << 18;
/// Messages that are counted at a time.
const BATCH: usize = 1024;
/// Within which the subscription must stand.
const WITHIN: Duration = Duration::from_secs(10);

/// A subscription, and the client that holds it.
#[derive(Debug)]
pub(super) struct Bus {
    _client: Client,
    arrivals: Subscriber,
}

impl Bus {
    /// Subscribes; the client comes back by itself when the server does.
    ///
    /// Errors: no server, or none that lets us; not within ten seconds
    pub async fn subscribe(url: &str, subject: &str) -> Result<Self> {
        let late = |_| Err(Error::other("the subscription did not stand within ten seconds"));
        tokio::time::timeout(WITHIN, Self::open(url, subject)).await.unwrap_or_else(late)
    }

    async fn open(url: &str, subject: &str) -> Result<Self> {
        let (servers, options) = nats_address::read(url)?;
        let options = options.name("monitor").subscription_capacity(ARRIVALS).max_reconnects(None);
        let client = options.connect(servers).await.map_err(Error::other)?;
        let arrivals = client.subscribe(subject.to_owned()).await.map_err(Error::other)?;
        // What is published over another connection from now on comes after it.
        passed(&client).await?;
        Ok(Self { _client: client, arrivals })
    }

    /// Counts what comes until stopped, with a pause after what came together, to play a slow monitor.
    pub async fn receive(mut self, ledger: Shared, slow: Duration, mut stop: Stop) {
        loop {
            let message = tokio::select! {
                () = stop.pulled() => return,
                message = self.arrivals.next() => message,
            };
            let Some(message) = message else { return };
            self.count(message, &ledger);
            if !slow.is_zero() {
                tokio::select! {
                    () = stop.pulled() => return,
                    () = sleep(slow) => {}
                }
            }
        }
    }

    /// Counts a message and those that are there already.
    fn count(&mut self, first: async_nats::Message, ledger: &Shared) {
        let now_ns = monotonic();
        let mut ledger = ledger.lock();
        ledger.take_loose(&first.payload, now_ns);
        for _ in 1..BATCH {
            let Some(Some(message)) = self.arrivals.next().now_or_never() else { return };
            ledger.take_loose(&message.payload, now_ns);
        }
    }
}
