use super::*;
use crate::cast::account::Account;
use crate::cast::frame::{Cast, Hello};
use crate::monitor::{ledger, recent};

fn connection() -> Connection {
    let recent = recent::Bounds { bytes: 1000, messages: 10 };
    let bounds = ledger::Bounds { senders: 4, longest_frame: 300, recent };
    let terms = Terms {
        connections: 1,
        longest_frame: 300,
        within: Duration::from_secs(3),
        idle: Duration::from_secs(5),
        slow: Duration::ZERO,
    };
    Connection::new(1, terms, Shared::new(Ledger::new(bounds)))
}

impl Connection {
    fn hears(&mut self, bytes: &[u8]) -> Result<(), End> {
        self.input[self.filled..self.filled + bytes.len()].copy_from_slice(bytes);
        self.filled += bytes.len();
        self.count()
    }

    fn received(&self) -> u64 {
        self.ledger.lock().observed().received
    }
}

fn written(frames: &[Frame<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frames.iter().for_each(|frame| frame.write(&mut bytes));
    bytes
}

fn hello() -> Frame<'static> {
    Frame::Hello(Hello { caster: 7, base: Account::default(), name: "raw" })
}

fn cast(sequence: u64) -> Frame<'static> {
    Frame::Cast(Cast { lane: 0, caster: 7, sequence, sent_at: 1, payload: b"payload" })
}

fn conversation() -> Vec<u8> {
    let account = Account { cast: 3, dropped: [1, 0, 0, 0] };
    written(&[hello(), cast(0), cast(2), Frame::Account(7, account)])
}

#[tokio::test]
async fn frames_count_once_wherever_a_read_ends() {
    let bytes = conversation();
    for at in 0..=bytes.len() {
        let mut connection = connection();
        connection.hears(&bytes[..at]).unwrap();
        connection.hears(&bytes[at..]).unwrap();
        assert_eq!((connection.received(), connection.taken, connection.filled), (2, 3, 0), "{at}");
        let observed = connection.ledger.lock().observed();
        assert_eq!((observed.lost, &observed.detail["unbalanced"]), (1, &0.into()), "{at}");
    }
    let mut connection = connection();
    for byte in bytes {
        connection.hears(&[byte]).unwrap();
    }
    assert_eq!((connection.received(), connection.taken), (2, 3));
}

#[tokio::test]
async fn what_was_whole_before_a_bad_frame_is_counted() {
    let bad = [
        (vec![0, 0, 0, 0], End::Malformed),
        (vec![1, 0, 0, 0, 99], End::Malformed),
        (vec![45, 1, 0, 0], End::Oversize),
        (written(&[hello()]), End::Malformed),
    ];
    for (bytes, end) in bad {
        let mut connection = connection();
        let all = [conversation(), bytes].concat();
        assert_eq!(connection.hears(&all), Err(end), "{all:?}");
        assert_eq!(connection.received(), 2);
    }
    assert_eq!(connection().hears(&written(&[cast(0)])), Err(End::Malformed), "before a hello");
}

#[tokio::test]
async fn a_frame_that_has_begun_must_end_in_time_and_silence_may_last_longer() {
    let bytes = conversation();
    let mut connection = connection();
    let begun = connection.since;
    assert_eq!(
        (connection.deadline() - begun, connection.overdue()),
        (connection.terms.within, End::Late)
    );
    connection.hears(&bytes[..10]).unwrap();
    assert_eq!(
        (connection.deadline() - begun, connection.overdue()),
        (connection.terms.within, End::Late)
    );
    connection.hears(&bytes[10..]).unwrap();
    let since = connection.since;
    assert_eq!(
        (connection.deadline() - since, connection.overdue()),
        (connection.terms.idle, End::Idle)
    );
    // Byte after byte is no progress.
    for byte in &written(&[cast(3)])[..20] {
        connection.hears(&[*byte]).unwrap();
        assert_eq!(
            (connection.deadline() - since, connection.overdue()),
            (connection.terms.within, End::Late)
        );
    }
}
