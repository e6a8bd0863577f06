//! Receives over NATS: listens at a subject of its own, and says once a second that it is there.
//!
//! All of that at the subjects of its namespace, so that no other rights are needed on the server.

use std::sync::PoisonError;
use std::time::Duration;

use async_nats::{Client, Message, Subscriber};
use futures_util::{FutureExt, StreamExt};
use hyper::body::Bytes;
use serving::nonce;
use serving::stop::Stop;

use super::ledger::Last;
use super::server::Seat;
use crate::bus::nats::address;
use crate::bus::nats::presence::{Presence, SUBJECT, Welcome, token};
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
            let _ = seat.tell.send(Err(format!("{}: {reason}", address::shown(&url))));
            return;
        }
    };
    let _ = seat.tell.send(Ok(()));
    let there = said(&seat.namespace);
    let mut pulse = tokio::time::interval(PERIOD);
    let mut last = Last::default();
    loop {
        tokio::select! {
            () = stop.pulled() => break,
            _ = pulse.tick() => {
                // While the server is away this waits in the client, which is as good as lost.
                let _ = client.publish(there.clone(), presence.write()).await;
            }
            Some(message) = arrivals.next() => {
                take(&client, message, &mut arrivals, (&seat, &mut last)).await;
            }
        }
    }
    let leaving = Presence { gone: true, ..presence };
    let _ = client.publish(there, leaving.write()).await;
    let _ = client.flush().await;
}

/// Where a receiver of a namespace says that it is there.
fn said(namespace: &str) -> String {
    format!("{SUBJECT}.{}", token(namespace))
}

async fn subscribe(seat: &Seat, url: &str) -> Result<(Client, Subscriber, Presence), String> {
    let own = token(&seat.namespace);
    let (servers, options) = address::read(url).map_err(|error| error.to_string())?;
    let options = options
        .name(&seat.name)
        .custom_inbox_prefix(format!("_INBOX.{own}"))
        .subscription_capacity(1 << 18)
        .max_reconnects(None);
    let client = options.connect(servers).await.map_err(|error| error.to_string())?;
    let subject = format!("registry.{own}.{}", seat.name);
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
    let asked = client.request(said(&seat.namespace), presence.write());
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::mpsc;

    use super::*;
    use crate::bus::Status;
    use crate::bus::nats::tests::permissions::{must, together};

    #[tokio::test]
    async fn receivers_need_no_rights_but_those_of_their_namespace() {
        let (server, bus) = together().await;
        let (tell, mut told) = mpsc::unbounded_channel();
        let begin = |name: &str, password: &str| {
            let url = server.url().replace("nats://", &format!("nats://fleet:{password}@"));
            let seat = Seat {
                registry: String::new(),
                namespace: "fleet".into(),
                pattern: "*".into(),
                name: name.into(),
                token: None,
                ledger: Arc::default(),
                tell: tell.clone(),
            };
            let ledger = Arc::clone(&seat.ledger);
            let (pull, stop) = Stop::pair();
            (ledger, pull, tokio::spawn(receive(seat, url, stop)))
        };
        let (_, _pull, refused) = begin("r-2", "wrong-password");
        let reason = told.recv().await.unwrap().unwrap_err();
        assert!(!reason.contains("wrong-password"), "{reason}");
        refused.await.unwrap();
        let (ledger, _pull, _receiving) = begin("r-1", "fleet-password");
        assert_eq!(told.recv().await.unwrap(), Ok(()));
        let outcomes = must(&bus, "fleet").await.await.unwrap();
        assert_eq!(outcomes[0].status, Status::Delivered);
        assert_eq!(ledger.lock().unwrap().observed().unexpected, 1, "it is no mark of a load");
    }
}
