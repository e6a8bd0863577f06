//! Monitors that are slow, stand still, or break off: nobody who casts waits, unless told to.

use std::pin::pin;

use edge::cast::frame::{self, Frame, LENGTH, Welcome};
use futures_util::FutureExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// The other end of a caster, which does only what it is told to.
struct Puppet {
    stream: TcpStream,
    input: Vec<u8>,
    /// Casts and accounts that it has read.
    read: u64,
    sequences: Vec<u64>,
    /// Whether the last of them was an account.
    is_told: bool,
}

impl Puppet {
    /// Accepts a caster and lets it go on after so many frames of this record.
    async fn welcome(listener: &TcpListener, record: u64, taken: u64) -> Self {
        let (stream, _) = listener.accept().await.unwrap();
        let mut puppet =
            Self { stream, input: Vec::new(), read: taken, sequences: Vec::new(), is_told: false };
        while puppet.next().is_none() {
            puppet.stream.read_buf(&mut puppet.input).await.unwrap();
        }
        puppet.say(&Frame::Welcome(Welcome { record, taken, longest: 1 << 20 })).await;
        puppet
    }

    async fn say(&mut self, frame: &Frame<'_>) {
        let mut bytes = Vec::new();
        frame.write(&mut bytes);
        self.stream.write_all(&bytes).await.unwrap();
    }

    fn next(&mut self) -> Option<()> {
        let body = frame::cut(&self.input, 1 << 20).unwrap()?.to_vec();
        self.input.drain(..LENGTH + body.len());
        match Frame::read(&body).unwrap() {
            Frame::Cast(cast) => {
                self.sequences.push(cast.sequence);
                (self.read, self.is_told) = (self.read + 1, false);
            }
            Frame::Account(..) => (self.read, self.is_told) = (self.read + 1, true),
            Frame::Hello(hello) => assert_eq!(hello.name, "a test"),
            other => panic!("{other:?}"),
        }
        Some(())
    }

    /// Reads until it has so many casts, and the account behind them.
    async fn read_casts(&mut self, casts: usize) {
        while self.sequences.len() < casts || !self.is_told {
            if self.next().is_none() {
                assert_ne!(self.stream.read_buf(&mut self.input).await.unwrap(), 0);
            }
        }
    }

    async fn acknowledge(&mut self) {
        self.say(&Frame::Taken(self.read)).await;
    }
}

async fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// Room for four messages that wait, and for as many as went together under way.
fn tight(address: &str) -> Settings {
    Settings { room_messages: 4, window_bytes: 1, ..towards(&[address]) }
}

/// Casts until one has to wait.
async fn fill(caster: &Caster) -> u64 {
    for cast in 0..1_000 {
        if caster.cast_waiting(b"message").now_or_never().is_none() {
            return cast;
        }
        tokio::task::yield_now().await;
    }
    panic!("there is room for everything");
}

#[tokio::test]
async fn who_is_told_to_waits_for_room_and_loses_nothing() {
    let (listener, address) = listener().await;
    let caster = Caster::new(&tight(&address));
    let (mut puppet, ()) =
        within(async { tokio::join!(Puppet::welcome(&listener, 1, 0), caster.connected()) }).await;
    let filled = fill(&caster).await;
    assert!(filled >= 4, "four wait: {filled}");
    assert_eq!(caster.accounts()[0].account.cast, filled, "who waits has not yet cast");
    // Who does not wait is dropped.
    caster.cast(b"message");
    assert_eq!(dropped(&caster.accounts()[0], Why::Full), 1);
    {
        let mut waiting = pin!(caster.cast_waiting(b"message"));
        assert!(waiting.as_mut().now_or_never().is_none());
        puppet.read_casts(0).await;
        puppet.acknowledge().await;
        within(waiting).await;
    }
    assert_eq!(caster.accounts()[0].account, Account { cast: filled + 2, dropped: [1, 0, 0, 0] });
}

#[tokio::test]
async fn who_waits_is_let_go_when_the_monitor_goes() {
    let (listener, address) = listener().await;
    let settings = Settings { blocking: true, ..tight(&address) };
    let caster = Caster::new(&settings);
    let (puppet, ()) =
        within(async { tokio::join!(Puppet::welcome(&listener, 1, 0), caster.connected()) }).await;
    let filled = fill(&caster).await;
    let mut waiting = pin!(caster.cast_as_set(b"message"));
    assert!(waiting.as_mut().now_or_never().is_none());
    drop((puppet, listener));
    within(waiting).await;
    let account = caster.accounts().remove(0);
    assert_eq!((account.account.cast, dropped(&account, Why::Disconnected)), (filled + 1, 1));
    assert_eq!((account.pending, account.is_connected), (filled, false));
}

#[tokio::test]
async fn what_was_not_acknowledged_is_sent_again_from_where_the_monitor_was() {
    let (listener, address) = listener().await;
    let caster = Caster::new(&towards(&[&address]));
    (0..5).for_each(|_| caster.cast(b"message"));
    let mut puppet = within(Puppet::welcome(&listener, 9, 0)).await;
    within(puppet.read_casts(5)).await;
    assert_eq!(puppet.sequences, [0, 1, 2, 3, 4]);
    drop(puppet);
    // It has counted three of them, of which the caster knows nothing.
    let mut puppet = within(Puppet::welcome(&listener, 9, 3)).await;
    within(puppet.read_casts(2)).await;
    assert_eq!(puppet.sequences, [3, 4]);
    puppet.acknowledge().await;
    within(caster.settled()).await;
    assert_eq!((rested(&caster).taken, rested(&caster).connections), (5, 2));
}

#[tokio::test]
async fn another_record_gets_what_the_former_one_did_not_acknowledge() {
    let (listener, address) = listener().await;
    let caster = Caster::new(&towards(&[&address]));
    (0..5).for_each(|_| caster.cast(b"message"));
    let mut puppet = within(Puppet::welcome(&listener, 9, 0)).await;
    within(puppet.read_casts(5)).await;
    puppet.say(&Frame::Taken(2)).await;
    until(|| caster.accounts()[0].taken >= 2).await;
    drop(puppet);
    let mut puppet = within(Puppet::welcome(&listener, 10, 0)).await;
    within(puppet.read_casts(3)).await;
    assert_eq!(puppet.sequences, [2, 3, 4]);
    puppet.acknowledge().await;
    within(caster.settled()).await;
    assert_eq!(rested(&caster).taken, 5);
}

#[tokio::test]
async fn a_monitor_that_lies_or_takes_less_than_we_send_is_left() {
    let (listener, address) = listener().await;
    let caster = Caster::new(&towards(&[&address]));
    caster.cast(b"message");
    let mut puppet = within(Puppet::welcome(&listener, 9, 0)).await;
    within(puppet.read_casts(1)).await;
    puppet.say(&Frame::Taken(1_000)).await;
    until(|| !caster.accounts()[0].is_connected).await;
    let trouble = caster.accounts().remove(0).trouble.unwrap();
    assert!(trouble.contains("acknowledges what it was not sent"), "{trouble}");
    let monitor = Monitor::with(Options::default().with("max_frame", "256B"));
    let caster = Caster::new(&towards(&[&monitor.casts()]));
    let told = || caster.accounts().remove(0).trouble;
    until(|| told().is_some()).await;
    assert!(told().unwrap().contains("it takes frames of 256 bytes"), "{:?}", told());
    monitor.stop();
}

#[tokio::test]
async fn a_monitor_that_stands_still_costs_messages_and_no_time() {
    let monitor = Monitor::with(Options::default().with("slow", "1h"));
    let settings =
        Settings { window_bytes: 10_000, room_bytes: 10_000, ..towards(&[&monitor.casts()]) };
    let caster = Caster::new(&settings);
    within(caster.connected()).await;
    // It has read the hello, and nothing after it: what is beyond room and window is dropped.
    for _ in 0..1_000 {
        (0..10).for_each(|_| caster.cast(&[0; 70]));
        tokio::task::yield_now().await;
    }
    let account = caster.accounts().remove(0);
    assert_eq!((account.taken, account.account.cast), (0, 10_000));
    assert!(account.pending <= 400, "three times 10,000 bytes at most: {account:?}");
    assert_eq!(account.pending + dropped(&account, Why::Full), 10_000);
    let ended = within(caster.finish(Duration::ZERO)).await.remove(0);
    assert_eq!((ended.pending, dropped(&ended, Why::Unsent)), (0, account.pending));
    monitor.stop();
}

/// Slow, and nothing else: all that it is sent arrives.
#[tokio::test]
async fn a_slow_monitor_agrees_in_the_end() {
    let monitor = Monitor::with(Options::default().with("slow", "1ms"));
    let settings =
        Settings { window_bytes: 10_000, room_bytes: 10_000, ..towards(&[&monitor.casts()]) };
    let caster = Caster::new(&settings);
    within(caster.connected()).await;
    for _ in 0..1_000 {
        (0..10).for_each(|_| caster.cast(&[0; 70]));
        tokio::task::yield_now().await;
    }
    within(caster.settled()).await;
    monitor.seen().adds_up(&rested(&caster).account);
    monitor.stop();
}
