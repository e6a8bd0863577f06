//! Receivers that acknowledge each delivery separately, as the simplest client does, and count
//! recipients.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::{Client, Message, Subject};
use futures_util::{SinkExt, StreamExt};
use hyper::Request;
use hyper::body::Bytes;
use registry::bus::embedded::Embedded;
use registry::bus::nats::presence::{Presence, PresenceReply, SUBJECT};
use registry::message::{self, Acknowledgement};
use serving::limits::Limits;
use serving::metrics::Registry;
use serving::stop::Stop;

use super::Failure;

/// Connections that the receivers on NATS share.
const CLIENTS: usize = 10;
/// Time limit for the server to create one of thousands of consumers.
const ADMITTED_WITHIN: Duration = Duration::from_secs(60);
/// Receivers that are admitted at the same time.
const ABREAST: usize = 32;

/// The subject of a receiver.
pub fn subject(number: usize) -> Subject {
    format!("bench.to.r{number}").into()
}

/// Running receivers on NATS.
pub struct NatsReceivers {
    pub receivers: usize,
    clients: Vec<Client>,
}

impl NatsReceivers {
    /// Waits until no more deliveries come.
    pub async fn settle(&self, seen: &AtomicU64) {
        let mut before = u64::MAX;
        while before != seen.load(Ordering::Relaxed) {
            before = seen.load(Ordering::Relaxed);
            for client in &self.clients {
                let _ = client.flush().await;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }
}

/// Receivers on NATS that announce themselves once a second. They ignore whether a registry
/// answers, because one may start later.
pub async fn on_nats(
    servers: &str,
    receivers: usize,
    seen: &Arc<AtomicU64>,
) -> Result<NatsReceivers, Failure> {
    let mut clients = Vec::new();
    for number in 0..CLIENTS.min(receivers) {
        let options = async_nats::ConnectOptions::new().subscription_capacity(1 << 18);
        let client = options.connect(servers).await?;
        let mut presences = Vec::new();
        for number in (number..receivers).step_by(CLIENTS) {
            presences.push(listen(&client, number, Arc::clone(seen)).await?);
        }
        client.flush().await?;
        tokio::spawn(print(client.clone(), presences));
        clients.push(client);
    }
    Ok(NatsReceivers { receivers, clients })
}

async fn print(client: Client, presences: Vec<Bytes>) {
    let mut alive = tokio::time::interval(Duration::from_secs(1));
    loop {
        alive.tick().await;
        for presence in &presences {
            let _ = client.publish(SUBJECT, presence.clone()).await;
        }
    }
}

async fn listen(client: &Client, number: usize, seen: Arc<AtomicU64>) -> Result<Bytes, Failure> {
    let mut deliveries = client.subscribe(subject(number)).await?;
    let client = client.clone();
    tokio::spawn(async move {
        while let Some(arrived) = deliveries.next().await {
            take(&client, &arrived, &seen).await;
        }
    });
    Ok(presence(number).write())
}

fn presence(number: usize) -> Presence {
    Presence {
        receiver: format!("r{number}"),
        namespace: "bench".into(),
        pattern: format!("r{number}-*"),
        subject: subject(number).to_string(),
        gone: false,
        forget: false,
    }
}

/// Waits until a coordinator knows this many receivers and can store at-least-once deliveries for
/// each.
pub async fn until_known(
    servers: &str,
    coordinator: &str,
    receivers: usize,
) -> Result<(), Failure> {
    let options = async_nats::ConnectOptions::new().request_timeout(Some(ADMITTED_WITHIN));
    let client = options.connect(servers).await?;
    let all = futures_util::stream::iter(0..receivers).map(|number| {
        let client = &client;
        async move {
            loop {
                let answer = client.request(SUBJECT, presence(number).write()).await?;
                let welcome: PresenceReply = serde_json::from_slice(&answer.payload)?;
                if welcome.durable && welcome.coordinator == coordinator {
                    return Ok::<_, Failure>(());
                }
            }
        }
    });
    let mut all = all.buffer_unordered(ABREAST);
    while let Some(known) = all.next().await {
        known?;
    }
    Ok(())
}

async fn take(client: &Client, arrived: &Message, seen: &AtomicU64) {
    let Some((header, _)) = message::decode(&arrived.payload) else { return };
    seen.fetch_add(header.to.len() as u64, Ordering::Relaxed);
    let Some(ack) = header.ack else { return };
    let words = Acknowledgement { ack: vec![header.delivery.to_owned()] };
    let words = serde_json::to_vec(&words).expect("strings serialize");
    let _ = client.publish(ack.to_owned(), words.into()).await;
    if let Some(stored) = arrived.reply.as_ref().filter(|reply| reply.starts_with("$JS.ACK.")) {
        let _ = client.publish(stored.clone(), Bytes::from_static(b"+ACK")).await;
    }
}

/// Receivers over WebSockets, each with its own connection.
pub async fn on_sockets(
    bus: &Embedded,
    receivers: usize,
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
    let limits = Limits::default();
    tokio::spawn(serving::http::serve(socket, handler, limits, Registry::default(), stop));
    let all = futures_util::stream::iter(0..receivers).map(|number| async move {
        let uri = format!("ws://{address}/r{number}-*");
        let builder = tokio_websockets::ClientBuilder::new().uri(&uri)?;
        Ok::<_, Failure>(builder.connect().await?.0)
    });
    let mut all = all.buffer_unordered(ABREAST);
    while let Some(client) = all.next().await {
        let (mut client, seen) = (client?, Arc::clone(seen));
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
