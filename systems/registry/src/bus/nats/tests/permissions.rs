//! The configuration in `README.md` on a real server: which client may use which namespace.

use async_nats::ConnectOptions;

use super::faults::until;
use super::*;

const PAGE: &str = include_str!("../../../../README.md");

/// The configuration block from the page.
fn configuration() -> &'static str {
    let (_, rest) = PAGE.split_once("```text nats-server.conf\n").expect("a block of that name");
    rest.split_once("```").expect("an end of the block").0
}

/// Connects as one of the page's users, with an inbox of its own.
async fn user(server: &Server, name: &str) -> Client {
    let options = ConnectOptions::with_user_and_password(name.into(), format!("{name}-password"));
    let options = options.custom_inbox_prefix(format!("_INBOX.{name}"));
    options.connect(server.url()).await.unwrap()
}

fn of(namespace: &str, receiver: &str) -> Presence {
    Presence {
        namespace: namespace.into(),
        subject: format!("registry.{namespace}.{receiver}"),
        ..Presence::sample(receiver, "*")
    }
}

/// A receiver of a namespace that listens and announces itself on that namespace's subjects.
async fn receiver(server: &Server, namespace: &str) -> PlainReceiver {
    let client = user(server, namespace).await;
    let presence = of(namespace, "r-1");
    let deliveries = client.subscribe(presence.subject.clone()).await.unwrap();
    let plain = PlainReceiver { client, deliveries, presence };
    let reply_to_presence =
        announce(&plain.client, &presence_subject(namespace), &plain.presence).await.unwrap();
    assert!(reply_to_presence.ok && reply_to_presence.durable, "{reply_to_presence:?}");
    plain
}

fn presence_subject(namespace: &str) -> String {
    format!("{}.{namespace}", presence::SUBJECT)
}

/// A registry's answer; `None` if the server blocks the message.
async fn announce(client: &Client, subject: &str, presence: &Presence) -> Option<PresenceReply> {
    let answer = client.request(subject.to_owned(), presence.write());
    let answer = tokio::time::timeout(SHORT, answer).await.ok()?.ok()?;
    Some(serde_json::from_slice(&answer.payload).unwrap())
}

/// The next delivery from the stream: its id, its acknowledgement subject, and the message.
async fn from_stream(plain: &mut PlainReceiver) -> (String, Option<String>, Arrived) {
    loop {
        let (id, _, ack, message) = plain.next().await;
        if message.reply.as_ref().is_some_and(|reply| reply.starts_with("$JS.ACK.")) {
            return (id, ack, message);
        }
    }
}

pub async fn send_at_least_once(bus: &Nats, namespace: &str) -> JoinHandle<Vec<Outcome>> {
    let message = Message { namespace: namespace.into(), ..sample("hello") };
    let bus = bus.clone();
    let to = vec!["a".into()];
    tokio::spawn(async move { bus.multicast(message, to, Semantics::AtLeastOnce, LONG).await })
}

/// A server with the page's configuration, and a registry on it.
pub async fn connected_bus() -> (Server, Nats) {
    let server = Server::configured(configuration());
    let url = server.url().replace("nats://", "nats://registry:registry-password@");
    let settings = Settings { servers: url, ..Settings::default() };
    let bus = Nats::connect("c1", settings, Counts::default()).await.unwrap();
    bus.check().unwrap();
    assert!(!bus.effective().to_string().contains("password"));
    (server, bus)
}

#[tokio::test]
async fn a_receiver_with_the_rights_of_its_namespace_gets_what_is_for_it() {
    let (server, bus) = connected_bus().await;
    let mut fleet = receiver(&server, "fleet").await;
    let waits = send_at_least_once(&bus, "fleet").await;
    let (id, ack, message) = from_stream(&mut fleet).await;
    assert_eq!(ack.as_deref(), Some("registry.acks.c1.fleet"));
    fleet.acknowledge(&id, &ack.unwrap(), &message).await;
    assert_eq!(waits.await.unwrap()[0].status, Status::Delivered);
    let admin = user(&server, "registry").await;
    while stored(&admin).await > 0 {}
}

#[tokio::test]
async fn nobody_speaks_for_another_namespace() {
    let (server, bus) = connected_bus().await;
    let mut fleet = receiver(&server, "fleet").await;
    let other = receiver(&server, "other").await;
    // Neither on a foreign subject, nor on its own subject with another namespace.
    for subject in [presence::SUBJECT.to_owned(), presence_subject("fleet")] {
        assert_eq!(announce(&other.client, &subject, &of("fleet", "r-1")).await, None, "{subject}");
    }
    for foreign in [
        Presence { forget: true, ..of("fleet", "r-1") },
        of("fleet", "r-2"),
        Presence { subject: "registry.fleet.r-1".into(), ..of("other", "r-1") },
    ] {
        let reply_to_presence =
            announce(&other.client, &presence_subject("other"), &foreign).await.unwrap();
        assert!(reply_to_presence.error.is_some(), "{foreign:?}");
    }
    assert_eq!(bus.state.receivers().all().len(), 2);
    // It receives nothing of other namespaces, although it subscribes to it.
    let mut stolen = other.client.subscribe("registry.fleet.>").await.unwrap();
    other.client.flush().await.unwrap();
    let waits = send_at_least_once(&bus, "fleet").await;
    let (id, ack, message) = from_stream(&mut fleet).await;
    // It cannot acknowledge for them either: to the registry on either subject, or to the stream.
    let words = serde_json::to_vec(&Acknowledgement { ack: vec![id.clone()] }).unwrap();
    for subject in ["registry.acks.c1.fleet", "registry.acks.c1.other"] {
        other.client.publish(subject, words.clone().into()).await.unwrap();
    }
    let stream = message.reply.clone().unwrap();
    other.client.publish(stream, Bytes::from_static(b"+ACK")).await.unwrap();
    other.client.flush().await.unwrap();
    until("one is let through", || bus.state.counts.strayed.get() > 0).await;
    assert_eq!(stored(&user(&server, "registry").await).await, 1);
    assert!(!waits.is_finished());
    fleet.acknowledge(&id, &ack.unwrap(), &message).await;
    assert_eq!(waits.await.unwrap()[0].status, Status::Delivered);
    assert_eq!(
        bus.state.counts.strayed.get(),
        1,
        "the server let one through, and it was nobody's"
    );
    let nothing = tokio::time::timeout(Duration::ZERO, stolen.next()).await;
    assert!(!matches!(nothing, Ok(Some(_))));
}
