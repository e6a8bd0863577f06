//! Carries what is cast to a NATS server: a message a cast, and an account behind what went together.
//!
//! A plain publication is not acknowledged: *taken* is what the client took. It waits for the client,
//! whose own buffer is small, so that what does not fit is dropped here, and counted.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, Event, Subject};
use futures_util::StreamExt;
use hyper::body::Bytes;
use tokio::time::{Instant, sleep_until};

use super::Settings;
use super::account::{Account, Why};
use super::frame::{self, LENGTH};
use super::peer::{Gathered, Peer};
use super::window::Chunk;

/// Commands that may wait in the client.
const COMMANDS: usize = 256;
/// The longest pause between attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// An account is sent at least this often.
const PULSE: Duration = Duration::from_secs(1);

/// Resolves once the server has taken all that the client was told before, which it takes in order: a message to
/// ourselves has come back. That bytes were flushed says less, and a client that ends may take some with it.
///
/// Errors: the client has ended
pub(crate) async fn passed(client: &Client) -> std::io::Result<()> {
    let inbox = client.new_inbox();
    let mut back = client.subscribe(inbox.clone()).await.map_err(std::io::Error::other)?;
    client.publish(inbox, Bytes::new()).await.map_err(std::io::Error::other)?;
    let message = back.next().await;
    message.map(drop).ok_or_else(|| std::io::Error::other("the client has ended"))
}

/// What carries to one server.
#[derive(Debug)]
pub(super) struct Courier {
    peer: Arc<Peer>,
    url: String,
    subject: Subject,
    name: String,
    taken: u64,
    confirmed: Account,
    spare: Vec<u8>,
}

impl Courier {
    pub fn new(peer: Arc<Peer>, url: String, settings: &Settings) -> Self {
        Self {
            peer,
            url,
            subject: settings.subject.as_str().into(),
            name: settings.name.clone(),
            taken: 0,
            confirmed: Account::default(),
            spare: Vec::new(),
        }
    }

    /// Carries until the end is wanted and everything is with the server.
    pub async fn run(mut self) {
        let client = match self.open().await {
            Ok(client) => client,
            Err(trouble) => return self.peer.disconnected(trouble),
        };
        let mut pulse = Instant::now() + PULSE;
        loop {
            if let Some(chunk) = self.gather(Instant::now() >= pulse) {
                self.publish(&client, chunk).await;
                pulse = Instant::now() + PULSE;
                continue;
            }
            if self.peer.is_ending() {
                if self.confirmed != Account::default() {
                    let _ = passed(&client).await;
                }
                return;
            }
            tokio::select! {
                () = self.peer.woken() => {}
                () = sleep_until(pulse) => {}
            }
        }
    }

    /// A client that connects by itself, and again whenever it is cut off; publishing waits meanwhile.
    async fn open(&self) -> Result<Client, String> {
        let (servers, options) =
            nats_address::read(&self.url).map_err(|error| error.to_string())?;
        let peer = Arc::clone(&self.peer);
        let options = options
            .name(&self.name)
            .client_capacity(COMMANDS)
            .retry_on_initial_connect()
            .max_reconnects(None)
            .reconnect_delay_callback(|attempts| {
                Duration::from_millis(10 << attempts.min(7)).min(LONGEST_PAUSE)
            })
            .event_callback(move |event| {
                match event {
                    Event::Connected => peer.connected(),
                    Event::Disconnected => peer.disconnected("the server has gone".to_owned()),
                    _ => {}
                }
                ready(())
            });
        options.connect(servers).await.map_err(|error| error.to_string())
    }

    fn gather(&mut self, again: bool) -> Option<Chunk> {
        match self.peer.gather(Vec::new(), &mut self.spare, again) {
            Gathered::Chunk(chunk) => Some(chunk),
            Gathered::Nothing(_, account) if account != self.confirmed => self.gather(true),
            Gathered::Nothing(..) => None,
        }
    }

    /// Publishes each frame without its length. A cast that the client refuses is dropped; the next account has it.
    async fn publish(&mut self, client: &Client, chunk: Chunk) {
        let bytes = Bytes::from(chunk.bytes);
        let (mut at, mut number, mut refused) = (0, 0, 0);
        while let Ok(Some(body)) = frame::cut(&bytes[at..], usize::MAX) {
            let (begin, end) = (at + LENGTH, at + LENGTH + body.len());
            let sent = client.publish(self.subject.clone(), bytes.slice(begin..end)).await;
            // The last one is the account.
            refused += u64::from(sent.is_err() && number < chunk.casts);
            (at, number) = (end, number + 1);
        }
        self.peer.discount(Why::Oversize, refused);
        self.taken += chunk.casts - refused;
        self.confirmed = chunk.account;
        self.peer.confirm(self.taken, self.confirmed);
    }
}
