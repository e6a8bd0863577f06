//! One of the connections to NATS, and the answers on it.
//!
//! Every publication has its own reply subject in the connection's inbox. For a publication to
//! receivers the server answers only if there is no listener (no responders, 503); for one to the
//! stream it confirms that it is stored. A message to the inbox itself is a barrier: the server
//! handles a connection in order, so when the barrier returns, the server has handled all earlier
//! publications, and every refusal has arrived.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_nats::connection::State as Connection;
use async_nats::{Client, HeaderMap, Message, StatusCode, Subject, Subscriber};
use hyper::body::Bytes;
use serde::Deserialize;
use tokio::sync::oneshot;

use crate::fanout::delivery;
use crate::fanout::tracker::{DeliveryState, DeliveryTracker, FailureReason};

/// Prefix of a reply subject's last token; a number follows. Short, because each delivery contains
/// one.
const BARRIER: &str = "b";
const PLAIN: &str = "p";
const STORE: &str = "s";

/// Identifies a connection to a server. It changes when the connection is made again; publications
/// on the former connection may be lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConnectionEpoch {
    server: Arc<str>,
    client: u64,
}

/// An encoded delivery.
#[derive(Debug, Clone)]
pub(super) struct EncodedDelivery {
    /// The subject for the server's answer if there is no listener.
    pub(super) reply: Subject,
    pub(super) bytes: Bytes,
}

/// A connection that reconnects automatically.
#[derive(Debug)]
pub(super) struct NatsConnection {
    pub(super) client: Client,
    inbox: String,
    next: AtomicU64,
    barriers: Mutex<HashMap<u64, oneshot::Sender<()>>>,
}

/// The server's answer to a publication into a stream.
#[derive(Deserialize)]
struct PublishReply {
    #[serde(default)]
    error: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    seq: u64,
}

impl NatsConnection {
    /// A link over a client, with its inbox.
    pub(super) async fn new(
        client: Client,
        inbox: String,
    ) -> Result<(Self, Subscriber), async_nats::SubscribeError> {
        let answers = client.subscribe(format!("{inbox}.*")).await?;
        let barriers = Mutex::default();
        Ok((Self { client, inbox, next: AtomicU64::new(0), barriers }, answers))
    }

    /// The current connection; `None` if there is none.
    pub(super) fn run(&self) -> Option<ConnectionEpoch> {
        if self.client.connection_state() != Connection::Connected {
            return None;
        }
        let info = self.client.try_server_info()?;
        Some(ConnectionEpoch { server: info.server_id.into(), client: info.client_id })
    }

    /// Largest message in bytes.
    pub(super) fn max_payload(&self) -> Option<usize> {
        self.client.try_server_info().map(|info| info.max_payload)
    }

    /// Writes the reply subject of a delivery.
    pub(super) fn write_reply(&self, number: u64, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.inbox.as_bytes());
        bytes.push(b'.');
        bytes.extend_from_slice(PLAIN.as_bytes());
        delivery::decimal(number, bytes);
    }

    /// Publishes a delivery to its receivers.
    pub(super) async fn publish(
        &self,
        subject: &Subject,
        encoded: EncodedDelivery,
    ) -> Result<(), FailureReason> {
        let EncodedDelivery { reply, bytes } = encoded;
        let sent = self.client.publish_with_reply(subject.clone(), reply, bytes).await;
        sent.map_err(|error| refusal(error.kind()))
    }

    /// Publishes a delivery to the stream, which drops it if it already has this id.
    pub(super) async fn store(
        &self,
        subject: &Subject,
        number: u64,
        id: &str,
        bytes: Bytes,
    ) -> Result<(), FailureReason> {
        let reply = format!("{}.{STORE}{number}", self.inbox);
        let mut headers = HeaderMap::new();
        headers.insert(async_nats::header::NATS_MESSAGE_ID, id);
        let client = &self.client;
        let sent = client.publish_with_reply_and_headers(subject.clone(), reply, headers, bytes);
        sent.await.map_err(|error| refusal(error.kind()))
    }

    /// Resolves once the server has handled all earlier publications; never, if the connection is
    /// lost meanwhile.
    pub(super) async fn flushed(&self) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (flushed, back) = oneshot::channel();
        self.barriers().insert(number, flushed);
        let _forget = BarrierGuard { connection: self, number };
        let subject = format!("{}.{BARRIER}{number}", self.inbox);
        if self.client.publish(subject, Bytes::new()).await.is_err() || back.await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Handles a message in the inbox.
    pub(super) fn refresh(&self, message: &Message, tracker: &DeliveryTracker) {
        let Some(token) = message.subject.rsplit('.').next() else { return };
        let number = |prefix: &str| token.strip_prefix(prefix).and_then(|rest| rest.parse().ok());
        let nobody = message.status == Some(StatusCode::NO_RESPONDERS);
        if let Some(number) = number(BARRIER) {
            if let Some(flushed) = self.barriers().remove(&number) {
                // The waiting task may have ended.
                let _ = flushed.send(());
            }
        } else if let Some(number) = number(PLAIN) {
            if nobody {
                tracker.put(number, DeliveryState::Open(Some(FailureReason::NoSubscriber)));
            }
        } else if let Some(number) = number(STORE) {
            let stored = serde_json::from_slice::<PublishReply>(&message.payload);
            let is_stored = stored.is_ok_and(|stored| stored.error.is_none() && stored.seq > 0);
            let failed = DeliveryState::Open(Some(FailureReason::NotStored));
            tracker.put(number, if is_stored && !nobody { DeliveryState::Stored } else { failed });
        }
    }

    fn barriers(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<()>>> {
        self.barriers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a barrier when its waiting task is gone.
struct BarrierGuard<'a> {
    connection: &'a NatsConnection,
    number: u64,
}

impl Drop for BarrierGuard<'_> {
    fn drop(&mut self) {
        self.connection.barriers().remove(&self.number);
    }
}

fn refusal(kind: async_nats::client::PublishErrorKind) -> FailureReason {
    match kind {
        async_nats::client::PublishErrorKind::MaxPayloadExceeded => FailureReason::TooLarge,
        _ => FailureReason::BusAway,
    }
}
