//! One connection to NATS of the pool, and what comes back on it.
//!
//! Every publication has a reply subject of its own in the link's inbox. For one to whoever listens
//! the server answers there only if nobody does (no responders, 503); for one to the stream it
//! answers that it is stored. A message to the inbox itself is a barrier: the server takes what a
//! connection sends in order, so when it comes back, all before it were taken, and every refusal
//! has arrived.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_nats::connection::State as Connection;
use async_nats::{Client, HeaderMap, Message, StatusCode, Subject, Subscriber};
use hyper::body::Bytes;
use serde::Deserialize;
use tokio::sync::oneshot;

use super::send::Written;
use crate::fanout::ledger::{Ledger, State, Why};
use crate::fanout::parcel;

/// What a reply subject's last token begins with; a number follows. Short, since one travels with
/// each delivery.
const BARRIER: &str = "b";
const PLAIN: &str = "p";
const STORE: &str = "s";

/// Which connection to which server: changes when it is made anew, and what was under way on the
/// former may be lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    server: Arc<str>,
    client: u64,
}

/// A connection that makes itself anew.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) client: Client,
    inbox: String,
    next: AtomicU64,
    barriers: Mutex<HashMap<u64, oneshot::Sender<()>>>,
}

/// The server's answer to a publication into a stream.
#[derive(Deserialize)]
struct Stored {
    #[serde(default)]
    error: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    seq: u64,
}

impl Link {
    /// A link over a client, and its inbox.
    pub(super) async fn new(
        client: Client,
        inbox: String,
    ) -> Result<(Self, Subscriber), async_nats::SubscribeError> {
        let answers = client.subscribe(format!("{inbox}.*")).await?;
        let barriers = Mutex::default();
        Ok((Self { client, inbox, next: AtomicU64::new(0), barriers }, answers))
    }

    /// The connection that holds now; `None` if there is none.
    pub(super) fn run(&self) -> Option<Run> {
        if self.client.connection_state() != Connection::Connected {
            return None;
        }
        let info = self.client.try_server_info()?;
        Some(Run { server: info.server_id.into(), client: info.client_id })
    }

    /// Bytes that one message may have.
    pub(super) fn room(&self) -> Option<usize> {
        self.client.try_server_info().map(|info| info.max_payload)
    }

    /// Writes a subject at which the server answers if nobody listens to a delivery.
    pub(super) fn write_reply(&self, number: u64, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.inbox.as_bytes());
        bytes.push(b'.');
        bytes.extend_from_slice(PLAIN.as_bytes());
        parcel::decimal(number, bytes);
    }

    /// Hands a delivery to whoever listens.
    pub(super) async fn publish(&self, subject: &Subject, written: Written) -> Result<(), Why> {
        let Written { reply, bytes } = written;
        let sent = self.client.publish_with_reply(subject.clone(), reply, bytes).await;
        sent.map_err(|error| refusal(error.kind()))
    }

    /// Hands a delivery to the stream, which drops it if it has this id already.
    pub(super) async fn store(
        &self,
        subject: &Subject,
        number: u64,
        id: &str,
        bytes: Bytes,
    ) -> Result<(), Why> {
        let reply = format!("{}.{STORE}{number}", self.inbox);
        let mut headers = HeaderMap::new();
        headers.insert(async_nats::header::NATS_MESSAGE_ID, id);
        let client = &self.client;
        let sent = client.publish_with_reply_and_headers(subject.clone(), reply, headers, bytes);
        sent.await.map_err(|error| refusal(error.kind()))
    }

    /// Resolves once the server has taken all that was published before; never, if the connection
    /// is lost meanwhile.
    pub(super) async fn passed(&self) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (passed, back) = oneshot::channel();
        self.barriers().insert(number, passed);
        let _forget = Forget { link: self, number };
        let subject = format!("{}.{BARRIER}{number}", self.inbox);
        if self.client.publish(subject, Bytes::new()).await.is_err() || back.await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// What came into the inbox.
    pub(super) fn hear(&self, message: &Message, ledger: &Ledger) {
        let Some(token) = message.subject.rsplit('.').next() else { return };
        let number = |prefix: &str| token.strip_prefix(prefix).and_then(|rest| rest.parse().ok());
        let nobody = message.status == Some(StatusCode::NO_RESPONDERS);
        if let Some(number) = number(BARRIER) {
            if let Some(passed) = self.barriers().remove(&number) {
                // Whoever waited may have gone.
                let _ = passed.send(());
            }
        } else if let Some(number) = number(PLAIN) {
            if nobody {
                ledger.put(number, State::Open(Some(Why::NoSubscriber)));
            }
        } else if let Some(number) = number(STORE) {
            let stored = serde_json::from_slice::<Stored>(&message.payload);
            let is_stored = stored.is_ok_and(|stored| stored.error.is_none() && stored.seq > 0);
            let failed = State::Open(Some(Why::NotStored));
            ledger.put(number, if is_stored && !nobody { State::Stored } else { failed });
        }
    }

    fn barriers(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<()>>> {
        self.barriers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets a barrier that nobody waits for any more.
struct Forget<'a> {
    link: &'a Link,
    number: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.link.barriers().remove(&self.number);
    }
}

fn refusal(kind: async_nats::client::PublishErrorKind) -> Why {
    match kind {
        async_nats::client::PublishErrorKind::MaxPayloadExceeded => Why::TooLarge,
        _ => Why::BusAway,
    }
}
