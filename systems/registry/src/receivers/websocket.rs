//! Receives over a WebSocket from the registry itself.

use std::sync::PoisonError;
use std::time::Duration;

use futures_util::{FutureExt, SinkExt, StreamExt};
use hyper::header::{AUTHORIZATION, HeaderValue};
use serving::stop::Stop;
use timer::monotonic;
use tokio::net::TcpStream;
use tokio_websockets::{ClientBuilder, MaybeTlsStream, Message as Frame, WebSocketStream};

use super::arrivals::LastSeen;
use super::subscription_task::SubscriptionTask;
use crate::message::{Acknowledgement, decode};

/// Acknowledgements that are sent together.
const BATCH: usize = 256;
/// Pauses between attempts to subscribe again.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Subscribes, and again when the connection is lost, until stopped. Reports the result of the
/// first attempt.
pub(super) async fn receive(recipient: SubscriptionTask, mut stop: Stop) {
    let mut pause = SHORTEST_PAUSE;
    let mut is_first = true;
    loop {
        match connect(&recipient).await {
            Ok(socket) => {
                if std::mem::take(&mut is_first) {
                    let _ = recipient.ready.send(Ok(()));
                }
                pause = SHORTEST_PAUSE;
                tokio::select! {
                    () = stop.pulled() => return,
                    () = listen(socket, &recipient) => {}
                }
            }
            Err(reason) if is_first => {
                let _ = recipient.ready.send(Err(reason));
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

async fn connect(recipient: &SubscriptionTask) -> Result<Socket, String> {
    let SubscriptionTask { registry, namespace, pattern, name, .. } = recipient;
    let pattern = escaped(pattern);
    let url = format!("ws://{registry}/v1/{namespace}/subscribe/{pattern}?name={name}");
    let error_text = |error: &dyn std::fmt::Display| format!("{url}: {error}");
    let mut builder = ClientBuilder::new().uri(&url).map_err(|error| error_text(&error))?;
    if let Some(token) = &recipient.token {
        let value = HeaderValue::from_str(&format!("Bearer {token}"));
        let value = value
            .map_err(|_| error_text(&"the token contains characters that a header cannot carry"))?;
        builder = builder.add_header(AUTHORIZATION, value).map_err(|error| error_text(&error))?;
    }
    let (socket, _) = builder.connect().await.map_err(|error| error_text(&error))?;
    Ok(socket)
}

/// A pattern as a part of a path: every byte with a special meaning there becomes `%XX`.
fn escaped(pattern: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~*".contains(&byte);
    let one = |byte| if plain(byte) { char::from(byte).into() } else { format!("%{byte:02X}") };
    pattern.bytes().map(one).collect()
}

/// Counts and acknowledges until the connection ends. Deliveries that are already there are counted
/// before they are acknowledged, all in one frame.
async fn listen(mut socket: Socket, recipient: &SubscriptionTask) {
    let mut last = LastSeen::default();
    let mut batch = Vec::new();
    while let Some(Ok(frame)) = socket.next().await {
        batch.extend(count(&frame, recipient, &mut last));
        while batch.len() < BATCH {
            match socket.next().now_or_never() {
                Some(Some(Ok(frame))) => batch.extend(count(&frame, recipient, &mut last)),
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

/// Counts a frame; returns the delivery's id if it must be acknowledged.
fn count(frame: &Frame, recipient: &SubscriptionTask, last: &mut LastSeen) -> Option<String> {
    let now = monotonic();
    let payload = frame.as_payload();
    let (header, content) = decode(payload)?;
    let mut arrivals = recipient.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
    arrivals.record(last, &header, content, now);
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
