//! Receives over a WebSocket from the registry itself.

use std::sync::PoisonError;
use std::time::Duration;

use futures_util::{FutureExt, SinkExt, StreamExt};
use hyper::header::{AUTHORIZATION, HeaderValue};
use serving::nonce;
use serving::stop::Stop;
use tokio::net::TcpStream;
use tokio_websockets::{ClientBuilder, MaybeTlsStream, Message as Frame, WebSocketStream};

use super::ledger::Last;
use super::server::Seat;
use crate::message::{Acknowledgement, decode};

/// Acknowledgements sent at a time.
const BATCH: usize = 256;
/// Pauses between attempts to subscribe anew.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Subscribes, and again whenever the connection is lost, until stopped. The first subscription is
/// told, and so is the reason if there is none.
pub(super) async fn receive(seat: Seat, mut stop: Stop) {
    let mut pause = SHORTEST_PAUSE;
    let mut is_first = true;
    loop {
        match connect(&seat).await {
            Ok(socket) => {
                if std::mem::take(&mut is_first) {
                    let _ = seat.tell.send(Ok(()));
                }
                pause = SHORTEST_PAUSE;
                tokio::select! {
                    () = stop.pulled() => return,
                    () = listen(socket, &seat) => {}
                }
            }
            Err(reason) if is_first => {
                let _ = seat.tell.send(Err(reason));
                return;
            }
            Err(_) => {}
        }
        tokio::select! {
            () = stop.pulled() => return,
            () = tokio::time::sleep(pause) => pause = (2 * pause).min(LONGEST_PAUSE),
        }
    }
}

async fn connect(seat: &Seat) -> Result<Socket, String> {
    let Seat { registry, namespace, pattern, name, .. } = seat;
    let pattern = escaped(pattern);
    let url = format!("ws://{registry}/v1/{namespace}/subscribe/{pattern}?name={name}");
    let told = |error: &dyn std::fmt::Display| format!("{url}: {error}");
    let mut builder = ClientBuilder::new().uri(&url).map_err(|error| told(&error))?;
    if let Some(token) = &seat.token {
        let value = HeaderValue::from_str(&format!("Bearer {token}"));
        let value = value.map_err(|_| told(&"the token is no header value"))?;
        builder = builder.add_header(AUTHORIZATION, value).map_err(|error| told(&error))?;
    }
    let (socket, _) = builder.connect().await.map_err(|error| told(&error))?;
    Ok(socket)
}

/// A pattern as a part of a path: every byte that could mean something else there as `%XX`.
fn escaped(pattern: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~*".contains(&byte);
    let one = |byte| if plain(byte) { char::from(byte).into() } else { format!("%{byte:02X}") };
    pattern.bytes().map(one).collect()
}

/// Counts and acknowledges until the connection ends. What is there already is counted before it
/// is acknowledged, all in one frame.
async fn listen(mut socket: Socket, seat: &Seat) {
    let mut last = Last::default();
    let mut batch = Vec::new();
    while let Some(Ok(frame)) = socket.next().await {
        batch.extend(count(&frame, seat, &mut last));
        while batch.len() < BATCH {
            match socket.next().now_or_never() {
                Some(Some(Ok(frame))) => batch.extend(count(&frame, seat, &mut last)),
                Some(_) => return,
                None => break,
            }
        }
        if !batch.is_empty() {
            let answer = Acknowledgement { ack: std::mem::take(&mut batch) };
            let json = serde_json::to_string(&answer).expect("strings always serialize");
            if socket.send(Frame::text(json)).await.is_err() {
                return;
            }
        }
    }
}

/// Counts a frame; gives the delivery's id if it is to be acknowledged.
fn count(frame: &Frame, seat: &Seat, last: &mut Last) -> Option<String> {
    let now = nonce::now_ns();
    let payload = frame.as_payload();
    let (header, content) = decode(payload)?;
    let mut ledger = seat.ledger.lock().unwrap_or_else(PoisonError::into_inner);
    ledger.take(last, &header, content, now);
    header.ack.map(|_| header.delivery.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stays_one_part_of_the_path() {
        assert_eq!(escaped("user-*"), "user-*");
        assert_eq!(escaped("a/b?c#d%ä"), "a%2Fb%3Fc%23d%25%C3%A4");
    }
}
