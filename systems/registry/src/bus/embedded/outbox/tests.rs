//! Stored deliveries, from the view of the bus's users.

use futures_util::FutureExt;
use serving::stop::Stop;
use tokio::task::JoinHandle;

use std::path::Path;

use super::*;
use crate::bus::embedded::{Embedded, Listener, Settings};
use crate::bus::sample::sample;
use crate::bus::temp_folder::{self, TempFolder};
use crate::bus::{Bus, Counts, Outcome, Status};
use crate::message::{self, Acknowledgement, Semantics};
use crate::test_disk::TestDisk;

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(100);

/// A bus over a disk.
fn over(disk: &TestDisk) -> Embedded {
    let settings = Settings { longest_retry: SHORT, ..Settings::default() };
    let (coordinator, stop) = (format!("c{}", temp_folder::number()), Stop::pair().1);
    Embedded::over(disk.opener(), &coordinator, settings, Counts::default(), stop).unwrap()
}

/// A bus over a file; like every start, with a coordinator name that was never used.
fn open(path: &Path, settings: Settings) -> Embedded {
    let settings = Settings { longest_retry: SHORT, ..settings };
    let stop = Stop::pair().1;
    let coordinator = format!("c{}", temp_folder::number());
    Embedded::open(path, &coordinator, settings, Counts::default(), stop).unwrap()
}

fn listen(bus: &Embedded, pattern: &str, name: &str) -> Listener {
    bus.listen("n", pattern.parse().unwrap(), Some(name))
}

fn send(bus: &Embedded, to: &str, semantics: Semantics, timeout: Duration) -> JoinHandle<Status> {
    let (bus, to) = (bus.clone(), vec![to.into()]);
    tokio::spawn(
        async move { bus.multicast(sample("hello"), to, semantics, timeout).await[0].status },
    )
}

async fn send_at_least_once(bus: &Embedded, to: &str) -> Status {
    send(bus, to, Semantics::AtLeastOnce, LONG).await.unwrap()
}

/// The outcome of a delivery that is settled at once, long before its deadline.
async fn at_once(bus: &Embedded, to: &str) -> Outcome {
    let multicast =
        bus.multicast(sample("hello"), vec![to.into()], Semantics::AtLeastOnce, 10 * LONG);
    tokio::time::timeout(LONG, multicast).await.expect("nothing is waited for").remove(0)
}

/// The next delivery's id and its only recipient.
async fn next(listener: &mut Listener) -> (String, String) {
    let bytes = listener.next().await.unwrap();
    let (header, payload) = message::decode(&bytes).unwrap();
    assert_eq!(payload, b"hello");
    assert_eq!(header.ack, Some(""));
    (header.delivery.to_owned(), header.to[0].to_string())
}

fn ack(id: &str) -> Acknowledgement {
    Acknowledgement { ack: vec![id.to_owned()] }
}

fn waiting(bus: &Embedded) -> usize {
    let outbox = bus.state.outbox.as_ref().unwrap();
    let waiting = outbox.waiting();
    let taken: usize = waiting.backlogs.values().map(|backlog| backlog.taken.0).sum();
    assert_eq!(taken, waiting.ids.len());
    taken
}

#[tokio::test]
async fn what_must_arrive_waits_for_who_is_away() {
    let folder = TempFolder::new();
    let bus = open(&folder.0.join("outbox"), Settings::default());
    assert_eq!(send_at_least_once(&bus, "a1").await, Status::Failed, "nobody was ever known");
    drop(listen(&bus, "a*", "r"));
    drop(bus.listen("n", "b*".parse().unwrap(), None));
    for name in ["a1", "a2", "a3"] {
        assert_eq!(send_at_least_once(&bus, name).await, Status::Pending);
    }
    assert_eq!(send_at_least_once(&bus, "b1").await, Status::Failed, "it had no name");
    let send_once = send(&bus, "a1", Semantics::AtMostOnce, LONG);
    assert_eq!(send_once.await.unwrap(), Status::Failed);
    let mut back = listen(&bus, "a*", "r");
    let mut ids = Vec::new();
    for expected in ["a1", "a2", "a3"] {
        let (id, to) = next(&mut back).await;
        assert_eq!(to, expected, "in order");
        ids.push(id);
    }
    assert_eq!(back.acknowledge(&ack(&ids[0])), 1);
    assert_eq!(back.acknowledge(&ack(&ids[0])), 0, "a duplicate");
    let (again, _) = next(&mut back).await;
    assert!(ids[1..].contains(&again), "what is not acknowledged comes again under its id");
    for id in &ids[1..] {
        assert_eq!(back.acknowledge(&ack(id)), 1);
    }
    assert_eq!(waiting(&bus), 0);
}

#[tokio::test]
async fn what_is_not_acknowledged_in_time_is_stored_and_comes_again() {
    let folder = TempFolder::new();
    let bus = open(&folder.0.join("outbox"), Settings::default());
    let mut receiver = listen(&bus, "a", "r");
    let sent = send(&bus, "a", Semantics::AtLeastOnce, 15 * SHORT);
    let (id, _) = next(&mut receiver).await;
    assert_eq!(sent.await.unwrap(), Status::Pending);
    assert_eq!(next(&mut receiver).await.0, id);
    assert_eq!(receiver.acknowledge(&ack(&id)), 1);
    assert_eq!(waiting(&bus), 0);
    // If it is acknowledged in time, nothing is stored.
    let sent = send(&bus, "a", Semantics::AtLeastOnce, LONG);
    let (id, _) = next(&mut receiver).await;
    receiver.acknowledge(&ack(&id));
    assert_eq!(sent.await.unwrap(), Status::Delivered);
    assert_eq!(waiting(&bus), 0);
}

#[tokio::test]
async fn whatever_was_told_pending_is_there_after_a_kill() {
    let folder = TempFolder::new();
    let (file, left) = (folder.0.join("outbox"), folder.0.join("left"));
    let bus = open(&file, Settings::default());
    drop(listen(&bus, "a*", "r"));
    let sent: Vec<_> =
        (0..200).map(|n| send(&bus, &format!("a{n}"), Semantics::AtLeastOnce, LONG)).collect();
    for sent in sent {
        assert_eq!(sent.await.unwrap(), Status::Pending);
    }
    // The file as a kill leaves it: copied while it is open.
    std::fs::copy(&file, &left).unwrap();
    let after = open(&left, Settings::default());
    assert_eq!(waiting(&after), 200);
    assert_eq!(send_at_least_once(&after, "a200").await, Status::Pending, "its place is kept");
    let mut back = listen(&after, "a*", "r");
    let mut seen = BTreeSet::new();
    while waiting(&after) > 0 {
        let (id, to) = next(&mut back).await;
        assert_eq!(back.acknowledge(&ack(&id)), 1);
        assert!(seen.insert(to), "each once");
    }
    assert_eq!(seen.len(), 201);
    drop((back, after));
    let later = open(&left, Settings::default());
    assert_eq!(waiting(&later), 0, "what was acknowledged is gone from the file");
}

#[tokio::test]
async fn nobody_acknowledges_what_waits_for_others() {
    let folder = TempFolder::new();
    let bus = open(&folder.0.join("outbox"), Settings::default());
    let mut receivers = Vec::new();
    for name in ["a", "b"] {
        drop(listen(&bus, name, name));
        assert_eq!(send_at_least_once(&bus, name).await, Status::Pending);
    }
    for name in ["a", "b"] {
        let mut back = listen(&bus, name, name);
        let (id, _) = next(&mut back).await;
        receivers.push((back, id));
    }
    assert_eq!(receivers[0].0.acknowledge(&ack(&receivers[1].1)), 0);
    assert_eq!(bus.acknowledge("elsewhere", &ack(&receivers[1].1)), 0);
    assert_eq!(waiting(&bus), 2);
    assert_eq!(bus.acknowledge("n", &ack(&receivers[1].1)), 1);
    assert_eq!(receivers[0].0.acknowledge(&ack(&receivers[0].1)), 1);
    assert_eq!(waiting(&bus), 0);
}

#[tokio::test]
async fn what_waits_for_one_is_bounded() {
    let folder = TempFolder::new();
    let settings = Settings { stored_receivers: 2, stored_deliveries: 2, ..Settings::default() };
    let bus = open(&folder.0.join("outbox"), settings);
    for name in ["a", "b"] {
        drop(listen(&bus, name, name));
    }
    for expected in [Status::Pending, Status::Pending, Status::Failed] {
        assert_eq!(at_once(&bus, "a").await.status, expected);
    }
    assert_eq!(send_at_least_once(&bus, "b").await, Status::Pending, "another's is not full");
    drop(listen(&bus, "c", "c"));
    assert_eq!(
        send_at_least_once(&bus, "c").await,
        Status::Failed,
        "there is no place for a third"
    );
}

#[tokio::test]
async fn what_waits_for_all_is_bounded_and_the_bound_outlives_a_restart() {
    const MOST: usize = 1_000;
    let folder = TempFolder::new();
    let file = folder.0.join("outbox");
    let settings = || Settings { all_stored_bytes: MOST, ..Settings::default() };
    let bus = open(&file, settings());
    for name in ["a", "b", "c"] {
        drop(listen(&bus, name, name));
    }
    let mut pending = 0;
    let refused = loop {
        let outcomes = at_once(&bus, ["a", "b"][pending % 2]).await;
        if outcomes.status != Status::Pending {
            break outcomes;
        }
        pending += 1;
        assert!(bus.state.outbox.as_ref().unwrap().waiting().taken <= MOST);
    };
    assert!(pending >= 2, "{pending}");
    assert_eq!((refused.status, refused.reason), (Status::Failed, Some("no room to store it")));
    assert_eq!(at_once(&bus, "c").await.status, Status::Failed, "others take its room");
    drop(bus);
    let bus = open(&file, settings());
    assert_eq!(at_once(&bus, "c").await.status, Status::Failed, "what is in the file counts");
    // An acknowledgement frees space, and so does forgetting a receiver.
    let mut back = listen(&bus, "a", "a");
    let (id, _) = next(&mut back).await;
    assert_eq!(back.acknowledge(&ack(&id)), 1);
    assert_eq!(at_once(&bus, "c").await.status, Status::Pending);
    assert_eq!(at_once(&bus, "c").await.status, Status::Failed);
    bus.forget("n", "b").await;
    assert_eq!(at_once(&bus, "c").await.status, Status::Pending);
    drop(back);
    for name in ["a", "c"] {
        bus.forget("n", name).await;
    }
    assert_eq!(bus.state.outbox.as_ref().unwrap().waiting().taken, 0);
}

/// Payloads of the largest size, which have the largest overhead, three times: acknowledged
/// deliveries make space for new ones.
#[tokio::test]
async fn the_file_is_at_most_five_times_what_may_wait_in_it() {
    const MOST: usize = 8 << 20;
    let folder = TempFolder::new();
    let file = folder.0.join("outbox");
    let bus = open(&file, Settings { all_stored_bytes: MOST, ..Settings::default() });
    for _ in 0..3 {
        drop(listen(&bus, "a", "a"));
        let large = || sample(vec![7; 256 << 10]);
        let mut stored = 0;
        loop {
            let to = vec!["a".into()];
            let outcomes = bus.multicast(large(), to, Semantics::AtLeastOnce, LONG).await;
            if outcomes[0].status != Status::Pending {
                break;
            }
            stored += 1;
        }
        assert_eq!(stored, 31);
        let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
        assert!(length <= 5 * MOST, "{length} bytes for {MOST}");
        let mut back = listen(&bus, "a", "a");
        while waiting(&bus) > 0 {
            let bytes = back.next().await.unwrap();
            back.acknowledge(&ack(message::decode(&bytes).unwrap().0.delivery));
        }
    }
}

/// The delivery was sent and may have arrived: failing to store it is no failure of the delivery.
#[tokio::test]
async fn what_was_sent_and_finds_no_room_is_a_time_out() {
    let folder = TempFolder::new();
    let settings = Settings { all_stored_bytes: 1, ..Settings::default() };
    let bus = open(&folder.0.join("outbox"), settings);
    let mut receiver = listen(&bus, "a", "a");
    let sent = send(&bus, "a", Semantics::AtLeastOnce, SHORT);
    next(&mut receiver).await;
    assert_eq!(sent.await.unwrap(), Status::Timeout);
}

#[tokio::test]
async fn what_is_ended_leaves_nothing_behind() {
    let folder = TempFolder::new();
    let file = folder.0.join("outbox");
    let bus = open(&file, Settings::default());
    for name in ["a", "b", "c"] {
        drop(listen(&bus, name, name));
        assert_eq!(send_at_least_once(&bus, name).await, Status::Pending);
    }
    bus.forget("n", "a").await;
    assert!(bus.unsubscribe("n", "b"));
    assert!(!bus.unsubscribe("n", "b") && !bus.unsubscribe("elsewhere", "c"));
    for (name, expected) in [("a", Status::Failed), ("b", Status::Failed), ("c", Status::Pending)] {
        assert_eq!(send_at_least_once(&bus, name).await, expected);
    }
    drop(bus);
    let later = open(&file, Settings::default());
    assert_eq!(waiting(&later), 2);
    assert_eq!(send_at_least_once(&later, "a").await, Status::Failed);
}

#[tokio::test]
async fn a_file_that_is_none_is_refused() {
    let folder = TempFolder::new();
    let file = folder.0.join("outbox");
    std::fs::write(&file, "something else").unwrap();
    let stop = Stop::pair().1;
    let refused = Embedded::open(&file, "c1", Settings::default(), Counts::default(), stop);
    assert_eq!(refused.unwrap_err().code, crate::api_error::Code::Unavailable);
    assert_eq!(std::fs::read(&file).unwrap(), b"something else");
}

/// Starts a multicast to `a`, up to the point where its delivery is being stored.
async fn being_stored(bus: &Embedded) -> std::pin::Pin<Box<dyn Future<Output = Vec<Outcome>>>> {
    let bus = bus.clone();
    let mut sending = Box::pin(async move {
        bus.multicast(sample("hello"), vec!["a".into()], Semantics::AtLeastOnce, 10 * LONG).await
    });
    assert!(sending.as_mut().now_or_never().is_none());
    // On this single thread the other task now runs until it waits for the disk.
    tokio::task::yield_now().await;
    sending
}

#[tokio::test]
async fn what_was_begun_to_be_stored_is_stored_when_its_sender_goes_away() {
    let folder = TempFolder::new();
    let bus = open(&folder.0.join("outbox"), Settings::default());
    drop(listen(&bus, "a", "r"));
    drop(being_stored(&bus).await);
    let mut back = listen(&bus, "a", "r");
    let delivery = tokio::time::timeout(LONG, next(&mut back)).await;
    let (id, _) = delivery.expect("nothing of it is lost by halves");
    assert_eq!(back.acknowledge(&ack(&id)), 1);
    assert_eq!(waiting(&bus), 0);
}

#[tokio::test]
async fn what_was_for_a_receiver_forgotten_meanwhile_is_not_its_namesakes() {
    let folder = TempFolder::new();
    let bus = open(&folder.0.join("outbox"), Settings::default());
    drop(listen(&bus, "a", "r"));
    let sending = being_stored(&bus).await;
    bus.forget("n", "a").await;
    drop(listen(&bus, "a", "r"));
    assert_eq!(waiting(&bus), 0);
    let outcomes = tokio::time::timeout(LONG, sending).await.expect("nothing is waited for");
    assert_eq!((outcomes[0].status, outcomes[0].reason), (Status::Failed, Some("no subscriber")));
    assert_eq!(waiting(&bus), 0);
    assert_eq!(send_at_least_once(&bus, "a").await, Status::Pending, "its room is its own");
    assert_eq!(waiting(&bus), 1);
}

/// While the disk is full, nothing is reported as pending. Changes of receivers meanwhile are
/// written when there is space again, so that a restart finds them.
#[tokio::test]
async fn a_full_disk_stores_nothing_and_is_used_again_when_it_has_room() {
    let disk = TestDisk::default();
    let bus = over(&disk);
    for name in ["a", "b"] {
        drop(listen(&bus, name, name));
        assert_eq!(send_at_least_once(&bus, name).await, Status::Pending);
    }
    let mut back = listen(&bus, "a", "a");
    let (id, _) = next(&mut back).await;
    disk.fill(true);
    drop(listen(&bus, "c", "c"));
    for _ in 0..3 {
        let outcomes = at_once(&bus, "c").await;
        assert_eq!(
            (outcomes.status, outcomes.reason),
            (Status::Failed, Some("the bus could not store it"))
        );
    }
    assert_eq!(back.acknowledge(&ack(&id)), 1);
    bus.forget("n", "b").await;
    disk.fill(false);
    let again = async { while send_at_least_once(&bus, "c").await != Status::Pending {} };
    tokio::time::timeout(LONG, again).await.expect("the file is opened again");
    assert_eq!(waiting(&bus), 1);
    drop((back, bus));
    let later = over(&disk);
    assert_eq!(waiting(&later), 1, "what was acknowledged or forgotten is gone");
    assert_eq!(next(&mut listen(&later, "c", "c")).await.1, "c");
    assert_eq!(send_at_least_once(&later, "b").await, Status::Failed);
}
