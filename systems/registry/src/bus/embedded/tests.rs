//! The bus within the process, in virtual time. `handshake/tests.rs` tests the wire format.

use super::*;
use crate::bus::Status;
use crate::bus::sample::sample;
use crate::message;

const SECOND: Duration = Duration::from_secs(1);

fn bus(settings: Settings) -> (Embedded, serving::stop::Stopper) {
    let (stopper, stop) = Stop::pair();
    (Embedded::new("c1", settings, Counts::default(), stop), stopper)
}

fn listen(bus: &Embedded, pattern: &str) -> Listener {
    bus.listen("n", pattern.parse().unwrap(), None)
}

fn names(names: &[&str]) -> Vec<Arc<str>> {
    names.iter().map(|name| (*name).into()).collect()
}

/// Status and reason of each identity, sorted by name.
fn outcomes_of(mut outcomes: Vec<Outcome>) -> Vec<(String, Status, Option<&'static str>)> {
    outcomes.sort_by(|a, b| a.identity.cmp(&b.identity));
    outcomes.into_iter().map(|one| (one.identity.to_string(), one.status, one.reason)).collect()
}

async fn send(
    bus: &Embedded,
    to: &[&str],
    semantics: Semantics,
    timeout: Duration,
) -> Vec<Outcome> {
    bus.multicast(sample("hello"), names(to), semantics, timeout).await
}

/// Sends at least once in the background.
fn send_at_least_once(bus: &Embedded, to: &[&str], timeout: Duration) -> JoinHandle<Vec<Outcome>> {
    let (bus, to) = (bus.clone(), names(to));
    let message = sample("hello");
    tokio::spawn(async move { bus.multicast(message, to, Semantics::AtLeastOnce, timeout).await })
}

/// The id and the recipients of a delivery.
fn parts(bytes: &[u8]) -> (String, Vec<String>) {
    let (header, payload) = message::decode(bytes).unwrap();
    assert_eq!(payload, b"hello");
    (header.delivery.to_owned(), header.to.iter().map(ToString::to_string).collect())
}

fn ack(id: &str) -> Acknowledgement {
    Acknowledgement { ack: vec![id.to_owned()] }
}

/// Acknowledges everything, and returns what it received.
fn acknowledging_receiver(mut listener: Listener) -> JoinHandle<Vec<(String, Vec<String>)>> {
    tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(bytes) = listener.next().await {
            let (id, to) = parts(&bytes);
            listener.acknowledge(&ack(&id));
            seen.push((id, to));
        }
        seen
    })
}

#[tokio::test(start_paused = true)]
async fn at_most_once_is_delivered_to_whom_somebody_serves() {
    let (bus, _stopper) = bus(Settings::default());
    let mut all = listen(&bus, "user-*");
    let mut one = listen(&bus, "user-2");
    let to = ["user-1", "user-2", "user-3", "else"];
    let outcomes = send(&bus, &to, Semantics::AtMostOnce, SECOND).await;
    let failed = Some("no subscriber");
    let expected = [
        ("else".into(), Status::Failed, failed),
        ("user-1".into(), Status::Delivered, None),
        ("user-2".into(), Status::Delivered, None),
        ("user-3".into(), Status::Delivered, None),
    ];
    assert_eq!(outcomes_of(outcomes), expected);
    let bytes = all.next_now().unwrap();
    assert_eq!(message::decode(&bytes).unwrap().0.ack, None, "none is wanted");
    assert_eq!(parts(&bytes).1, ["user-1", "user-3"]);
    assert_eq!(parts(&one.next_now().unwrap()).1, ["user-2"]);
    assert!(all.next_now().is_none() && one.next_now().is_none());
}

#[tokio::test(start_paused = true)]
async fn each_status_of_at_least_once_has_its_cause() {
    let (bus, _stopper) = bus(Settings { queue_frames: 1, ..Settings::default() });
    let obeys = acknowledging_receiver(listen(&bus, "obeys"));
    let mut silent = listen(&bus, "silent");
    let full = listen(&bus, "full");
    send(&bus, &["full"], Semantics::AtMostOnce, SECOND).await;
    let to = ["obeys", "silent", "full", "nobody"];
    let outcomes = send(&bus, &to, Semantics::AtLeastOnce, SECOND / 2).await;
    let expected = [
        ("full".into(), Status::Failed, Some("slow subscriber")),
        ("nobody".into(), Status::Failed, Some("no subscriber")),
        ("obeys".into(), Status::Delivered, None),
        ("silent".into(), Status::Timeout, Some("not acknowledged by the deadline")),
    ];
    assert_eq!(outcomes_of(outcomes), expected);
    let bytes = silent.next_now().unwrap();
    assert_eq!(message::decode(&bytes).unwrap().0.ack, Some(""), "over the connection");
    drop(full);
    bus.forget("n", "obeys").await;
    assert_eq!(obeys.await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_read_delays_nobody_else() {
    let (bus, _stopper) = bus(Settings { queue_frames: 2, ..Settings::default() });
    let _dead = listen(&bus, "dead");
    let mut live = listen(&bus, "live");
    let mut seen = Vec::new();
    for round in 0..10 {
        let outcomes = send(&bus, &["dead", "live"], Semantics::AtMostOnce, SECOND).await;
        let expected = if round < 2 { Status::Delivered } else { Status::Failed };
        assert_eq!(outcomes_of(outcomes).map_status(), [expected, Status::Delivered], "{round}");
        seen.push(parts(&live.next_now().unwrap()).0);
    }
    // Numbers alternate between the receiver that never acknowledges and the one that does; they
    // arrive in order.
    let expected: Vec<String> = (1..=10).map(|n| format!("c1-{}", 2 * n)).collect();
    assert_eq!(seen, expected);
    // While the bus waits for the dead receiver's acknowledgement, the live one already has its
    // delivery.
    let waits = send_at_least_once(&bus, &["dead", "live"], 60 * SECOND);
    let (id, _) = parts(&live.next().await.unwrap());
    assert_eq!(live.acknowledge(&ack(&id)), 1);
    assert!(!waits.is_finished(), "the dead is still waited for");
    let expected = [Status::Failed, Status::Delivered];
    assert_eq!(outcomes_of(waits.await.unwrap()).map_status(), expected);
}

trait MapStatus {
    fn map_status(&self) -> Vec<Status>;
}

impl MapStatus for Vec<(String, Status, Option<&'static str>)> {
    fn map_status(&self) -> Vec<Status> {
        self.iter().map(|one| one.1).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_delivery_comes_again_under_its_id_until_it_is_acknowledged() {
    let (bus, _stopper) = bus(Settings::default());
    let mut listener = listen(&bus, "*");
    let waits = send_at_least_once(&bus, &["a", "b"], 60 * SECOND);
    let first = listener.next().await.unwrap();
    for _ in 0..3 {
        assert_eq!(listener.next().await.unwrap(), first);
    }
    assert_eq!(listener.acknowledge(&ack(&parts(&first).0)), 1);
    assert_eq!(outcomes_of(waits.await.unwrap()).map_status(), [Status::Delivered; 2]);
    assert_eq!(listener.acknowledge(&ack(&parts(&first).0)), 0, "a duplicate counts nothing");
    assert_eq!((bus.state.counts.sent.get(), bus.state.counts.resent.get()), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_cancels() {
    let (bus, _stopper) = bus(Settings::default());
    let mut listener = listen(&bus, "*");
    let begin = Instant::now();
    let outcomes = send(&bus, &["a"], Semantics::AtLeastOnce, SECOND / 2).await;
    assert_eq!(outcomes[0].status, Status::Timeout);
    assert_eq!(begin.elapsed(), SECOND / 2, "virtual time");
    let (id, _) = parts(&listener.next_now().unwrap());
    tokio::time::advance(60 * SECOND).await;
    assert!(listener.next_now().is_none(), "nothing is sent again behind the deadline");
    assert_eq!(listener.acknowledge(&ack(&id)), 0);
    assert!(bus.state.tracker.is_empty());
    let outcomes = send(&bus, &["a"], Semantics::AtMostOnce, Duration::ZERO).await;
    assert_eq!(outcomes[0].status, Status::Timeout);
    assert!(listener.next_now().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_multicast_that_is_dropped_is_not_sent_again() {
    let (bus, _stopper) = bus(Settings::default());
    let mut listener = listen(&bus, "*");
    let waits = send_at_least_once(&bus, &["a"], 60 * SECOND);
    listener.next().await.unwrap();
    waits.abort();
    assert!(waits.await.unwrap_err().is_cancelled());
    tokio::time::advance(60 * SECOND).await;
    assert!(listener.next_now().is_none());
    assert!(bus.state.tracker.is_empty());
}

#[tokio::test(start_paused = true)]
async fn nobody_acknowledges_for_others() {
    let (bus, _stopper) = bus(Settings::default());
    let mut owner = listen(&bus, "a");
    let other = listen(&bus, "b");
    let waits = send_at_least_once(&bus, &["a"], SECOND / 2);
    let (id, _) = parts(&owner.next().await.unwrap());
    assert_eq!(other.acknowledge(&ack(&id)), 0);
    assert_eq!(bus.acknowledge("elsewhere", &ack(&id)), 0);
    assert_eq!(bus.state.counts.strayed.get(), 2);
    assert_eq!(waits.await.unwrap()[0].status, Status::Timeout);
}

#[tokio::test(start_paused = true)]
async fn acknowledgements_by_request_count_in_their_namespace() {
    let (bus, _stopper) = bus(Settings::default());
    let mut owner = listen(&bus, "a");
    let waits = send_at_least_once(&bus, &["a"], 60 * SECOND);
    let (id, _) = parts(&owner.next().await.unwrap());
    assert_eq!(bus.acknowledge("n", &ack(&id)), 1);
    assert_eq!(waits.await.unwrap()[0].status, Status::Delivered);
}

#[tokio::test]
async fn a_queue_is_bounded_in_bytes_and_one_delivery_always_fits() {
    let (bus, _stopper) = bus(Settings { queue_bytes: 300, ..Settings::default() });
    let mut listener = listen(&bus, "*");
    let long: Vec<String> = (0..100).map(|n| format!("identity-{n}")).collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    let failed = |outcomes: Vec<Outcome>| outcomes.iter().all(|one| one.status == Status::Failed);
    assert!(!failed(send(&bus, &long, Semantics::AtMostOnce, SECOND).await));
    assert!(failed(send(&bus, &["a"], Semantics::AtMostOnce, SECOND).await));
    assert_eq!(bus.state.counts.refused.get(), 1);
    listener.next_now().unwrap();
    for _ in 0..2 {
        assert!(!failed(send(&bus, &["a"], Semantics::AtMostOnce, SECOND).await));
    }
    assert!(failed(send(&bus, &["a"], Semantics::AtMostOnce, SECOND).await));
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_back_in_time_gets_what_was_under_way() {
    let (bus, _stopper) = bus(Settings::default());
    let mut first = listen(&bus, "a");
    let waits = send_at_least_once(&bus, &["a"], 60 * SECOND);
    let (id, _) = parts(&first.next().await.unwrap());
    drop(first);
    let mut second = listen(&bus, "a");
    assert_eq!(parts(&second.next().await.unwrap()).0, id, "told apart by its id");
    assert_eq!(second.acknowledge(&ack(&id)), 1);
    assert_eq!(waits.await.unwrap()[0].status, Status::Delivered);
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_leaves_and_stays_away_fails() {
    let (bus, _stopper) = bus(Settings::default());
    let mut first = listen(&bus, "a");
    let waits = send_at_least_once(&bus, &["a"], 60 * SECOND);
    first.next().await.unwrap();
    drop(first);
    let outcomes = outcomes_of(waits.await.unwrap());
    let reason = Some("subscriber gone before it acknowledged");
    assert_eq!(outcomes, [("a".into(), Status::Failed, reason)]);
}

#[tokio::test]
async fn a_name_has_one_receiver_and_forgetting_ends_it() {
    let (bus, _stopper) = bus(Settings::default());
    let mut former = bus.listen("n", "a*".parse().unwrap(), Some("x"));
    let elsewhere = bus.listen("m", "a*".parse().unwrap(), Some("x"));
    let mut later = bus.listen("n", "a".parse().unwrap(), Some("x"));
    assert_eq!(bus.state.counts.subscriptions.get(), 2);
    assert_eq!(former.next().await, None, "the former receiver is cut off");
    drop(former);
    let status = |outcomes: Vec<Outcome>| outcomes_of(outcomes).map_status();
    let outcomes = status(send(&bus, &["a", "ab"], Semantics::AtMostOnce, SECOND).await);
    assert_eq!(outcomes, [Status::Delivered, Status::Failed]);
    bus.forget("n", "a").await;
    assert!(later.next().await.is_some(), "what was in the queue still arrives");
    assert_eq!(later.next().await, None);
    bus.forget("m", "a").await;
    assert_eq!(bus.state.counts.subscriptions.get(), 1, "it does not stand for that one alone");
    drop((later, elsewhere));
    assert_eq!(bus.state.counts.subscriptions.get(), 0);
    assert!(bus.state.subscriptions().named.is_empty());
}

#[tokio::test]
async fn ten_thousand_share_ten_connections() {
    let (bus, _stopper) = bus(Settings::default());
    let receivers: Vec<_> =
        (0..10).map(|n| acknowledging_receiver(listen(&bus, &format!("r{n}-*")))).collect();
    let to: Vec<String> = (0..10_000).map(|n| format!("r{}-{n}", n % 10)).collect();
    let to: Vec<&str> = to.iter().map(String::as_str).collect();
    let outcomes = send(&bus, &to, Semantics::AtLeastOnce, 60 * SECOND).await;
    assert_eq!(outcomes.len(), 10_000);
    assert!(outcomes.iter().all(|one| one.status == Status::Delivered));
    // Ending the bus's subscriptions ends the receivers.
    let all = bus.state.subscriptions().table.group("n", names(&to), ReceiverScope::Known).groups;
    for group in all {
        group.subscription.end(&bus.state);
    }
    for receiver in receivers {
        let seen = receiver.await.unwrap();
        assert_eq!(seen.len(), 1, "one delivery for a thousand");
        assert_eq!(seen[0].1.len(), 1_000);
    }
}

/// Queues that nobody reads stay within the common limit, and readers continue to receive.
#[tokio::test(start_paused = true)]
async fn what_waits_for_all_connections_is_bounded() {
    const MOST: usize = 2_000;
    let (bus, _stopper) = bus(Settings { all_queue_bytes: MOST, ..Settings::default() });
    let dead: Vec<Listener> = ["d1", "d2"].map(|name| listen(&bus, name)).into();
    let mut live = listen(&bus, "live");
    let mut refused = 0;
    for _ in 0..MOST {
        let to = ["d1", "d2", "live"];
        let outcomes = send(&bus, &to, Semantics::AtMostOnce, SECOND).await;
        assert_eq!(outcomes[2].status, Status::Delivered);
        live.next_now().unwrap();
        refused += outcomes.iter().filter(|one| one.reason == Some("slow subscriber")).count();
        assert!(bus.state.queued.load(Ordering::Relaxed) <= MOST);
        if refused > 10 {
            break;
        }
    }
    assert!(refused > 10);
    drop(dead);
    assert_eq!(bus.state.queued.load(Ordering::Relaxed), 0, "their queues went with them");
}
