//! A monitor that stands still: answers wait for it where casts are told to block, and never otherwise.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use edge::cast::account::Account;
use edge::cast::frame::{self, Frame, LENGTH, Welcome};

use crate::fixture::{PATIENCE, TestProxy, Upstream};
use crate::times::reported;

/// Messages about each answer.
const EACH: u64 = 3;

/// The other end of a proxy's casts. It takes what comes while it is told to, and stands still otherwise.
struct Puppet {
    stream: TcpStream,
    input: Vec<u8>,
    /// Casts and accounts that it has read.
    taken: u64,
    /// Casts alone.
    received: u64,
    /// What the proxy last told of what it cast.
    account: Account,
}

impl Puppet {
    /// Accepts a proxy and greets it.
    fn greet(listener: &TcpListener) -> Self {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let account = Account::default();
        let mut puppet = Self { stream, input: Vec::new(), taken: 0, received: 0, account };
        while !puppet.take() {
            puppet.read();
        }
        puppet.say(&Frame::Welcome(Welcome { record: 1, taken: 0, longest: 1 << 20 }));
        puppet
    }

    /// Takes and acknowledges until the proxy has told that it cast so many.
    fn take_until(&mut self, cast: u64) {
        while self.account.cast < cast {
            self.read();
            while self.take() {}
            self.say(&Frame::Taken(self.taken));
        }
    }

    fn read(&mut self) {
        let mut bytes = [0; 4096];
        let read = self.stream.read(&mut bytes).unwrap();
        assert_ne!(read, 0, "the proxy has left");
        self.input.extend_from_slice(&bytes[..read]);
    }

    /// Whether a frame was whole.
    fn take(&mut self) -> bool {
        let Some(body) = frame::cut(&self.input, 1 << 20).unwrap() else { return false };
        let used = LENGTH + body.len();
        match Frame::read(body).unwrap() {
            Frame::Cast(_) => (self.taken, self.received) = (self.taken + 1, self.received + 1),
            Frame::Account(_, account) => (self.taken, self.account) = (self.taken + 1, account),
            Frame::Hello(hello) => assert_eq!(hello.name, "proxy"),
            other => panic!("{other:?}"),
        }
        self.input.drain(..used);
        true
    }

    fn say(&mut self, frame: &Frame<'_>) {
        let mut bytes = Vec::new();
        frame.write(&mut bytes);
        self.stream.write_all(&bytes).unwrap();
    }

    /// Whether all that was cast by what it was told of is accounted for.
    fn adds_up(&self) -> bool {
        self.received + self.account.all_dropped() == self.account.cast
    }
}

/// A proxy whose lane has room for one message, and that takes no more from it before what went is acknowledged.
struct Coupled {
    proxy: TestProxy,
    puppet: Puppet,
    to: String,
}

impl Coupled {
    fn start(upstream: &Upstream, is_blocking: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap().to_string();
        let each = EACH.to_string();
        let settings = [
            ("cast_to", to.as_str()),
            ("cast_messages", each.as_str()),
            ("cast_room_messages", "8"),
            ("cast_window", "1B"),
            ("cast_blocking", if is_blocking { "true" } else { "false" }),
        ];
        let proxy = TestProxy::with(upstream.address, &settings);
        Self { proxy, puppet: Puppet::greet(&listener), to }
    }

    fn figure(&self, name: &str) -> u64 {
        self.proxy.figure(&format!("proxy_casts_{name}{{to=\"{}\"}}", self.to))
    }
}

#[test]
fn a_blocking_answer_comes_once_the_monitor_reads_again() {
    let upstream = Upstream::always("200|=one");
    let mut coupled = Coupled::start(&upstream, true);
    // The first one, of a monitor that reads: a connection stands once it has all of its messages.
    thread::scope(|scope| {
        let asked = scope.spawn(|| coupled.proxy.ask("GET /"));
        coupled.puppet.take_until(EACH);
        assert_eq!(asked.join().unwrap().status, 200);
    });
    let reads_again = AtomicBool::new(false);
    let (proxy, to) = (&coupled.proxy, &coupled.to);
    let total = || proxy.figure(&format!("proxy_casts_total{{to=\"{to}\"}}"));
    let seen = thread::scope(|scope| {
        let asked = scope.spawn(|| {
            let seen = proxy.ask("GET /");
            assert!(reads_again.load(Ordering::SeqCst), "it came while the monitor stood still");
            seen
        });
        let end = Instant::now() + PATIENCE;
        while total() == EACH {
            assert!(Instant::now() < end, "nothing is cast");
        }
        // One waits and one may be under way; whoever casts the next one has not yet cast it.
        assert!(total() < 2 * EACH, "it did not wait");
        assert_eq!(proxy.figure("proxy_under_way"), 1);
        reads_again.store(true, Ordering::SeqCst);
        coupled.puppet.take_until(2 * EACH);
        asked.join().unwrap()
    });
    let (_, [whole, _, cast]) = reported(&seen);
    assert_eq!(seen.status, 200);
    assert!(cast > 0.0 && whole >= cast, "{}", seen.head);
    assert!(coupled.puppet.adds_up(), "{:?}", coupled.puppet.account);
}

#[test]
fn without_blocking_a_monitor_that_stands_still_costs_messages_and_no_answer() {
    const ANSWERS: u64 = 5;
    let upstream = Upstream::always("200|=one");
    let mut coupled = Coupled::start(&upstream, false);
    for _ in 0..ANSWERS {
        // Each comes although nobody reads.
        let seen = coupled.proxy.ask("GET /");
        assert_eq!((seen.status, reported(&seen).1[2].to_bits()), (200, 0), "{}", seen.head);
    }
    let cast = ANSWERS * EACH;
    let [total, dropped, taken, pending] =
        ["total", "dropped_total", "taken_total", "pending"].map(|name| coupled.figure(name));
    assert_eq!((total, taken, dropped + pending), (cast, 0, cast));
    assert!((1..=2).contains(&pending), "one waits, and one may be under way: {pending}");
    coupled.puppet.take_until(cast);
    assert!(coupled.puppet.adds_up(), "{:?}", coupled.puppet.account);
    assert_eq!(coupled.puppet.account.all_dropped(), dropped, "as the proxy counts them");
    assert_eq!(coupled.puppet.received, cast - dropped);
}
