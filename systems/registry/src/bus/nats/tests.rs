//! The bus over a real server, with receivers that use only what `SUBSCRIBING.md` documents.

mod faults;
pub mod permissions;
mod server;

use std::collections::BTreeSet;

use hyper::body::Bytes;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;

use super::*;
use crate::bus::Status;
use crate::bus::sample::sample;
use crate::bus::temp_folder::TempFolder;
use crate::message;
use crate::metrics::Metrics;
use crate::query::Query;
use crate::service::{Quotas, Service};
use crate::store::embedded::Embedded;
use filtering::Filter;
use server::Server;

/// Longer than everything here takes, so that a test that waits for a deadline is noticed.
const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(300);

async fn bus(server: &Server, coordinator: &str) -> Nats {
    bus_with(server, coordinator, Settings::default()).await
}

async fn bus_with(server: &Server, coordinator: &str, settings: Settings) -> Nats {
    let unanswered = Duration::from_millis(100);
    bus_as_set(server, coordinator, Settings { unanswered, ..settings }).await
}

async fn bus_as_set(server: &Server, coordinator: &str, settings: Settings) -> Nats {
    let settings = Settings {
        servers: server.url(),
        ack_wait: Duration::from_millis(400),
        retry: Duration::from_millis(100),
        ..settings
    };
    let bus = Nats::connect(coordinator, settings, Counts::default()).await.unwrap();
    bus.check().unwrap();
    bus
}

/// A receiver on a plain client.
struct PlainReceiver {
    client: Client,
    deliveries: Arrivals,
    presence: Presence,
}

impl PlainReceiver {
    async fn listen(server: &Server, receiver: &str, pattern: &str) -> Self {
        let client = async_nats::connect(server.url()).await.unwrap();
        let presence = Presence::sample(receiver, pattern);
        let deliveries = client.subscribe(presence.subject.clone()).await.unwrap();
        let plain = Self { client, deliveries, presence };
        plain.announce(&plain.presence, true).await;
        plain
    }

    /// Announces itself, and expects this answer.
    async fn announce(&self, presence: &Presence, ok: bool) -> PresenceReply {
        let answer = self.client.request(presence::SUBJECT, presence.write()).await.unwrap();
        let reply_to_presence: PresenceReply = serde_json::from_slice(&answer.payload).unwrap();
        assert_eq!(reply_to_presence.ok, ok, "{reply_to_presence:?}");
        reply_to_presence
    }

    /// The next delivery: id, recipients, subject for the acknowledgement; and the message.
    async fn next(&mut self) -> (String, Vec<String>, Option<String>, Arrived) {
        let message = self.deliveries.next().await.unwrap();
        let (header, payload) = message::decode(&message.payload).unwrap();
        assert_eq!(payload, b"hello");
        let to = header.to.iter().map(ToString::to_string).collect();
        let (id, ack) = (header.delivery.to_owned(), header.ack.map(str::to_owned));
        (id, to, ack, message)
    }

    /// Acknowledges as documented: to the registry, and to the stream if the delivery came from it.
    async fn acknowledge(&self, id: &str, ack: &str, message: &Arrived) {
        let words = serde_json::to_vec(&Acknowledgement { ack: vec![id.to_owned()] }).unwrap();
        self.client.publish(ack.to_owned(), words.into()).await.unwrap();
        if let Some(stored) = from_stream(message) {
            self.client.publish(stored.clone(), Bytes::from_static(b"+ACK")).await.unwrap();
        }
    }

    /// Acknowledges everything until aborted, and reports ids and recipients as they arrive.
    fn acknowledge_all(mut self) -> (JoinHandle<()>, UnboundedReceiver<(String, Vec<String>)>) {
        let (seen, deliveries) = tokio::sync::mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let mut alive = tokio::time::interval(Duration::from_millis(200));
            loop {
                tokio::select! {
                    _ = alive.tick() => {
                        let announce = self.presence.write();
                        self.client.publish(presence::SUBJECT, announce).await.unwrap();
                    }
                    (id, to, ack, message) = self.next() => {
                        if let Some(ack) = ack {
                            self.acknowledge(&id, &ack, &message).await;
                        }
                        seen.send((id, to)).unwrap();
                    }
                }
            }
        });
        (task, deliveries)
    }
}

/// The stream's reply subject, if the delivery came from it.
fn from_stream(message: &Arrived) -> Option<&async_nats::Subject> {
    message.reply.as_ref().filter(|reply| reply.starts_with("$JS.ACK."))
}

fn send(
    bus: &Nats,
    to: &[&str],
    semantics: Semantics,
    timeout: Duration,
) -> JoinHandle<Vec<(String, Status, Option<&'static str>)>> {
    let to = to.iter().map(|name| (*name).into()).collect();
    let bus = bus.clone();
    tokio::spawn(async move {
        let mut outcomes = bus.multicast(sample("hello"), to, semantics, timeout).await;
        outcomes.sort_by(|a, b| a.identity.cmp(&b.identity));
        let plain = |one: Outcome| (one.identity.to_string(), one.status, one.reason);
        outcomes.into_iter().map(plain).collect()
    })
}

async fn statuses(sent: JoinHandle<Vec<(String, Status, Option<&'static str>)>>) -> Vec<Status> {
    sent.await.unwrap().into_iter().map(|one| one.1).collect()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

/// Number of messages in the stream, and number ever stored.
async fn stream(client: &Client) -> (u64, u64) {
    let context = async_nats::jetstream::new(client.clone());
    let mut stream = context.get_stream(presence::STREAM).await.unwrap();
    let state = &stream.info().await.unwrap().state;
    (state.messages, state.last_sequence)
}

/// Number of messages in the stream.
async fn stored(client: &Client) -> u64 {
    stream(client).await.0
}

#[tokio::test]
async fn at_most_once_is_delivered_to_whom_somebody_listens() {
    let server = Server::start();
    let bus = bus(&server, "c1").await;
    let mut all = PlainReceiver::listen(&server, "all", "user-*").await;
    let mut one = PlainReceiver::listen(&server, "one", "user-2").await;
    let sent = send(&bus, &["else", "user-1", "user-2"], Semantics::AtMostOnce, LONG);
    let expected = [
        ("else".into(), Status::Failed, Some("no subscriber")),
        ("user-1".into(), Status::Delivered, None),
        ("user-2".into(), Status::Delivered, None),
    ];
    assert_eq!(sent.await.unwrap(), expected);
    let (_, to, ack, _) = all.next().await;
    assert_eq!((to, ack), (vec!["user-1".to_owned()], None));
    assert_eq!(one.next().await.1, ["user-2"]);
}

#[tokio::test]
async fn who_says_that_it_is_there_and_does_not_listen_is_not_delivered() {
    let server = Server::start();
    let bus = bus(&server, "c1").await;
    let liar = PlainReceiver::listen(&server, "liar", "a").await;
    let mut honest = PlainReceiver::listen(&server, "honest", "b").await;
    drop(liar.deliveries);
    // The server handles the unsubscription before it answers this request.
    let again = liar.client.request(presence::SUBJECT, liar.presence.write()).await.unwrap();
    assert!(again.payload.starts_with(b"{\"ok\":true"));
    let sent = send(&bus, &["a", "b"], Semantics::AtMostOnce, LONG);
    let expected = [
        ("a".into(), Status::Failed, Some("no subscriber")),
        ("b".into(), Status::Delivered, None),
    ];
    assert_eq!(sent.await.unwrap(), expected);
    assert_eq!(honest.next().await.1, ["b"]);
    assert_eq!(bus.state.receivers().present(), 1, "the server knows better");
}

#[tokio::test]
async fn at_least_once_is_delivered_when_the_receiver_says_so_and_the_stream_hears_nothing_of_it() {
    let server = Server::start();
    let settings = Settings { unanswered: LONG, ..Settings::default() };
    let bus = bus_as_set(&server, "c1", settings).await;
    let mut receiver = PlainReceiver::listen(&server, "r", "user-*").await;
    let sent = send(&bus, &["nobody", "user-1", "user-2"], Semantics::AtLeastOnce, LONG);
    let (id, to, ack, message) = receiver.next().await;
    assert_eq!(to, ["user-1", "user-2"]);
    assert_eq!(ack.as_deref(), Some("registry.acks.c1.n"));
    assert!(!sent.is_finished(), "the receiver is there: its word is waited for");
    // Acknowledgements of unknown deliveries, and invalid messages, change nothing.
    for stray in [&b"{\"ack\":[\"c1-999\",\"other-1\"]}"[..], b"nonsense", b"{\"ack\":1}"] {
        receiver.client.publish("registry.acks.c1.n", Bytes::from_static(stray)).await.unwrap();
    }
    assert!(from_stream(&message).is_none());
    receiver.acknowledge(&id, &ack.unwrap(), &message).await;
    let expected = [Status::Failed, Status::Delivered, Status::Delivered];
    assert_eq!(statuses(sent).await, expected);
    assert_eq!(bus.state.counts.strayed.get(), 4);
    assert_eq!((bus.state.counts.sent.get(), bus.state.counts.resent.get()), (1, 0));
    assert_eq!(stream(&receiver.client).await, (0, 0));
}

#[tokio::test]
async fn who_does_not_acknowledge_is_pending_and_gets_it_again_until_it_does() {
    let server = Server::start();
    let bus = bus(&server, "c1").await;
    let mut silent = PlainReceiver::listen(&server, "silent", "silent").await;
    let acknowledging_receiver = PlainReceiver::listen(&server, "obedient", "obedient").await;
    let (task, mut seen) = acknowledging_receiver.acknowledge_all();
    let sent = send(&bus, &["obedient", "silent"], Semantics::AtLeastOnce, 2 * SHORT);
    // Order of events: the other receiver has its delivery while the bus still waits for this one.
    seen.recv().await.unwrap();
    assert!(!sent.is_finished());
    let (id, _, ack, message) = silent.next().await;
    assert!(from_stream(&message).is_none());
    assert_eq!(statuses(sent).await, [Status::Delivered, Status::Pending]);
    // From the stream, and once more, because the first was not acknowledged either.
    for _ in 0..2 {
        let (again, _, _, message) = silent.next().await;
        assert_eq!(again, id, "told apart by its id");
        assert!(from_stream(&message).is_some());
    }
    assert_eq!(stream(&silent.client).await, (1, 1), "what was acknowledged never was in there");
    let (_, _, _, message) = silent.next().await;
    silent.acknowledge(&id, &ack.unwrap(), &message).await;
    while stored(&silent.client).await > 0 {}
    assert_eq!(bus.state.counts.stored.get(), 1);
    task.abort();
}

#[tokio::test]
async fn who_acknowledges_late_is_delivered_although_it_is_stored() {
    let server = Server::start();
    let bus = bus(&server, "c1").await;
    let mut late = PlainReceiver::listen(&server, "late", "late").await;
    let sent = send(&bus, &["late"], Semantics::AtLeastOnce, LONG);
    let (id, _, ack, first) = late.next().await;
    let (again, _, _, second) = late.next().await;
    assert_eq!(again, id);
    assert!(from_stream(&first).is_none() && from_stream(&second).is_some());
    assert!(!sent.is_finished(), "it is stored, and the receiver is there: its word is waited for");
    late.acknowledge(&id, &ack.unwrap(), &second).await;
    assert_eq!(statuses(sent).await, [Status::Delivered]);
    assert_eq!(bus.state.counts.stored.get(), 0, "nobody was told so");
    while stored(&late.client).await > 0 {}
}

#[tokio::test]
async fn what_nobody_listens_to_is_stored_at_once() {
    let server = Server::start();
    // Without the server's report, it would be stored only after this time.
    let settings = Settings { unanswered: LONG, ..Settings::default() };
    let bus = bus_as_set(&server, "c1", settings).await;
    let mut crashed = PlainReceiver::listen(&server, "crashed", "a").await;
    crashed.deliveries.unsubscribe().await.unwrap();
    crashed.announce(&crashed.presence, true).await;
    let sent = send(&bus, &["a"], Semantics::AtLeastOnce, 2 * LONG);
    while stored(&crashed.client).await == 0 {}
    assert!(!sent.is_finished(), "it was there a moment ago");
    crashed.deliveries = crashed.client.subscribe(crashed.presence.subject.clone()).await.unwrap();
    let (id, _, ack, message) = crashed.next().await;
    crashed.acknowledge(&id, &ack.unwrap(), &message).await;
    assert_eq!(statuses(sent).await, [Status::Delivered]);
    while stored(&crashed.client).await > 0 {}
}

#[tokio::test]
async fn a_server_that_stores_nothing_delivers_to_who_is_there_and_pends_nothing() {
    let server = Server::without_streams();
    let settings = Settings { patience: SHORT, ..Settings::default() };
    let bus = bus_with(&server, "c1", settings).await;
    let mut receiver = PlainReceiver::listen(&server, "r", "a").await;
    assert!(!receiver.announce(&receiver.presence, true).await.durable);
    let sent = send(&bus, &["a"], Semantics::AtLeastOnce, LONG);
    let (id, _, ack, _) = receiver.next().await;
    let (again, _, _, message) = receiver.next().await;
    assert_eq!(again, id, "it is told again until it is acknowledged");
    receiver.acknowledge(&id, &ack.unwrap(), &message).await;
    assert_eq!(statuses(sent).await, [Status::Delivered]);
    let silent = send(&bus, &["a"], Semantics::AtLeastOnce, SHORT);
    assert_eq!(statuses(silent).await, [Status::Timeout]);
    receiver.announce(&Presence { gone: true, ..receiver.presence.clone() }, true).await;
    let away = send(&bus, &["a"], Semantics::AtLeastOnce, SHORT);
    assert_eq!(statuses(away).await, [Status::Failed]);
}

#[tokio::test]
async fn what_waits_for_who_is_away_is_pending_and_arrives_when_it_is_back() {
    let server = Server::start();
    let bus = bus(&server, "c1").await;
    let receiver = PlainReceiver::listen(&server, "r", "a*").await;
    let gone = Presence { gone: true, ..receiver.presence.clone() };
    assert!(receiver.announce(&gone, true).await.durable);
    receiver.client.drain().await.unwrap();
    let outcomes = send(&bus, &["a1", "a2"], Semantics::AtLeastOnce, LONG).await.unwrap();
    assert!(outcomes.iter().all(|one| one.1 == Status::Pending), "at once: {outcomes:?}");
    let none = send(&bus, &["a1"], Semantics::AtMostOnce, LONG);
    assert_eq!(statuses(none).await, [Status::Failed]);
    // A second coordinator that never got its announcement still knows it.
    let other = self::bus(&server, "c2").await;
    let outcomes = send(&other, &["a3"], Semantics::AtLeastOnce, LONG);
    assert_eq!(statuses(outcomes).await, [Status::Pending]);
    let mut back = PlainReceiver::listen(&server, "r", "a*").await;
    let mut seen = BTreeSet::new();
    while seen.len() < 2 {
        let (id, to, ack, message) = back.next().await;
        back.acknowledge(&id, &ack.unwrap(), &message).await;
        seen.insert(to);
    }
    assert_eq!(seen, BTreeSet::from([names(&["a1", "a2"]), names(&["a3"])]));
    // The test waits until both coordinators know that it is back.
    for (bus, coordinator) in [(&bus, "c1"), (&other, "c2")] {
        while bus.state.receivers().present() == 0 {
            back.announce(&back.presence, true).await;
        }
        let sent = send(bus, &["a4"], Semantics::AtLeastOnce, LONG);
        let (id, to, ack, message) = back.next().await;
        assert!(id.starts_with(coordinator) && to == ["a4"]);
        back.acknowledge(&id, &ack.unwrap(), &message).await;
        assert_eq!(statuses(sent).await, [Status::Delivered]);
    }
}

#[tokio::test]
async fn forgetting_drops_what_waits_for_that_one_alone() {
    let server = Server::start();
    let bus = bus(&server, "c1").await;
    let mut receivers = Vec::new();
    for (name, pattern) in [("one", "a"), ("all", "b*"), ("leaves", "c")] {
        let receiver = PlainReceiver::listen(&server, name, pattern).await;
        receiver.announce(&Presence { gone: true, ..receiver.presence.clone() }, true).await;
        receivers.push(receiver);
    }
    let sent = send(&bus, &["a", "b", "c"], Semantics::AtLeastOnce, LONG);
    assert_eq!(statuses(sent).await, [Status::Pending; 3]);
    bus.forget("n", "a").await;
    bus.forget("n", "b").await;
    bus.forget("elsewhere", "c").await;
    let leaves = &receivers[2];
    leaves.announce(&Presence { forget: true, ..leaves.presence.clone() }, true).await;
    assert_eq!(stored(&leaves.client).await, 1, "what waits for the prefix stays");
    let sent = send(&bus, &["a", "b", "c"], Semantics::AtLeastOnce, LONG);
    assert_eq!(statuses(sent).await, [Status::Failed, Status::Pending, Status::Failed]);
}

#[tokio::test]
async fn nothing_is_kept_for_ever() {
    let server = Server::start();
    let settings = Settings { keep: SHORT, away: SHORT, ..Settings::default() };
    let bus = bus_with(&server, "c1", settings).await;
    let receiver = PlainReceiver::listen(&server, "r", "a").await;
    receiver.announce(&Presence { gone: true, ..receiver.presence.clone() }, true).await;
    drop(receiver.deliveries);
    let context = async_nats::jetstream::new(receiver.client.clone());
    let stream = context.get_stream(presence::STREAM).await.unwrap();
    while stream.consumer_info("n==r").await.is_ok() || stored(&receiver.client).await > 0 {}
    while bus.state.receivers().all().count() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(statuses(send(&bus, &["a"], Semantics::AtLeastOnce, LONG)).await, [Status::Failed]);
}

#[tokio::test]
async fn a_presence_that_is_none_is_answered_and_changes_nothing() {
    let server = Server::start();
    let bus = bus(&server, "c1").await;
    let plain = PlainReceiver::listen(&server, "r", "a").await;
    for bad in [
        Presence { subject: "registry.durable.n.r".into(), ..plain.presence.clone() },
        Presence { pattern: "a*b".into(), ..plain.presence.clone() },
    ] {
        assert!(plain.announce(&bad, false).await.error.is_some());
    }
    for nonsense in [&b""[..], b"\xff", b"[]"] {
        let nonsense = Bytes::from_static(nonsense);
        let answer = plain.client.request(presence::SUBJECT, nonsense).await.unwrap();
        let reply_to_presence: PresenceReply = serde_json::from_slice(&answer.payload).unwrap();
        assert!(!reply_to_presence.ok && reply_to_presence.error.is_some());
    }
    assert_eq!(bus.state.receivers().all().count(), 1);
}

#[tokio::test]
async fn many_targets_are_cut_to_what_the_server_takes_and_too_much_is_refused() {
    let server = Server::start();
    let bus = bus(&server, "c1").await;
    let mut receiver = PlainReceiver::listen(&server, "r", "*").await;
    let names: Vec<String> = (0..2_500).map(|n| format!("user-{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let sent = send(&bus, &names, Semantics::AtMostOnce, LONG);
    let mut seen = BTreeSet::new();
    let mut ids = BTreeSet::new();
    while seen.len() < names.len() {
        let (id, to, _, _) = receiver.next().await;
        assert!(to.len() <= 1_000 && ids.insert(id));
        for name in to {
            assert!(seen.insert(name), "each once");
        }
    }
    assert!(statuses(sent).await.iter().all(|status| *status == Status::Delivered));
    assert_eq!(ids.len(), 3);
    let huge = sample(vec![0; 1 << 20]);
    for semantics in [Semantics::AtMostOnce, Semantics::AtLeastOnce] {
        let outcomes = bus.multicast(huge.clone(), vec!["a".into()], semantics, SHORT).await;
        assert_eq!(outcomes[0].status, Status::Failed);
        assert_eq!(outcomes[0].reason, Some("too large for the bus"));
    }
    let large = sample(vec![0; (1 << 20) - 4_096]);
    let outcomes = bus.multicast(large, vec!["a".into()], Semantics::AtMostOnce, LONG).await;
    assert_eq!(outcomes[0].status, Status::Delivered);
}

#[tokio::test]
async fn there_is_room_for_so_many_receivers() {
    let server = Server::start();
    let _bus = bus_with(&server, "c1", Settings { receivers: 1, ..Settings::default() }).await;
    let one = PlainReceiver::listen(&server, "one", "user-*").await;
    let two = Presence::sample("two", "user-*");
    let refused = one.announce(&two, false).await;
    assert!(refused.error.is_some_and(|error| error.contains("1 receivers")));
    one.announce(&one.presence, true).await;
    one.announce(&Presence { forget: true, ..one.presence.clone() }, true).await;
    one.announce(&two, true).await;
}

#[tokio::test]
async fn a_receiver_makes_its_namespace_be() {
    let server = Server::start();
    let bus = Arc::new(bus(&server, "c1").await);
    let quotas = Quotas::read(&serving::settings::Settings::new(&Default::default()));
    let metrics = Metrics::new(&serving::metrics::Registry::default(), &[]);
    let service = Service::new(Embedded::in_memory(), bus, quotas, metrics, "c1");
    let query = Query { filter: Filter::default(), sort_by: Vec::new(), limit: 1, cursor: None };
    let unknown = service.enumerate("n", &query).await.unwrap_err();
    assert_eq!(unknown.code, crate::api_error::Code::UnknownNamespace);
    let _receiver = PlainReceiver::listen(&server, "r", "*").await;
    assert_eq!(service.enumerate("n", &query).await.unwrap().total_count, 0);
    assert!(service.enumerate("else", &query).await.is_err(), "nobody is there");
}
