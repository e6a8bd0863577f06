//! JetStream: the stream of at-least-once deliveries, with a consumer for each receiver.
//!
//! A consumer pushes to the receiver's own subject, so that a receiver listens at one subject for
//! both semantics. The server pauses while there is no listener and sends unacknowledged deliveries
//! again. Acknowledged messages leave the stream.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, push};
use async_nats::jetstream::context::CreateStreamErrorKind as Refusal;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use async_nats::jetstream::{self, Context, ErrorCode};
use futures_util::TryStreamExt;

use super::Settings;
use super::presence::{Presence, STORED, STREAM};
use crate::subscription::Pattern;

/// How long the server remembers ids: longer than any id may be published again.
const REMEMBERED: Duration = Duration::from_secs(120);

/// Errors are text, because they come from another system.
pub(super) type StreamError = String;

/// JetStream over one connection.
#[derive(Debug)]
pub(super) struct JetStream {
    context: Context,
    /// Whether the server last answered that there is no such stream.
    is_refused: AtomicBool,
    ack_wait: Duration,
    keep: Duration,
    max_unacknowledged: i64,
    max_bytes: i64,
}

impl JetStream {
    pub(super) fn new(client: async_nats::Client, settings: &Settings) -> Self {
        let mut context = jetstream::new(client);
        context.set_timeout(settings.patience);
        Self {
            context,
            is_refused: AtomicBool::new(false),
            ack_wait: settings.ack_wait,
            keep: settings.keep,
            max_unacknowledged: settings.max_unacknowledged,
            max_bytes: settings.max_bytes,
        }
    }

    /// Opens or creates the stream; returns the receivers with a consumer in it.
    pub(super) async fn open(&self) -> Result<Vec<(Presence, Pattern)>, StreamError> {
        let config = Config {
            name: STREAM.into(),
            description: Some("messages of the registry until their recipients have them".into()),
            subjects: vec![format!("{STORED}.>")],
            retention: RetentionPolicy::WorkQueue,
            storage: StorageType::File,
            // When the stream is full, new messages are refused and stored ones kept.
            discard: DiscardPolicy::New,
            max_age: self.keep,
            duplicate_window: self.keep.min(REMEMBERED),
            max_bytes: self.max_bytes,
            num_replicas: 1,
            ..Config::default()
        };
        let stream = self.context.get_or_create_stream(config).await;
        let refusal = stream.as_ref().err().map(|error| error.kind());
        self.is_refused.store(refusal.is_some_and(is_final), Ordering::Release);
        let stream = stream.map_err(stream_error)?;
        let consumers: Vec<_> = stream.consumers().try_collect().await.map_err(stream_error)?;
        let described = consumers.iter().filter_map(|info| info.config.description.as_deref());
        Ok(described.filter_map(|text| Presence::read(text.as_bytes()).ok()).collect())
    }

    /// Whether the server said that there is no stream; then attempts are useless until it is asked
    /// again.
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Acquire)
    }

    /// Creates or updates a receiver's consumer, so that it pushes to the receiver's subject.
    pub(super) async fn admit(&self, presence: &Presence) -> Result<(), StreamError> {
        let config = push::Config {
            durable_name: Some(presence.consumer()),
            description: Some(String::from_utf8_lossy(&presence.write()).into_owned()),
            deliver_subject: presence.subject.clone(),
            filter_subject: presence.stored(),
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.ack_wait,
            max_ack_pending: self.max_unacknowledged,
            inactive_threshold: self.keep,
            ..push::Config::default()
        };
        let made = self.context.create_consumer_on_stream(config, STREAM).await;
        made.map(|_| ()).map_err(stream_error)
    }

    /// Deletes a receiver's consumer and its stored deliveries.
    pub(super) async fn forget(&self, presence: &Presence) -> Result<(), StreamError> {
        let stream = self.context.get_stream_no_info(STREAM).await.map_err(stream_error)?;
        // If there is no consumer, there is nothing to delete.
        let _ = stream.delete_consumer(&presence.consumer()).await;
        stream.purge().filter(presence.stored()).await.map(|_| ()).map_err(stream_error)
    }
}

/// Whether the error means that there is no JetStream on the server or for our account.
fn is_final(refusal: Refusal) -> bool {
    match refusal {
        Refusal::JetStreamUnavailable => true,
        Refusal::JetStream(error) => matches!(
            error.error_code(),
            ErrorCode::JETSTREAM_NOT_ENABLED | ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT
        ),
        _ => false,
    }
}

fn stream_error(error: impl std::fmt::Display) -> StreamError {
    error.to_string()
}
