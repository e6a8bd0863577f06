//! One socket: opens, subscribes, and listens.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper::header::{AUTHORIZATION, HeaderValue};
use timer::monotonic;
use tokio::net::TcpStream;
use tokio_websockets::{ClientBuilder, Limits, MaybeTlsStream, Message, WebSocketStream};

use super::ledger::Ledger;
use super::settings::{Configuration, numbered};

/// Time limit for a socket to be open and subscribed.
const OPEN_WITHIN: Duration = Duration::from_secs(10);
/// Bytes of a message, at most.
const MESSAGE_LIMIT: usize = 16 << 20;

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;
/// The counts that all sockets write to; locked for one message at a time.
pub(super) type SharedLedger = Arc<Mutex<Ledger>>;

/// Opens the socket with this number, from 1.
///
/// Errors: a sentence that says why it is not open
pub(super) async fn open(configuration: Arc<Configuration>, number: u64) -> Result<Socket, String> {
    let subscribing = subscribe(&configuration, number);
    let opened = match tokio::time::timeout(OPEN_WITHIN, subscribing).await {
        Ok(opened) => opened,
        Err(_) => Err(format!("not open and subscribed within {} s", OPEN_WITHIN.as_secs())),
    };
    let sockets = configuration.sockets;
    opened.map_err(|reason| format!("socket {number} of {sockets}: {reason}"))
}

async fn subscribe(configuration: &Configuration, number: u64) -> Result<Socket, String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let url = numbered(&configuration.url, number);
    let builder = ClientBuilder::new().uri(&url).map_err(|error| told(&error))?;
    let mut builder = builder.limits(Limits::default().max_payload_len(Some(MESSAGE_LIMIT)));
    if let Some(token) = &configuration.token {
        let value = HeaderValue::from_str(&format!("Bearer {token}"));
        let value = value.map_err(|_| "the token has characters that a header cannot carry")?;
        builder = builder.add_header(AUTHORIZATION, value).map_err(|error| told(&error))?;
    }
    let (mut socket, _) = builder.connect().await.map_err(|error| told(&error))?;
    if let Some(say) = &configuration.say {
        let message = Message::text(numbered(say, number));
        socket.send(message).await.map_err(|error| told(&error))?;
    }
    if let Some(confirmation) = &configuration.confirmation {
        confirmed(&mut socket, &numbered(confirmation, number)).await?;
    }
    Ok(socket)
}

/// Waits for the message with this text.
async fn confirmed(socket: &mut Socket, text: &str) -> Result<(), String> {
    loop {
        match socket.next().await {
            Some(Ok(message)) if has(&message, text) => return Ok(()),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error.to_string()),
            None => return Err("closed before the confirmation".to_owned()),
        }
    }
}

fn has(message: &Message, text: &str) -> bool {
    String::from_utf8_lossy(message.as_payload()).contains(text)
}

/// Counts messages until the socket ends.
pub(super) async fn listen(mut socket: Socket, number: u64, ledger: SharedLedger) {
    let place = usize::try_from(number).unwrap_or(usize::MAX);
    while let Some(Ok(message)) = socket.next().await {
        let now = monotonic();
        if message.is_text() || message.is_binary() {
            let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
            ledger.record(place, message.as_payload(), now);
        }
    }
    ledger.lock().unwrap_or_else(PoisonError::into_inner).disconnect();
}
