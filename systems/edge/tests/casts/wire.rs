//! Whoever speaks the protocol by hand, well or badly: counted, refused, and no harm to others.

use std::time::Instant;

use edge::cast::frame::{Cast, Frame, Hello};

use super::*;

/// A caster by hand.
struct Hand {
    stream: TcpStream,
    caster: u64,
}

impl Hand {
    fn connect(monitor: &Monitor, caster: u64) -> Self {
        let stream = TcpStream::connect(monitor.casts()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, caster }
    }

    fn hello(monitor: &Monitor, caster: u64) -> Self {
        let mut hand = Self::connect(monitor, caster);
        hand.say(&hand.greeting());
        // A welcome has 25 bytes.
        let mut welcome = [0; 25];
        hand.stream.read_exact(&mut welcome).unwrap();
        hand
    }

    fn greeting(&self) -> Vec<u8> {
        bytes(&Frame::Hello(Hello { caster: self.caster, base: Account::default(), name: "hand" }))
    }

    fn say(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    fn cast(&self, sequence: u64) -> Vec<u8> {
        let Self { caster, .. } = *self;
        bytes(&Frame::Cast(Cast { lane: 0, caster, sequence, sent_at: 1, payload: b"abc" }))
    }

    fn account(&self, cast: u64) -> Vec<u8> {
        bytes(&Frame::Account(self.caster, Account { cast, ..Account::default() }))
    }

    /// Reads until so many frames are acknowledged.
    fn until_taken(&mut self, taken: u64) {
        let mut answer = [0; 13];
        loop {
            self.stream.read_exact(&mut answer).unwrap();
            let told = u64::from_le_bytes(answer[5..].try_into().unwrap());
            assert!(told <= taken, "{told} of {taken}");
            if told == taken {
                return;
            }
        }
    }

    /// Reads until the monitor closes the connection.
    fn until_closed(&mut self) {
        let mut rest = Vec::new();
        // A reset is an end as well: what we sent was not read.
        let _ = self.stream.read_to_end(&mut rest);
    }
}

fn bytes(frame: &Frame<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.write(&mut bytes);
    bytes
}

/// How many connections ended for this reason.
fn ended(monitor: &Monitor, reason: &str) -> u64 {
    let metrics = monitor.get("/metrics");
    let line = format!("monitor_connections_ended_total{{reason=\"{reason}\"}} ");
    let value = metrics.as_str().unwrap().lines().find_map(|one| one.strip_prefix(&line));
    value.unwrap().parse().unwrap()
}

fn until_ended(monitor: &Monitor, reason: &str, times: u64) {
    let begun = Instant::now();
    while ended(monitor, reason) < times && begun.elapsed() < PATIENCE {
        thread::yield_now();
    }
    assert_eq!(ended(monitor, reason), times, "{reason}");
}

#[test]
fn duplicates_gaps_and_late_messages_are_told_apart() {
    let monitor = Monitor::start();
    let mut hand = Hand::hello(&monitor, 7);
    let sequences = [0, 1, 1, 5, 3, 3, 0, 6];
    for sequence in sequences {
        hand.say(&hand.cast(sequence));
    }
    hand.until_taken(8);
    let names = ["received", "duplicates", "out_of_order", "gaps", "missing", "lost", "unbalanced"];
    assert_eq!(monitor.seen().counts(names), [5, 3, 1, 1, 2, 2, 0]);
    // Seven were cast, two of them by its word not dropped: they are lost, and the account does not add up.
    hand.say(&hand.account(7));
    hand.until_taken(9);
    assert_eq!(monitor.seen().counts(names), [5, 3, 1, 1, 2, 2, 1]);
    drop(hand);
    until_ended(&monitor, "ended", 1);
    monitor.stop();
}

#[test]
fn what_is_no_frame_ends_its_connection_and_no_other() {
    let monitor = Monitor::with(Options::default().with("max_frame", "1KiB"));
    let mut other = Hand::hello(&monitor, 1);
    let long = [&1_025_u32.to_le_bytes()[..], &[0; 100]].concat();
    let bad = [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        long,
        vec![0; 4],
        vec![1, 0, 0, 0, 77],
        other.cast(0),
        other.greeting(),
    ];
    for (number, bad) in (0..).zip(bad) {
        let mut hand = Hand::hello(&monitor, 100 + number);
        hand.say(&hand.cast(0));
        hand.say(&bad);
        hand.until_closed();
        other.say(&other.cast(number));
        other.until_taken(number + 1);
    }
    until_ended(&monitor, "oversize", 2);
    until_ended(&monitor, "malformed", 4);
    // All that was whole before was counted.
    assert_eq!(monitor.seen().count("received"), 12);
    drop(other);
    monitor.stop();
}

#[test]
fn whoever_says_no_hello_in_time_or_does_not_go_on_is_left() {
    let monitor = Monitor::with(Options::default().with("read", "400ms").with("idle", "1h"));
    let mut other = Hand::hello(&monitor, 1);
    let mut silent = Hand::connect(&monitor, 2);
    silent.until_closed();
    let mut half = Hand::connect(&monitor, 3);
    half.say(&half.greeting()[..30]);
    half.until_closed();
    let mut within = Hand::hello(&monitor, 4);
    within.say(&within.cast(0)[..20]);
    within.until_closed();
    // A byte now and then is no progress.
    let mut drip = Hand::hello(&monitor, 5);
    let frame = [&600_u32.to_le_bytes()[..], &[2; 600]].concat();
    for byte in frame {
        thread::sleep(Duration::from_millis(1));
        if drip.stream.write_all(&[byte]).is_err() {
            break;
        }
    }
    until_ended(&monitor, "late", 4);
    other.say(&other.cast(0));
    other.until_taken(1);
    monitor.stop();
}

#[test]
fn a_silent_caster_is_left_after_a_while() {
    let monitor = Monitor::with(Options::default().with("idle", "100ms"));
    let mut hand = Hand::hello(&monitor, 1);
    hand.until_closed();
    until_ended(&monitor, "idle", 1);
    monitor.stop();
}

#[test]
fn a_later_connection_of_a_caster_takes_its_place() {
    let monitor = Monitor::start();
    let mut former = Hand::hello(&monitor, 1);
    former.say(&former.cast(0));
    former.until_taken(1);
    let mut later = Hand::hello(&monitor, 1);
    later.say(&later.cast(1));
    later.until_taken(2);
    former.say(&former.cast(1));
    former.until_closed();
    until_ended(&monitor, "superseded", 1);
    assert_eq!(monitor.seen().counts(["received", "duplicates", "senders"]), [2, 0, 1]);
    drop(later);
    monitor.stop();
}

#[test]
fn there_are_no_more_casters_and_connections_than_allowed() {
    let options = Options::default().with("max_senders", 2).with("max_casters", 3);
    let monitor = Monitor::with(options);
    let first = Hand::hello(&monitor, 1);
    let second = Hand::hello(&monitor, 2);
    let mut third = Hand::connect(&monitor, 3);
    third.say(&third.greeting());
    third.until_closed();
    until_ended(&monitor, "crowded", 1);
    // A caster that has gone gives way.
    drop(first);
    until_ended(&monitor, "ended", 1);
    let fourth = Hand::hello(&monitor, 4);
    let fifth = Hand::connect(&monitor, 5);
    let mut sixth = Hand::connect(&monitor, 6);
    sixth.until_closed();
    until_ended(&monitor, "turned_away", 1);
    assert_eq!(monitor.seen().count("senders"), 3);
    drop((second, fourth, fifth));
    monitor.stop();
}

#[test]
fn a_connection_that_ends_within_a_frame_is_broken() {
    let monitor = Monitor::start();
    let mut hand = Hand::hello(&monitor, 1);
    hand.say(&[&hand.cast(0)[..], &hand.cast(1)[..9]].concat());
    hand.until_taken(1);
    drop(hand);
    until_ended(&monitor, "broken", 1);
    assert_eq!(monitor.seen().count("received"), 1);
    monitor.stop();
}
