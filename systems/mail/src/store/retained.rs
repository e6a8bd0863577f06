//! The messages that a store can show again: newest last, limited by number and by bytes.
//!
//! Bytes are reserved before they are held, also by messages that are still being received, so the sum never exceeds
//! the limit. If the limit is reached, a setting decides: the oldest messages are dropped, or the sender gets 452.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hyper::body::Bytes;
use serde::Serialize;
use serving::metrics::{Counter, Gauge, Registry};
use tokio::sync::watch;

use crate::envelope::Envelope;
use crate::refusal::Refusal;

/// Overhead of a message in addition to its content and its addresses; a high estimate.
const OVERHEAD: u64 = 512;
/// Bytes of a message that are searched for its header.
pub(crate) const HEAD: usize = 64 << 10;
const FULL: Refusal = Refusal::new(452, (4, 3, 1), "no space for this message");

/// Limits of retention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RetentionLimits {
    /// Messages.
    pub messages: usize,
    /// Bytes held in memory: contents, addresses and an allowance for the rest.
    pub bytes: u64,
    /// What happens to further messages.
    pub full: WhenFull,
}

/// What happens when the limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// The oldest messages are dropped.
    Oldest,
    /// The new message is refused for now.
    Refuse,
}

/// The known parts of a message's envelope.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MessageSummary {
    /// The reverse path.
    pub from: String,
    /// The forward paths.
    pub recipients: Vec<String>,
    /// The client's name for itself.
    pub client: Option<String>,
    /// The client's address.
    pub peer: Option<SocketAddr>,
    /// The authenticated user.
    pub user: Option<String>,
    /// The version of TLS, if it was used.
    pub tls: Option<&'static str>,
}

impl From<Envelope> for MessageSummary {
    fn from(envelope: Envelope) -> Self {
        let Envelope { peer, client, user, tls, from, recipients, .. } = envelope;
        Self { from, recipients, client: Some(client), peer: Some(peer), user, tls }
    }
}

impl MessageSummary {
    fn bytes(&self) -> u64 {
        let each = |text: &String| text.len() + size_of::<String>();
        let recipients: usize = self.recipients.iter().map(each).sum();
        let others = [self.client.as_ref(), self.user.as_ref(), Some(&self.from)];
        (recipients + others.into_iter().flatten().map(each).sum::<usize>()) as u64
    }
}

/// The place of a content.
#[derive(Debug, Clone)]
pub enum StoredContent {
    /// In memory.
    Memory(Bytes),
    /// In this file, after this many bytes that the store put before it.
    File(PathBuf, usize),
}

impl StoredContent {
    /// The content. May read a file, so do not call it on a thread that serves others.
    ///
    /// Errors: the file is gone, or cannot be read
    pub fn read(&self) -> std::io::Result<Bytes> {
        match self {
            Self::Memory(bytes) => Ok(bytes.clone()),
            Self::File(path, before) => {
                let bytes = Bytes::from(std::fs::read(path)?);
                Ok(bytes.slice((*before).min(bytes.len())..))
            }
        }
    }

    /// Its beginning, long enough for a usual header.
    ///
    /// Errors: as [`StoredContent::read`]
    pub fn head(&self) -> std::io::Result<Bytes> {
        match self {
            Self::Memory(bytes) => Ok(bytes.slice(..HEAD.min(bytes.len()))),
            Self::File(path, before) => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(*before as u64))?;
                let mut head = Vec::new();
                file.take(HEAD as u64).read_to_end(&mut head)?;
                Ok(Bytes::from(head))
            }
        }
    }

    /// Deletes it.
    ///
    /// Errors: the file is gone, or cannot be removed
    pub fn remove(&self) -> std::io::Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(path, _) => std::fs::remove_file(path),
        }
    }
}

/// A retained message.
#[derive(Debug)]
pub struct RetainedMessage {
    /// Its place in the order of arrival.
    pub number: u64,
    /// The store's name for it.
    pub id: Arc<str>,
    /// When it was stored, in milliseconds since 1970.
    pub received_at: i64,
    /// Sender and recipients.
    pub summary: MessageSummary,
    /// Bytes of the content.
    pub size: u64,
    /// The content.
    pub content: StoredContent,
    /// The subject, decoded at the first request.
    pub subject: OnceLock<String>,
}

/// A message to be retained.
#[derive(Debug)]
pub struct NewMessage {
    /// The store's name for it; `None` to name it by its place.
    pub id: Option<String>,
    /// When it was stored, in milliseconds since 1970.
    pub received_at: i64,
    /// Sender and recipients.
    pub summary: MessageSummary,
    /// Bytes of the content.
    pub size: u64,
    /// The content.
    pub content: StoredContent,
}

/// The retained messages; clones share them.
#[derive(Debug, Clone)]
pub struct RetainedMessages {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    bounds: RetentionLimits,
    state: Mutex<RetainedState>,
    /// The place of the newest message.
    newest: watch::Sender<u64>,
    kept: Gauge,
    kept_bytes: Gauge,
    dropped: Counter,
}

#[derive(Debug, Default)]
struct RetainedState {
    messages: VecDeque<(Arc<RetainedMessage>, u64)>,
    places: HashMap<Arc<str>, u64>,
    /// Number of messages that are being received.
    drafts: usize,
    /// Bytes held and reserved.
    bytes: u64,
    last: u64,
}

impl RetainedMessages {
    /// An empty list, registered with a system's metrics.
    pub fn new(bounds: RetentionLimits, metrics: &Registry) -> Self {
        let shared = Shared {
            bounds,
            state: Mutex::default(),
            newest: watch::Sender::new(0),
            kept: metrics.gauge("mail_kept_messages", "Retained messages."),
            kept_bytes: metrics.gauge("mail_kept_bytes", "Bytes of memory held for messages."),
            dropped: metrics
                .counter("mail_dropped_total", "Messages dropped to make space for newer ones."),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The effective limits.
    pub fn bounds(&self) -> RetentionLimits {
        self.shared.bounds
    }

    /// A reservation for a message, still empty.
    ///
    /// Errors: 452 if there is no space
    pub fn reserve(&self, summary: &MessageSummary) -> Result<ReservedBytes, Refusal> {
        let mut state = self.state();
        state.drafts += 1;
        let mut reserved = ReservedBytes { retained: self.clone(), bytes: 0, is_open: true };
        let held = state.messages.len() + state.drafts;
        let is_full =
            self.shared.bounds.full == WhenFull::Refuse && held > self.shared.bounds.messages;
        drop(state);
        if is_full {
            Err(FULL)
        } else {
            reserved.more(OVERHEAD + summary.bytes()).map(|()| reserved)
        }
    }

    /// Adds a message; returns its name.
    pub fn put(&self, arriving: NewMessage, reserved: Option<ReservedBytes>) -> Arc<str> {
        let mut state = self.state();
        let bytes = reserved.map_or(0, |reserved| reserved.hand_over(&mut state));
        state.last += 1;
        let NewMessage { id, received_at, summary, size, content } = arriving;
        let id: Arc<str> = id.unwrap_or_else(|| state.last.to_string()).into();
        let message = RetainedMessage {
            number: state.last,
            id: Arc::clone(&id),
            received_at,
            summary,
            size,
            content,
            subject: OnceLock::new(),
        };
        let number = state.last;
        state.places.insert(Arc::clone(&id), number);
        state.messages.push_back((Arc::new(message), bytes));
        while state.messages.len() > self.shared.bounds.messages {
            self.drop_oldest(&mut state);
        }
        self.update_gauges(&state);
        drop(state);
        self.shared.newest.send_replace(number);
        id
    }

    /// The message with this name.
    pub fn get(&self, id: &str) -> Option<Arc<RetainedMessage>> {
        let state = self.state();
        let number = *state.places.get(id)?;
        let at =
            state.messages.binary_search_by_key(&number, |(message, _)| message.number).ok()?;
        Some(Arc::clone(&state.messages[at].0))
    }

    /// The messages after one place and before another, newest first, at most `most`.
    pub fn between(&self, after: u64, before: u64, most: usize) -> Vec<Arc<RetainedMessage>> {
        let state = self.state();
        let end = state.messages.partition_point(|(message, _)| message.number < before);
        let messages = state.messages.range(..end).rev().map(|(message, _)| message);
        messages.take_while(|message| message.number > after).take(most).cloned().collect()
    }

    /// The number of messages.
    pub fn len(&self) -> usize {
        self.state().messages.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes and returns all messages.
    pub fn clear(&self) -> Vec<Arc<RetainedMessage>> {
        let mut state = self.state();
        let messages = std::mem::take(&mut state.messages);
        state.places.clear();
        state.bytes -= messages.iter().map(|(_, bytes)| bytes).sum::<u64>();
        self.update_gauges(&state);
        messages.into_iter().map(|(message, _)| message).collect()
    }

    /// Reports the number of each new message.
    pub fn arrivals(&self) -> watch::Receiver<u64> {
        self.shared.newest.subscribe()
    }

    fn state(&self) -> MutexGuard<'_, RetainedState> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drop_oldest(&self, state: &mut RetainedState) {
        if let Some((message, bytes)) = state.messages.pop_front() {
            state.places.remove(&message.id);
            state.bytes -= bytes;
            self.shared.dropped.one();
        }
    }

    fn update_gauges(&self, state: &RetainedState) {
        self.shared.kept.set(i64::try_from(state.messages.len()).unwrap_or(i64::MAX));
        self.shared.kept_bytes.set(i64::try_from(state.bytes).unwrap_or(i64::MAX));
    }
}

/// Bytes reserved for a message that is being received; returned when dropped.
#[derive(Debug)]
pub struct ReservedBytes {
    retained: RetainedMessages,
    bytes: u64,
    is_open: bool,
}

impl ReservedBytes {
    /// Reserves more bytes.
    ///
    /// Errors: 452 if there is no space
    pub fn more(&mut self, bytes: u64) -> Result<(), Refusal> {
        let bounds = self.retained.shared.bounds;
        let mut state = self.retained.state();
        while bounds.full == WhenFull::Oldest
            && state.bytes + bytes > bounds.bytes
            && !state.messages.is_empty()
        {
            self.retained.drop_oldest(&mut state);
        }
        if state.bytes + bytes > bounds.bytes {
            return Err(FULL);
        }
        state.bytes += bytes;
        self.bytes += bytes;
        Ok(())
    }

    /// Returns bytes.
    pub fn less(&mut self, bytes: u64) {
        self.bytes -= bytes;
        self.retained.state().bytes -= bytes;
    }

    /// Ends the reservation; its bytes stay counted.
    fn hand_over(mut self, state: &mut RetainedState) -> u64 {
        self.is_open = false;
        state.drafts -= 1;
        self.bytes
    }
}

impl Drop for ReservedBytes {
    fn drop(&mut self) {
        if self.is_open {
            let mut state = self.retained.state();
            state.drafts -= 1;
            state.bytes -= self.bytes;
        }
    }
}

#[cfg(test)]
mod tests;
