use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use serving::stop::Stop;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::task::run_connection;
use super::*;
use crate::envelope::Envelope;
use crate::refusal::Refusal;
use crate::session::{Counts, Settings};
use crate::store::{Draft, Store};

mod bounds;
mod covered;
mod sockets;

type Messages = Arc<Mutex<Vec<(Envelope, Vec<u8>)>>>;

/// A store that keeps everything, but commits only with permission.
#[derive(Debug)]
struct GatedStore {
    messages: Messages,
    /// Each commit takes one.
    permits: Arc<Semaphore>,
}

struct GatedDraft {
    envelope: Envelope,
    content: Vec<u8>,
    messages: Messages,
    permits: Arc<Semaphore>,
}

impl Default for GatedStore {
    fn default() -> Self {
        Self { messages: Arc::default(), permits: Arc::new(Semaphore::new(100_000)) }
    }
}

impl GatedStore {
    fn contents(&self) -> Vec<Vec<u8>> {
        self.messages.lock().unwrap().iter().map(|(_, content)| content.clone()).collect()
    }
}

impl Store for GatedStore {
    type Draft = GatedDraft;

    async fn begin(&self, envelope: Envelope) -> Result<GatedDraft, Refusal> {
        let (messages, permits) = (Arc::clone(&self.messages), Arc::clone(&self.permits));
        Ok(GatedDraft { envelope, content: Vec::new(), messages, permits })
    }

    fn effective(&self) -> Value {
        Value::Null
    }
}

impl Draft for GatedDraft {
    async fn write(&mut self, content: &[u8]) -> Result<(), Refusal> {
        self.content.extend_from_slice(content);
        Ok(())
    }

    async fn commit(self) -> Result<String, Refusal> {
        self.permits.acquire().await.unwrap().forget();
        let mut messages = self.messages.lock().unwrap();
        messages.push((self.envelope, self.content));
        Ok(messages.len().to_string())
    }
}

fn smtp(settings: Settings) -> Smtp<GatedStore> {
    let (store, counts) = (Arc::default(), Counts::default());
    Smtp { store, settings, tls: None, is_implicit_tls: false, counts }
}

fn peer() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 2525))
}

/// The client's end of a conversation.
struct Client<T> {
    stream: T,
    read: Vec<u8>,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Client<T> {
    fn new(stream: T) -> Self {
        Self { stream, read: Vec::new() }
    }

    /// One complete reply; empty at the end of the connection.
    async fn reply(&mut self) -> String {
        loop {
            if let Some(end) = reply_end(&self.read) {
                let reply = self.read.drain(..end).collect();
                return String::from_utf8(reply).unwrap();
            }
            match self.stream.read_buf(&mut self.read).await {
                Ok(1..) => {}
                _ => return String::from_utf8(std::mem::take(&mut self.read)).unwrap(),
            }
        }
    }

    /// Sends, and reads one reply.
    async fn say(&mut self, text: &str) -> String {
        self.stream.write_all(text.as_bytes()).await.unwrap();
        self.stream.flush().await.unwrap();
        self.reply().await
    }

    /// Sends lines and checks how their replies begin.
    async fn holds(&mut self, dialogue: &[(&str, &str)]) {
        for (line, expect) in dialogue {
            let said = self.say(&format!("{line}\r\n")).await;
            assert!(said.starts_with(expect), "{line}: expected {expect}, got {said}");
        }
    }

    /// Everything until the end of the connection.
    async fn rest(&mut self) -> String {
        // A reset also ends the connection.
        let _ = self.stream.read_to_end(&mut self.read).await;
        String::from_utf8(std::mem::take(&mut self.read)).unwrap()
    }
}

/// End of the first reply: after the line whose code is followed by a space.
fn reply_end(read: &[u8]) -> Option<usize> {
    let mut end = 0;
    for line in read.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        if line.ends_with(b"\n") && line.get(3) == Some(&b' ') {
            return Some(end);
        }
    }
    None
}

const BEGIN: [(&str, &str); 4] =
    [("EHLO c", "250"), ("MAIL FROM:<a@b>", "250"), ("RCPT TO:<a@b>", "250"), ("DATA", "354")];

/// A connection in memory; `room` is the number of bytes that each direction can hold.
fn connect(shared: &Arc<Smtp<GatedStore>>, room: usize) -> (Client<DuplexStream>, JoinHandle<()>) {
    let (near, far) = tokio::io::duplex(room);
    let shared = Arc::clone(shared);
    let task = tokio::spawn(async move {
        let (stopper, stop) = Stop::pair();
        run_connection(far, peer(), shared, stop).await;
        drop(stopper);
    });
    (Client::new(near), task)
}

async fn greeted(shared: &Arc<Smtp<GatedStore>>) -> (Client<DuplexStream>, JoinHandle<()>) {
    let (mut client, task) = connect(shared, 65_536);
    assert!(client.reply().await.starts_with("220 "));
    (client, task)
}
