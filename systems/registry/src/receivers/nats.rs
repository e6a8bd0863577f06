//! Receives over NATS: listens at its own subject, and announces itself once a second.
//!
//! Uses only the subjects of its namespace, so it needs no other permissions on the server.

use std::sync::PoisonError;
use std::time::Duration;

use async_nats::{Client, Message, Subscriber};
use futures_util::{FutureExt, StreamExt};
use hyper::body::Bytes;
use serving::stop::Stop;
use timer::monotonic;

use super::arrivals::LastSeen;
use super::subscription_task::SubscriptionTask;
use crate::bus::nats::presence::{Presence, PresenceReply, SUBJECT, token};
use crate::message::{Acknowledgement, decode};

/// Time between two presence messages.
const PERIOD: Duration = Duration::from_secs(1);
/// Time limit for a registry to answer the first presence message.
const WELCOMED_WITHIN: Duration = Duration::from_secs(5);
/// Deliveries that are acknowledged together.
const BATCH: usize = 256;
/// Prefix of the reply subject of a message that the server stored.
const STORED: &str = "$JS.ACK.";

/// Subscribes until stopped; the client reconnects when the server returns. Reports the result of
/// the first attempt.
pub(super) async fn receive(recipient: SubscriptionTask, url: String, mut stop: Stop) {
    let (client, mut arrivals, presence) = match subscribe(&recipient, &url).await {
        Ok(subscribed) => subscribed,
        Err(reason) => {
            let _ = recipient.ready.send(Err(format!("{}: {reason}", nats_address::shown(&url))));
            return;
        }
    };
    let _ = recipient.ready.send(Ok(()));
    let there = presence_subject(&recipient.namespace);
    let mut pulse = tokio::time::interval(PERIOD);
    let mut last = LastSeen::default();
    loop {
        tokio::select! {
            () = stop.pulled() => break,
            _ = pulse.tick() => {
                // While the server is absent, the message waits in the client, which is as good as
                // lost.
                let _ = client.publish(there.clone(), presence.write()).await;
            }
            Some(message) = arrivals.next() => {
                record(&client, message, &mut arrivals, &recipient, &mut last).await;
            }
        }
    }
    let leaving = Presence { gone: true, ..presence };
    let _ = client.publish(there, leaving.write()).await;
    let _ = client.flush().await;
}

/// The subject for presence messages of a namespace.
fn presence_subject(namespace: &str) -> String {
    format!("{SUBJECT}.{}", token(namespace))
}

async fn subscribe(
    recipient: &SubscriptionTask,
    url: &str,
) -> Result<(Client, Subscriber, Presence), String> {
    let own = token(&recipient.namespace);
    let (servers, options) = nats_address::read(url).map_err(|error| error.to_string())?;
    let options = options
        .name(&recipient.name)
        .custom_inbox_prefix(format!("_INBOX.{own}"))
        .subscription_capacity(1 << 18)
        .max_reconnects(None);
    let client = options.connect(servers).await.map_err(|error| error.to_string())?;
    let subject = format!("registry.{own}.{}", recipient.name);
    let arrivals = client.subscribe(subject.clone()).await.map_err(|error| error.to_string())?;
    client.flush().await.map_err(|error| error.to_string())?;
    let presence = Presence {
        receiver: recipient.name.clone(),
        namespace: recipient.namespace.clone(),
        pattern: recipient.pattern.clone(),
        subject,
        gone: false,
        forget: false,
    };
    let asked = client.request(presence_subject(&recipient.namespace), presence.write());
    let answer = tokio::time::timeout(WELCOMED_WITHIN, asked).await;
    let answer = answer.map_err(|_| "no registry answered within five seconds".to_owned())?;
    let answer = answer.map_err(|error| error.to_string())?;
    let welcome: PresenceReply =
        serde_json::from_slice(&answer.payload).map_err(|error| error.to_string())?;
    if welcome.ok {
        Ok((client, arrivals, presence))
    } else {
        Err(welcome.error.unwrap_or_default())
    }
}

/// Counts a message and those that are already queued, then acknowledges all of them together.
async fn record(
    client: &Client,
    first: Message,
    arrivals: &mut Subscriber,
    recipient: &SubscriptionTask,
    last: &mut LastSeen,
) {
    let mut acks: Vec<(String, String)> = Vec::new();
    let mut next = Some(first);
    while let Some(message) = next.take() {
        acks.extend(count(&message, recipient, last));
        // A message that the server stored is also acknowledged to the server.
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

/// Counts a message; returns where to acknowledge it, and its id.
fn count(
    message: &Message,
    recipient: &SubscriptionTask,
    last: &mut LastSeen,
) -> Option<(String, String)> {
    let now = monotonic();
    let (header, content) = decode(&message.payload)?;
    let mut arrivals = recipient.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
    arrivals.record(last, &header, content, now);
    header.ack.map(|subject| (subject.to_owned(), header.delivery.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::mpsc;

    use super::*;
    use crate::bus::Status;
    use crate::bus::nats::tests::permissions::{connected_bus, send_at_least_once};

    #[tokio::test]
    async fn receivers_need_no_rights_but_those_of_their_namespace() {
        let (server, bus) = connected_bus().await;
        let (ready, mut socket_error) = mpsc::unbounded_channel();
        let begin = |name: &str, password: &str| {
            let url = server.url().replace("nats://", &format!("nats://fleet:{password}@"));
            let recipient = SubscriptionTask {
                registry: String::new(),
                namespace: "fleet".into(),
                pattern: "*".into(),
                name: name.into(),
                token: None,
                arrivals: Arc::default(),
                ready: ready.clone(),
            };
            let arrivals = Arc::clone(&recipient.arrivals);
            let (pull, stop) = Stop::pair();
            (arrivals, pull, tokio::spawn(receive(recipient, url, stop)))
        };
        let (_, _pull, refused) = begin("r-2", "wrong-password");
        let reason = socket_error.recv().await.unwrap().unwrap_err();
        assert!(!reason.contains("wrong-password"), "{reason}");
        refused.await.unwrap();
        let (arrivals, _pull, _receiving) = begin("r-1", "fleet-password");
        assert_eq!(socket_error.recv().await.unwrap(), Ok(()));
        let outcomes = send_at_least_once(&bus, "fleet").await.await.unwrap();
        assert_eq!(outcomes[0].status, Status::Delivered);
        assert_eq!(arrivals.lock().unwrap().observed().unexpected, 1, "it is no mark of a load");
    }
}
