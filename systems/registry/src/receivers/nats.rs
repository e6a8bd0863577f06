//! Receives over NATS: listens at a subject of its own, and says once a second that it is there.

use std::sync::PoisonError;
use std::time::Duration;

use async_nats::{Client, Message, Subscriber};
use futures_util::{FutureExt, StreamExt};
use hyper::body::Bytes;
use serving::nonce;
use serving::stop::Stop;

use super::ledger::Last;
use super::server::Seat;
use crate::bus::nats::presence::{Presence, SUBJECT, Welcome};
use crate::message::{Acknowledgement, decode};

/// Between two times that it says that it is there.
const PERIOD: Duration = Duration::from_secs(1);
/// Within which a registry must answer the first of them.
const WELCOMED_WITHIN: Duration = Duration::from_secs(5);
/// Deliveries acknowledged at a time.
const BATCH: usize = 256;
/// What begins the reply subject of a message that the server stored.
const STORED: &str = "$JS.ACK.";

/// Subscribes until stopped; the client comes back by itself when the server does. The first
/// subscription is told, and so is the reason if there is none.
pub(super) async fn receive(seat: Seat, url: String, mut stop: Stop) {
    let (client, mut arrivals, presence) = match subscribe(&seat, &url).await {
        Ok(subscribed) => subscribed,
        Err(reason) => {
            let _ = seat.tell.send(Err(format!("{url}: {reason}")));
            return;
        }
    };
    let _ = seat.tell.send(Ok(()));
    let mut pulse = tokio::time::interval(PERIOD);
    let mut last = Last::default();
    loop {
        tokio::select! {
            () = stop.pulled() => break,
            _ = pulse.tick() => {
                // While the server is away this waits in the client, which is as good as lost.
                let _ = client.publish(SUBJECT, presence.write()).await;
            }
            Some(message) = arrivals.next() => {
                take(&client, message, &mut arrivals, (&seat, &mut last)).await;
            }
        }
    }
    let leaving = Presence { gone: true, ..presence };
    let _ = client.publish(SUBJECT, leaving.write()).await;
    let _ = client.flush().await;
}

async fn subscribe(seat: &Seat, url: &str) -> Result<(Client, Subscriber, Presence), String> {
    let options = async_nats::ConnectOptions::new()
        .name(&seat.name)
        .subscription_capacity(1 << 18)
        .max_reconnects(None);
    let client = options.connect(url).await.map_err(|error| error.to_string())?;
    let subject = format!("registry.receivers.{}.{}", seat.namespace, seat.name);
    let arrivals = client.subscribe(subject.clone()).await.map_err(|error| error.to_string())?;
    client.flush().await.map_err(|error| error.to_string())?;
    let presence = Presence {
        receiver: seat.name.clone(),
        namespace: seat.namespace.clone(),
        pattern: seat.pattern.clone(),
        subject,
        gone: false,
        forget: false,
    };
    let asked = client.request(SUBJECT, presence.write());
    let answer = tokio::time::timeout(WELCOMED_WITHIN, asked).await;
    let answer = answer.map_err(|_| "no registry answered within five seconds".to_owned())?;
    let answer = answer.map_err(|error| error.to_string())?;
    let welcome: Welcome =
        serde_json::from_slice(&answer.payload).map_err(|error| error.to_string())?;
    if welcome.ok {
        Ok((client, arrivals, presence))
    } else {
        Err(welcome.error.unwrap_or_default())
    }
}

/// Counts a message and those that are there already, then acknowledges all of them together.
async fn take(
    client: &Client,
    first: Message,
    arrivals: &mut Subscriber,
    (seat, last): (&Seat, &mut Last),
) {
    let mut acks: Vec<(String, String)> = Vec::new();
    let mut next = Some(first);
    while let Some(message) = next.take() {
        acks.extend(count(&message, seat, last));
        // What the server stored is acknowledged there, too.
        if let Some(reply) = message.reply.filter(|reply| reply.starts_with(STORED)) {
            let _ = client.publish(reply, Bytes::from_static(b"+ACK")).await;
        }
        if acks.len() < BATCH {
            next = arrivals.next().now_or_never().flatten();
        }
    }
    while let Some((subject, _)) = acks.first().cloned() {
        let (these, others) = acks.into_iter().partition(|(other, _)| *other == subject);
        let ack = Vec::into_iter(these).map(|(_, delivery)| delivery).collect();
        let json = serde_json::to_vec(&Acknowledgement { ack });
        let json = json.expect("strings always serialize");
        let _ = client.publish(subject, json.into()).await;
        acks = others;
    }
}

/// Counts a message; gives where to acknowledge it, and under which id.
fn count(message: &Message, seat: &Seat, last: &mut Last) -> Option<(String, String)> {
    let now = nonce::now_ns();
    let (header, content) = decode(&message.payload)?;
    let mut ledger = seat.ledger.lock().unwrap_or_else(PoisonError::into_inner);
    ledger.take(last, &header, content, now);
    header.ack.map(|subject| (subject.to_owned(), header.delivery.to_owned()))
}
