//! Both sides agree on every message, however many threads, casters and monitors there are, and whoever comes late.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpSocket;

use super::*;

/// A place that is kept from others, and where nobody listens until a monitor comes.
fn kept(place: &str) -> (TcpSocket, String) {
    let place: SocketAddr = place.parse().unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(place).unwrap();
    let address = socket.local_addr().unwrap().to_string();
    (socket, address)
}

#[tokio::test]
async fn what_has_room_is_received_and_the_rest_is_dropped_for_its_reason() {
    let monitor = Monitor::start();
    let settings =
        Settings { room_messages: 10, longest_frame: 300, ..towards(&[&monitor.casts()]) };
    let caster = Caster::new(&settings);
    within(caster.connected()).await;
    // Nothing is carried before this task waits: ten have room.
    for _ in 0..25 {
        caster.cast(b"message");
    }
    caster.cast(&[0; 300]);
    within(caster.settled()).await;
    let account = rested(&caster);
    assert_eq!((account.account.cast, account.taken), (26, 10));
    assert_eq!((dropped(&account, Why::Full), dropped(&account, Why::Oversize)), (15, 1));
    let seen = monitor.seen();
    seen.adds_up(&account.account);
    assert_eq!(seen.counts(["missing", "gaps", "bytes"]), [0, 0, 70], "nothing came after them");
    caster.cast(b"message");
    within(caster.settled()).await;
    let seen = monitor.seen();
    seen.adds_up(&rested(&caster).account);
    assert_eq!(seen.counts(["missing", "gaps", "senders"]), [16, 1, 1]);
    monitor.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_and_casters_and_monitors_agree() {
    let monitors = [Monitor::start(), Monitor::start()];
    let addresses = monitors.each_ref().map(Monitor::casts);
    let settings = Settings {
        lanes: 3,
        // Little room, so that some is dropped, whichever thread is faster.
        room_bytes: 20_000,
        ..towards(&addresses.each_ref().map(String::as_str))
    };
    let casters = [(); 2].map(|()| Arc::new(Caster::new(&settings)));
    let threads: Vec<_> = casters
        .iter()
        .flat_map(|caster| [Arc::clone(caster), Arc::clone(caster)])
        .map(|caster| {
            thread::spawn(move || (0..10_000_u32).for_each(|n| caster.cast(&n.to_le_bytes())))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    for caster in &casters {
        within(caster.settled()).await;
    }
    for (place, monitor) in monitors.iter().enumerate() {
        let mut both = Account::default();
        for caster in &casters {
            let account = caster.accounts().remove(place);
            assert_eq!((account.account.cast, account.pending), (20_000, 0));
            both.add(&account.account);
        }
        let seen = monitor.seen();
        seen.adds_up(&both);
        assert_eq!(seen.counts(["senders", "out_of_order"]), [2, 0]);
    }
    monitors.into_iter().for_each(Monitor::stop);
}

#[tokio::test]
async fn what_was_cast_before_the_monitor_came_is_kept_as_far_as_there_is_room() {
    let (_place, address) = kept("127.7.0.1:0");
    let caster = Caster::new(&Settings { room_messages: 10, ..towards(&[&address]) });
    (0..25).for_each(|_| caster.cast(b"early"));
    let monitor = Monitor::at(&address);
    within(caster.settled()).await;
    let account = rested(&caster);
    assert_eq!((account.taken, dropped(&account, Why::Disconnected)), (10, 15));
    monitor.seen().adds_up(&account.account);
    monitor.stop();
}

#[tokio::test]
async fn a_monitor_that_is_started_again_counts_what_comes_from_then_on() {
    let former = Monitor::at("127.7.0.2:0");
    let address = former.casts();
    let caster = Caster::new(&Settings { room_messages: 10, ..towards(&[&address]) });
    within(caster.connected()).await;
    (0..12).for_each(|_| caster.cast(b"first"));
    within(caster.settled()).await;
    let first = rested(&caster).account;
    former.seen().adds_up(&first);
    former.stop();
    until(|| !caster.accounts()[0].is_connected).await;
    (0..15).for_each(|_| caster.cast(b"second"));
    let monitor = Monitor::at(&address);
    within(caster.settled()).await;
    let all = rested(&caster).account;
    assert_eq!(all, Account { cast: 27, dropped: [2, 5, 0, 0] });
    monitor.seen().adds_up(&all.since(&first).unwrap());
    assert_eq!(caster.accounts()[0].connections, 2);
    monitor.stop();
}

#[tokio::test]
async fn the_end_waits_for_what_is_under_way_and_drops_what_comes_after() {
    let monitor = Monitor::start();
    let caster = Caster::new(&towards(&[&monitor.casts()]));
    (0..100).for_each(|_| caster.cast(b"message"));
    let account = within(caster.finish(PATIENCE)).await.remove(0);
    assert_eq!((account.taken, account.account.cast, account.pending), (100, 100, 0));
    monitor.seen().adds_up(&account.account);
    caster.cast(b"late");
    assert_eq!(dropped(&rested(&caster), Why::Unsent), 1);
    let again = within(caster.finish(PATIENCE)).await.remove(0);
    assert_eq!(again, rested(&caster));
    monitor.stop();
}

#[tokio::test]
async fn an_end_without_a_monitor_drops_what_waits() {
    let caster = Caster::new(&towards(&["127.0.0.1:1"]));
    (0..7).for_each(|_| caster.cast(b"message"));
    let account = within(caster.finish(Duration::ZERO)).await.remove(0);
    assert_eq!((account.taken, dropped(&account, Why::Unsent), account.pending), (0, 7, 0));
}
