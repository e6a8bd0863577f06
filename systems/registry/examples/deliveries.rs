//! How many deliveries a second each bus carries: ten receivers with a thousand identities each.
//!
//! `cargo run --release -p registry --example deliveries [nats://host:port]`: the embedded bus over
//! real WebSockets and, if an address is given, NATS with JetStream there. Everything runs in this
//! one process and on this machine; a bare loop of the NATS client stands beside for comparison.

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

const RECEIVERS: usize = 10;
const IDENTITIES: usize = 1_000;
/// Multicasts under way at a time.
const ABREAST: usize = 4;
/// How long each measurement lasts.
const LENGTH: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut out = std::io::stdout();
    let seen = Arc::new(AtomicU64::new(0));
    let (_stopper, stop) = Stop::pair();
    let settings = embedded::Settings::default();
    let bus = Embedded::new("bench", settings, Counts::default(), stop.clone());
    sockets(&bus, &seen, stop).await?;
    for semantics in [Semantics::AtMostOnce, Semantics::AtLeastOnce] {
        writeln!(out, "{}", measure("embedded", bus.clone(), semantics, &seen).await)?;
    }
    let Some(servers) = std::env::args().nth(1) else { return Ok(()) };
    let settings = nats::Settings { servers: servers.clone(), ..nats::Settings::default() };
    let coordinator = format!("bench-{}", std::process::id());
    let bus = Nats::connect(&coordinator, settings, Counts::default()).await?;
    for number in 0..RECEIVERS {
        listen(&servers, number, Arc::clone(&seen)).await?;
    }
    for semantics in [Semantics::AtMostOnce, Semantics::AtLeastOnce] {
        writeln!(out, "{}", measure("nats", bus.clone(), semantics, &seen).await)?;
    }
    writeln!(out, "{}", bare(&servers).await?)?;
    Ok(())
}

/// Multicasts to everybody for a while; what became of it.
async fn measure(
    name: &str,
    bus: impl Bus + Clone,
    semantics: Semantics,
    seen: &AtomicU64,
) -> String {
    let targets: Vec<Arc<str>> = (0..RECEIVERS * IDENTITIES)
        .map(|number| format!("r{}-user-{number}", number % RECEIVERS).into())
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
    let sent = times.len() * RECEIVERS * IDENTITIES;
    let p95 = times[times.len() * 95 / 100].as_secs_f64() * 1e3;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let received = seen.load(Ordering::Relaxed) - before;
    format!(
        "{name} {semantics:?}: {:.0} deliveries/s; sent {sent}, told delivered {delivered}, \
         received {received}; p95 of a multicast to {} with {ABREAST} abreast: {p95:.1} ms",
        delivered as f64 / took,
        RECEIVERS * IDENTITIES,
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

/// Ten receivers over WebSockets.
async fn sockets(bus: &Embedded, seen: &Arc<AtomicU64>, stop: Stop) -> Result<(), Failure> {
    let socket = serving::listener::bind("127.0.0.1:0".parse()?)?;
    let address = socket.local_addr()?;
    let inside = bus.clone();
    let handler = move |request: Request<Bytes>| {
        let pattern = request.uri().path()[1..].parse().expect("a pattern");
        std::future::ready(inside.subscribe("bench", pattern, None, request).expect("a WebSocket"))
    };
    let (limits, metrics) = (Limits::default(), Registry::default());
    tokio::spawn(serving::http::serve(socket, handler, limits, metrics, stop));
    for number in 0..RECEIVERS {
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
async fn listen(servers: &str, number: usize, seen: Arc<AtomicU64>) -> Result<(), Failure> {
    let client = async_nats::connect(servers).await?;
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
async fn bare(servers: &str) -> Result<String, Failure> {
    let client = async_nats::connect(servers).await?;
    let bytes = Bytes::from(vec![b'x'; 20 * IDENTITIES]);
    let begin = Instant::now();
    let mut sent = 0_u64;
    while begin.elapsed() < LENGTH {
        client.publish("bench.bare", bytes.clone()).await?;
        sent += 1;
    }
    client.flush().await?;
    let rate = sent as f64 / begin.elapsed().as_secs_f64();
    Ok(format!(
        "bare client, nobody listening: {rate:.0} messages/s of {} bytes, as many identities as \
         {:.0} deliveries/s would serve",
        bytes.len(),
        rate * IDENTITIES as f64,
    ))
}
