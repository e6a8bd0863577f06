//! The server absent, killed, stopped: the outcomes of deliveries then.

use std::collections::HashMap;

use super::*;

#[tokio::test]
async fn without_a_server_nothing_is_delivered_and_it_goes_on_when_there_is_one() {
    let mut server = Server::start();
    server.kill();
    let settings = Settings {
        servers: server.url(),
        patience: SHORT,
        retry: Duration::from_millis(100),
        ..Settings::default()
    };
    let bus = Nats::connect("c1", settings, Counts::default()).await.unwrap();
    assert_eq!(bus.check().unwrap_err().code, crate::api_error::Code::Unavailable);
    for semantics in [Semantics::AtMostOnce, Semantics::AtLeastOnce] {
        assert_eq!(statuses(send(&bus, &["a"], semantics, SHORT)).await, [Status::Failed]);
    }
    server.start_again();
    while bus.check().is_err() || !bus.state.has_stream.load(Ordering::Acquire) {
        tokio::task::yield_now().await;
    }
    let (task, mut seen) = PlainReceiver::listen(&server, "r", "a").await.acknowledge_all();
    let sent = send(&bus, &["a"], Semantics::AtLeastOnce, LONG);
    assert_eq!(statuses(sent).await, [Status::Delivered]);
    seen.recv().await.unwrap();
    task.abort();
}

/// Waits until it holds, with a time limit.
pub(super) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, waiting).await.expect(what);
}

/// Checks that the outcome comes at once, although the time-out is long.
async fn at_once(bus: &Nats, to: &str, semantics: Semantics) -> (Status, Option<&'static str>) {
    let sent = send(bus, &[to], semantics, 10 * LONG);
    let sent = tokio::time::timeout(LONG, sent).await.expect("nothing is waited for");
    let (_, status, reason) = sent.unwrap().remove(0);
    (status, reason)
}

#[tokio::test]
async fn a_server_that_stores_nothing_is_no_reason_to_wait() {
    let server = Server::without_streams();
    let bus = bus(&server, "c1").await;
    until("the server says that it stores nothing", || bus.state.jetstream.is_refused()).await;
    let receiver = PlainReceiver::listen(&server, "r", "a").await;
    assert_eq!(at_once(&bus, "a", Semantics::AtMostOnce).await.0, Status::Delivered);
    let nobody = (Status::Failed, Some("no subscriber"));
    assert_eq!(at_once(&bus, "b", Semantics::AtLeastOnce).await, nobody);
    let reply_to_presence =
        receiver.announce(&Presence { gone: true, ..receiver.presence.clone() }, true).await;
    assert!(!reply_to_presence.durable);
    let failed = (Status::Failed, Some("the bus could not store it"));
    assert_eq!(at_once(&bus, "a", Semantics::AtLeastOnce).await, failed);
}

/// All turns are taken, so presence messages wait: two may wait, and further ones are dropped.
#[tokio::test]
async fn presences_that_wait_are_bounded_and_the_others_counted() {
    let server = Server::start();
    let bus = bus_with(&server, "c1", Settings { presences: 2, ..Settings::default() }).await;
    let client = async_nats::connect(server.url()).await.unwrap();
    let turns = bus.state.admissions.acquire_many(ADMISSIONS as u32).await.unwrap();
    let mut answers = client.subscribe("answers").await.unwrap();
    let announce = async |name: &str| {
        let presence = Presence::sample(name, "a").write();
        client.publish_with_reply(presence::SUBJECT, "answers", presence).await.unwrap();
        client.flush().await.unwrap();
    };
    for name in ["one", "two", "three", "four"] {
        announce(name).await;
    }
    until("two are dropped", || bus.state.counts.shed.get() == 2).await;
    drop(turns);
    for _ in 0..2 {
        answers.next().await.unwrap();
    }
    let receivers: BTreeSet<_> =
        bus.state.receivers().all().map(|known| known.presence.receiver.clone()).collect();
    assert_eq!(receivers, BTreeSet::from(["one".to_owned(), "two".to_owned()]));
    // A dropped receiver announces itself again, and is heard.
    announce("three").await;
    answers.next().await.unwrap();
    assert_eq!((bus.state.receivers().all().len(), bus.state.counts.shed.get()), (3, 2));
}

#[tokio::test]
async fn a_server_that_stands_still_is_a_timeout_and_what_it_took_arrives() {
    let server = Server::start();
    let bus = bus(&server, "c1").await;
    let mut receiver = PlainReceiver::listen(&server, "r", "a").await;
    server.stand_still(true);
    for semantics in [Semantics::AtMostOnce, Semantics::AtLeastOnce] {
        assert_eq!(statuses(send(&bus, &["a"], semantics, SHORT)).await, [Status::Timeout]);
    }
    server.stand_still(false);
    let mut kinds = BTreeSet::new();
    while kinds.len() < 2 {
        kinds.insert(receiver.next().await.2.is_some());
    }
}

/// For each identity, the ids of its deliveries.
#[derive(Default)]
struct Received(HashMap<String, BTreeSet<String>>);

impl Received {
    async fn take(&mut self, deliveries: &mut UnboundedReceiver<(String, Vec<String>)>) {
        let next = tokio::time::timeout(LONG, deliveries.recv()).await;
        let (id, to) = next.expect("what was told delivered or pending comes").unwrap();
        for name in to {
            self.0.entry(name).or_default().insert(id.clone());
        }
    }
}

/// Receivers that acknowledge everything, and the deliveries of all of them.
async fn acknowledging_receiver(
    server: &Server,
    names: [&str; 3],
) -> (JoinSet<()>, UnboundedReceiver<(String, Vec<String>)>) {
    let (all, deliveries) = tokio::sync::mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    for name in names {
        let (_, mut seen) =
            PlainReceiver::listen(server, name, &format!("{name}-*")).await.acknowledge_all();
        let all = all.clone();
        tasks.spawn(async move {
            while let Some(delivery) = seen.recv().await {
                all.send(delivery).unwrap();
            }
        });
    }
    (tasks, deliveries)
}

#[tokio::test]
async fn a_killed_server_makes_nobody_say_delivered_that_was_not() {
    let mut server = Server::start();
    let bus = bus(&server, "c1").await;
    let receivers = ["r0", "r1", "r2"];
    let (_tasks, mut deliveries) = acknowledging_receiver(&server, receivers).await;
    // One multicast after another, each to new identities; the kill comes in between.
    let sending = bus.clone();
    let sender = tokio::spawn(async move {
        let mut tracked = HashMap::new();
        for round in 0..200 {
            let to = receivers.map(|name| format!("{name}-{round}"));
            let to: Vec<&str> = to.iter().map(String::as_str).collect();
            let outcomes = send(&sending, &to, Semantics::AtLeastOnce, SHORT).await.unwrap();
            tracked.extend(outcomes.into_iter().map(|(name, status, _)| (name, status)));
        }
        tracked
    });
    let mut received = Received::default();
    while received.0.len() < 60 {
        received.take(&mut deliveries).await;
    }
    server.kill();
    while bus.check().is_ok() {
        tokio::task::yield_now().await;
    }
    let down = send(&bus, &["r0-x"], Semantics::AtLeastOnce, SHORT);
    assert_eq!(statuses(down).await, [Status::Failed]);
    server.start_again();
    let tracked = sender.await.unwrap();
    // The bus works again, although only the server was restarted.
    let sent = send(&bus, &["r0-y", "r1-y", "r2-y"], Semantics::AtLeastOnce, LONG);
    assert_eq!(statuses(sent).await, [Status::Delivered; 3]);
    assert_eq!(tracked.len(), 600);
    let with_status = |status| tracked.iter().filter(move |one| *one.1 == status).map(|one| one.0);
    assert!(
        (60..600).contains(&with_status(Status::Delivered).count()),
        "the kill was in the midst"
    );
    let mut due =
        with_status(Status::Delivered).chain(with_status(Status::Pending)).collect::<Vec<_>>();
    due.retain(|name| !received.0.contains_key(*name));
    while !due.is_empty() {
        received.take(&mut deliveries).await;
        due.retain(|name| !received.0.contains_key(*name));
    }
    assert!(received.0.values().all(|ids| ids.len() == 1), "what came twice has the same id");
}
