//! How many deliveries a second each bus carries.
//!
//! `cargo run --release -p registry --example deliveries RECEIVERS IDENTITIES [nats://host:port]`:
//! so many receivers with so many identities each, on the embedded bus over real WebSockets and, if
//! an address is given, over NATS with JetStream there. Everything runs in this one process and on
//! this machine; a bare loop of the NATS client, with messages of the same size to one listener who
//! only counts, stands beside for comparison.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use hyper::Request;
use hyper::body::Bytes;
use registry::bus::embedded::{self, Embedded};
use registry::bus::nats::presence::{Presence, SUBJECT};
use registry::bus::nats::{self, Nats};
use registry::bus::{Bus, Counts, Status};
use registry::message::{self, Acknowledgement, Message, Semantics};
use serving::limits::Limits;
use serving::metrics::Registry;
use serving::stop::Stop;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Connections that receivers over NATS share.
const CLIENTS: usize = 10;
/// Multicasts under way at a time.
const ABREAST: usize = 4;
/// How long each measurement lasts.
const LENGTH: Duration = Duration::from_secs(5);

/// How many receivers with how many identities each.
#[derive(Debug, Clone, Copy)]
struct Shape {
    receivers: usize,
    identities: usize,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut out = std::io::stdout();
    let mut arguments = std::env::args().skip(1);
    let mut count = || arguments.next().ok_or("RECEIVERS IDENTITIES [nats://host:port]");
    let shape = Shape { receivers: count()?.parse()?, identities: count()?.parse()? };
    serving::limits::raise_open_files();
    let seen = Arc::new(AtomicU64::new(0));
    let (_stopper, stop) = Stop::pair();
    let settings = embedded::Settings::default();
    let bus = Embedded::new("bench", settings, Counts::default(), stop.clone());
    sockets(&bus, shape, &seen, stop).await?;
    for semantics in [Semantics::AtMostOnce, Semantics::AtLeastOnce] {
        writeln!(out, "{}", measure("embedded", bus.clone(), shape, semantics, &seen).await)?;
    }
    let Some(servers) = arguments.next() else { return Ok(()) };
    let settings = nats::Settings { servers: servers.clone(), ..nats::Settings::default() };
    let coordinator = format!("bench-{}", std::process::id());
    let bus = Nats::connect(&coordinator, settings, Counts::default()).await?;
    for number in 0..CLIENTS.min(shape.receivers) {
        let client = async_nats::connect(&servers).await?;
        for number in (number..shape.receivers).step_by(CLIENTS) {
            listen(&client, number, Arc::clone(&seen)).await?;
        }
    }
    for semantics in [Semantics::AtMostOnce, Semantics::AtLeastOnce] {
        writeln!(out, "{}", measure("nats", bus.clone(), shape, semantics, &seen).await)?;
    }
    writeln!(out, "{}", bare(&servers, shape).await?)?;
    Ok(())
}

/// Multicasts to everybody for a while; what became of it.
async fn measure(
    name: &str,
    bus: impl Bus + Clone,
    shape: Shape,
    semantics: Semantics,
    seen: &AtomicU64,
) -> String {
    let all = shape.receivers * shape.identities;
    let targets: Vec<Arc<str>> = (0..all)
        .map(|number| format!("r{}-user-{number}", number % shape.receivers).into())
        .collect();
    let (before, begin) = (seen.load(Ordering::Relaxed), Instant::now());
    let mut senders = Vec::new();
    for _ in 0..ABREAST {
        let (bus, targets) = (bus.clone(), targets.clone());
        senders.push(tokio::spawn(async move {
            let mut times = Vec::new();
            let mut delivered = 0;
            while begin.elapsed() < LENGTH {
                let start = Instant::now();
                let sent = bus.multicast(message(), targets.clone(), semantics, 2 * LENGTH).await;
                delivered += sent.iter().filter(|one| one.status == Status::Delivered).count();
                times.push(start.elapsed());
            }
            (times, delivered)
        }));
    }
    let (mut times, mut delivered) = (Vec::new(), 0);
    for sender in senders {
        let (more, count) = sender.await.expect("a sender does not fail");
        times.extend(more);
        delivered += count;
    }
    let took = begin.elapsed().as_secs_f64();
    times.sort();
    let sent = times.len() * all;
    let part = |percent: usize| times[times.len() * percent / 100].as_secs_f64() * 1e3;
    let (median, p95) = (part(50), part(95));
    tokio::time::sleep(Duration::from_millis(500)).await;
    let received = seen.load(Ordering::Relaxed) - before;
    format!(
        "{name} {semantics:?}: {:.0} deliveries/s; sent {sent}, told delivered {delivered}, \
         received {received}; a multicast to {all} with {ABREAST} abreast: median {median:.1} ms, p95 {p95:.1} ms",
        delivered as f64 / took,
    )
}

fn message() -> Message {
    Message {
        id: "m".into(),
        namespace: "bench".into(),
        content_type: "application/octet-stream".into(),
        payload: Bytes::from_static(&[0; 100]),
        sent_at: 0,
    }
}

/// Receivers over WebSockets, a connection each.
async fn sockets(
    bus: &Embedded,
    shape: Shape,
    seen: &Arc<AtomicU64>,
    stop: Stop,
) -> Result<(), Failure> {
    let socket = serving::listener::bind("127.0.0.1:0".parse()?)?;
    let address = socket.local_addr()?;
    let inside = bus.clone();
    let handler = move |request: Request<Bytes>| {
        let pattern = request.uri().path()[1..].parse().expect("a pattern");
        std::future::ready(inside.subscribe("bench", pattern, None, request).expect("a WebSocket"))
    };
    let (limits, metrics) = (Limits::default(), Registry::default());
    tokio::spawn(serving::http::serve(socket, handler, limits, metrics, stop));
    for number in 0..shape.receivers {
        let uri = format!("ws://{address}/r{number}-*");
        let builder = tokio_websockets::ClientBuilder::new().uri(&uri)?;
        let (mut client, _) = builder.connect().await?;
        let seen = Arc::clone(seen);
        tokio::spawn(async move {
            while let Some(Ok(frame)) = client.next().await {
                let Some((header, _)) = message::decode(frame.as_payload()) else { continue };
                seen.fetch_add(header.to.len() as u64, Ordering::Relaxed);
                if header.ack.is_some() {
                    let words = Acknowledgement { ack: vec![header.delivery.to_owned()] };
                    let words = serde_json::to_string(&words).expect("strings serialize");
                    let _ = client.send(tokio_websockets::Message::text(words)).await;
                }
            }
        });
    }
    Ok(())
}

/// One receiver over NATS.
async fn listen(
    client: &async_nats::Client,
    number: usize,
    seen: Arc<AtomicU64>,
) -> Result<(), Failure> {
    let client = client.clone();
    let presence = Presence {
        receiver: format!("r{number}"),
        namespace: "bench".into(),
        pattern: format!("r{number}-*"),
        subject: format!("bench.to.r{number}"),
        gone: false,
        forget: false,
    };
    let mut deliveries = client.subscribe(presence.subject.clone()).await?;
    client.request(SUBJECT, presence.write()).await?;
    tokio::spawn(async move {
        let mut alive = tokio::time::interval(Duration::from_secs(1));
        loop {
            tokio::select! {
                _ = alive.tick() => drop(client.publish(SUBJECT, presence.write()).await),
                Some(arrived) = deliveries.next() => {
                    let Some((header, _)) = message::decode(&arrived.payload) else { continue };
                    seen.fetch_add(header.to.len() as u64, Ordering::Relaxed);
                    if let (Some(ack), Some(reply)) = (header.ack, &arrived.reply) {
                        let words = Acknowledgement { ack: vec![header.delivery.to_owned()] };
                        let words = serde_json::to_vec(&words).expect("strings serialize");
                        let _ = client.publish(ack.to_owned(), words.into()).await;
                        let _ = client.publish(reply.clone(), Bytes::from_static(b"+ACK")).await;
                    }
                }
            }
        }
    });
    Ok(())
}

/// The client alone, with messages of the size that a delivery has here.
async fn bare(servers: &str, shape: Shape) -> Result<String, Failure> {
    let listener = async_nats::connect(servers).await?;
    let mut heard = listener.subscribe("bench.bare").await?;
    listener.flush().await?;
    let counted = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&counted);
    tokio::spawn(async move {
        while heard.next().await.is_some() {
            counting.fetch_add(1, Ordering::Relaxed);
        }
    });
    let client = async_nats::connect(servers).await?;
    let bytes = Bytes::from(vec![b'x'; 250 + 17 * shape.identities.min(1_000)]);
    let begin = Instant::now();
    let mut sent = 0_u64;
    while begin.elapsed() < LENGTH {
        client.publish("bench.bare", bytes.clone()).await?;
        sent += 1;
    }
    client.flush().await?;
    let rate = sent as f64 / begin.elapsed().as_secs_f64();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let heard = counted.load(Ordering::Relaxed);
    Ok(format!(
        "bare client: {rate:.0} messages/s of {} bytes, {heard} of {sent} heard",
        bytes.len()
    ))
}
