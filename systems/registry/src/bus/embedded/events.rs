//! A receiver that reads server-sent events; it acknowledges with separate requests.
//!
//! Each delivery is one event: `id` is the delivery, `data` is its header plus the payload as
//! base64 in the field `payload_base64`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Bytes;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::{Instant, interval_at, timeout};

use super::{Listener, Settings};
use crate::message::{self, Header};

/// Events that may wait for the connection, in addition to the queue.
pub(super) const PIECES: usize = 4;

#[derive(Serialize)]
struct Data<'a> {
    #[serde(flatten)]
    header: Header<'a>,
    payload_base64: String,
}

/// Sends deliveries until the connection ends or the system stops. A first comment says that the subscription is
/// active; later comments keep the connection open.
pub(super) async fn send_events(
    pieces: mpsc::Sender<Bytes>,
    mut listener: Listener,
    settings: Settings,
) {
    let mut stopped = std::pin::pin!(listener.stopped());
    let mut piece = Bytes::from_static(b": subscribed\n\n");
    let mut alive = interval_at(Instant::now() + settings.ping, settings.ping);
    while let Ok(Ok(())) = timeout(settings.stall, pieces.send(piece)).await {
        piece = tokio::select! {
            bytes = listener.next() => match bytes {
                Some(bytes) => event(&bytes),
                None => return,
            },
            _ = alive.tick() => Bytes::from_static(b": here\n\n"),
            () = pieces.closed() => return,
            () = stopped.as_mut() => return,
        };
    }
}

fn event(delivery: &[u8]) -> Bytes {
    let (header, payload) = message::decode(delivery).expect("what this bus encoded");
    let id = header.delivery;
    let data = Data { payload_base64: STANDARD.encode(payload), header: header.clone() };
    let data = serde_json::to_string(&data).expect("strings and numbers always serialize");
    format!("id: {id}\ndata: {data}\n\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_of_json_however_the_payload_breaks() {
        let header = Header {
            delivery: "c-1",
            message: "m-1",
            namespace: "n",
            to: vec!["a".into()],
            content_type: "text/plain".into(),
            sent_at: 5,
            ack: Some(""),
        };
        let event = event(&message::encode(&header, b"one\n\ntwo"));
        let expected = "id: c-1\ndata: {\"delivery\":\"c-1\",\"message\":\"m-1\",\"namespace\":\"n\",\
            \"to\":[\"a\"],\"content_type\":\"text/plain\",\"sent_at\":5,\"ack\":\"\",\
            \"payload_base64\":\"b25lCgp0d28=\"}\n\n";
        assert_eq!(event, expected);
    }
}
