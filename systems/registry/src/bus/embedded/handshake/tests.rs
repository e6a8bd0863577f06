//! Receivers over real sockets: WebSockets of a third-party client, server-sent events, and invalid
//! input from clients.

use serving::api_error::Code as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serving::http;
use serving::limits::Limits;
use serving::listener;
use serving::metrics::Registry;
use serving::stop::{Stop, Stopper};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_websockets::{CloseCode, Config, Message as Frame, WebSocketStream};

use super::*;
use crate::bus::embedded::Settings;
use crate::bus::sample::sample;
use crate::bus::{Bus, Counts, Outcome, Status};
use crate::message::{self, Acknowledgement, Semantics};

const LONG: Duration = Duration::from_secs(60);

/// The bus behind a server with the single path `/{pattern}`, and the server's address.
fn serve(settings: Settings) -> (Embedded, SocketAddr, Stopper) {
    let (stopper, stop) = Stop::pair();
    let bus = Embedded::new("c1", settings, Counts::default(), stop.clone());
    let socket = listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    let inside = bus.clone();
    let handler = move |request: Request<Bytes>| {
        let pattern = request.uri().path()[1..].parse().unwrap();
        let name = request.uri().query().map(str::to_owned);
        let answer = inside.subscribe("n", pattern, name.as_deref(), request);
        std::future::ready(answer.unwrap_or_else(|error| {
            http::text(StatusCode::from_u16(error.code.status()).unwrap(), error.to_string())
        }))
    };
    tokio::spawn(http::serve(socket, handler, Limits::default(), Registry::default(), stop));
    (bus, address, stopper)
}

type Client = WebSocketStream<TcpStream>;

async fn connect(address: SocketAddr, path: &str) -> Client {
    let stream = TcpStream::connect(address).await.unwrap();
    let uri = format!("ws://{address}/{path}");
    let builder = tokio_websockets::ClientBuilder::new().uri(&uri).unwrap();
    // Small frames: every message of the client arrives in fragments.
    let builder = builder.config(Config::default().frame_size(7));
    builder.connect_on(stream).await.unwrap().0
}

/// The next frame with content, or the end of the connection.
async fn next(client: &mut Client) -> Option<Frame> {
    loop {
        let frame = client.next().await?.ok()?;
        if !frame.is_ping() && !frame.is_pong() {
            return Some(frame);
        }
    }
}

fn multicast(
    bus: &Embedded,
    to: &[&str],
    semantics: Semantics,
) -> tokio::task::JoinHandle<Vec<Outcome>> {
    let message = sample(&b"\xff\x00 not text"[..]);
    let to: Vec<Arc<str>> = to.iter().map(|name| (*name).into()).collect();
    let bus = bus.clone();
    tokio::spawn(async move { bus.multicast(message, to, semantics, LONG).await })
}

async fn statuses(multicast: tokio::task::JoinHandle<Vec<Outcome>>) -> Vec<Status> {
    multicast.await.unwrap().into_iter().map(|outcome| outcome.status).collect()
}

fn ack(ids: &[&str]) -> Frame {
    let ack = ids.iter().map(ToString::to_string).collect();
    Frame::text(serde_json::to_string(&Acknowledgement { ack }).unwrap())
}

/// The code and reason of a close frame.
fn closes(frame: Option<Frame>) -> Option<(CloseCode, String)> {
    let frame = frame?;
    frame.as_close().map(|(code, reason)| (code, reason.to_owned()))
}

fn handshake_request() -> Request<Bytes> {
    let request = Request::builder()
        .header("upgrade", "WebSocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    request.body(Bytes::new()).unwrap()
}

#[test]
fn the_handshake_is_the_one_of_rfc_6455() {
    let request = handshake_request();
    assert_eq!(handshake(&request).unwrap(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    for missing in ["upgrade", "sec-websocket-version", "sec-websocket-key"] {
        let mut request = request.clone();
        request.headers_mut().remove(missing);
        assert_eq!(handshake(&request).unwrap_err().code, Code::InvalidRequest, "{missing}");
    }
}

#[tokio::test]
async fn a_websocket_gets_deliveries_and_its_acknowledgement_counts() {
    let (bus, address, _stopper) = serve(Settings::default());
    let mut client = connect(address, "user-*").await;
    // The handshake is complete, so the subscription is active.
    let send_once = multicast(&bus, &["user-1", "other"], Semantics::AtMostOnce);
    assert_eq!(statuses(send_once).await, [Status::Failed, Status::Delivered]);
    let frame = next(&mut client).await.unwrap();
    assert!(frame.is_binary());
    let waits = multicast(&bus, &["user-1", "user-2"], Semantics::AtLeastOnce);
    let frame = next(&mut client).await.unwrap();
    let (header, payload) = message::decode(frame.as_payload()).unwrap();
    assert_eq!(payload, b"\xff\x00 not text");
    assert_eq!(header.to, ["user-1", "user-2"]);
    client.send(ack(&["nobody's", header.delivery])).await.unwrap();
    assert_eq!(statuses(waits).await, [Status::Delivered; 2]);
    client.close().await.unwrap();
    while client.next().await.is_some() {}
    let none = multicast(&bus, &["user-1"], Semantics::AtMostOnce);
    assert_eq!(statuses(none).await, [Status::Failed], "the subscription ends with its connection");
}

#[tokio::test]
async fn server_sent_events_are_acknowledged_by_request() {
    let (bus, address, _stopper) = serve(Settings::default());
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = "GET /a HTTP/1.1\r\nhost: a\r\naccept: text/event-stream\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    let text = |seen: &[u8]| String::from_utf8(seen.to_vec()).unwrap();
    while !text(&seen).contains(": subscribed\n\n") {
        assert_ne!(stream.read_buf(&mut seen).await.unwrap(), 0);
    }
    assert!(text(&seen).to_ascii_lowercase().contains("content-type: text/event-stream"));
    let waits = multicast(&bus, &["a"], Semantics::AtLeastOnce);
    while !text(&seen).ends_with("}\n\n\r\n") {
        assert_ne!(stream.read_buf(&mut seen).await.unwrap(), 0);
    }
    let all = text(&seen);
    let id = all.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    let data = all.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["delivery"], id);
    assert_eq!(data["payload_base64"], "/wAgbm90IHRleHQ=");
    assert_eq!(bus.acknowledge("n", &Acknowledgement { ack: vec![id.to_owned()] }), 1);
    assert_eq!(statuses(waits).await, [Status::Delivered]);
}

#[tokio::test]
async fn what_asks_for_neither_form_is_refused() {
    let (bus, address, _stopper) = serve(Settings::default());
    for (path, headers) in [
        ("a", ""),
        ("a", "connection: upgrade\r\nupgrade: other\r\n"),
        ("a", "accept: text/html\r\n"),
        ("a?*", "accept: text/event-stream\r\n"),
        ("a?", "accept: text/event-stream\r\n"),
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET /{path} HTTP/1.1\r\nhost: a\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 400", "{path} {headers}");
    }
    assert_eq!(bus.state.counts.subscriptions.get(), 0);
}

#[tokio::test]
async fn whoever_talks_nonsense_loses_only_its_own_connection() {
    let (bus, address, _stopper) = serve(Settings::default());
    let mut good = connect(address, "good").await;
    let policy = CloseCode::POLICY_VIOLATION;
    let huge = "x".repeat((1 << 20) + 1);
    for (bad, code) in [
        (Frame::text("nonsense"), policy),
        (Frame::text("{\"ack\":5}"), policy),
        (Frame::text(""), policy),
        (Frame::text("[[\"d-1\"]]"), policy),
        (Frame::text("[".repeat(5_000)), policy),
        (Frame::binary("{\"ack\":[]}"), CloseCode::UNSUPPORTED_DATA),
        (Frame::text(huge), CloseCode::MESSAGE_TOO_BIG),
    ] {
        let mut client = connect(address, "bad").await;
        client.send(bad).await.unwrap();
        assert_eq!(closes(next(&mut client).await).unwrap().0, code);
    }
    // Bytes that are not a frame, and a frame that is never completed.
    for rubbish in [&b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"[..], b"\x81\x85\x00\x00"] {
        let mut client = connect(address, "bad").await;
        client.get_mut().write_all(rubbish).await.unwrap();
        client.get_mut().shutdown().await.unwrap();
        let mut rest = Vec::new();
        client.get_mut().read_to_end(&mut rest).await.unwrap();
    }
    let waits = multicast(&bus, &["good", "bad"], Semantics::AtLeastOnce);
    let frame = next(&mut good).await.unwrap();
    let id = message::decode(frame.as_payload()).unwrap().0.delivery.to_owned();
    good.send(ack(&[&id])).await.unwrap();
    assert_eq!(statuses(waits).await, [Status::Failed, Status::Delivered]);
    assert_eq!(bus.state.counts.subscriptions.get(), 1);
}

#[tokio::test]
async fn a_name_is_taken_over_and_the_system_says_that_it_stops() {
    let (_bus, address, stopper) = serve(Settings::default());
    let mut former = connect(address, "a?x").await;
    let mut later = connect(address, "a?x").await;
    let (code, reason) = closes(next(&mut former).await).unwrap();
    assert_eq!((code, reason.as_str()), (CloseCode::NORMAL_CLOSURE, "the subscription has ended"));
    stopper.stop();
    assert_eq!(closes(next(&mut later).await).unwrap().0, CloseCode::GOING_AWAY);
}

#[tokio::test]
async fn a_stop_waits_for_what_is_under_way() {
    let (bus, address, stopper) = serve(Settings::default());
    let mut client = connect(address, "a").await;
    let waits = multicast(&bus, &["a"], Semantics::AtLeastOnce);
    let frame = next(&mut client).await.unwrap();
    stopper.stop();
    let id = message::decode(frame.as_payload()).unwrap().0.delivery.to_owned();
    // New connections are refused by now, so the server has begun to stop.
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    client.send(ack(&[&id])).await.unwrap();
    assert_eq!(statuses(waits).await, [Status::Delivered]);
    assert_eq!(closes(next(&mut client).await).unwrap().0, CloseCode::GOING_AWAY);
}

#[tokio::test]
async fn a_receiver_that_reads_nothing_fills_its_own_queue_and_is_let_go() {
    let settings = Settings { stall: Duration::from_millis(200), ..Settings::default() };
    let (bus, address, _stopper) = serve(Settings { queue_bytes: 4 << 20, ..settings });
    let dead = connect(address, "dead").await;
    let mut live = connect(address, "live").await;
    let payload = Bytes::from(vec![0; 1 << 20]);
    let mut failed = None;
    // Kernel buffers take some, the queue the rest; then the queue is full.
    for round in 0..200 {
        let message = sample(payload.clone());
        let to: Vec<Arc<str>> = vec!["dead".into(), "live".into()];
        let outcomes = bus.multicast(message, to, Semantics::AtMostOnce, LONG).await;
        let of = |name: &str| outcomes.iter().find(|one| &*one.identity == name).unwrap();
        assert_eq!(of("live").status, Status::Delivered);
        assert!(next(&mut live).await.unwrap().is_binary(), "the other is served all the same");
        if let Some(reason) = of("dead").reason {
            failed = Some((round, reason));
            break;
        }
    }
    let (round, reason) = failed.expect("a queue without bounds");
    assert!(round > 4, "the queue holds something");
    assert!(["slow subscriber", "no subscriber"].contains(&reason), "{reason}");
    while bus.state.counts.subscriptions.get() > 1 {
        tokio::task::yield_now().await;
    }
    drop(dead);
}
