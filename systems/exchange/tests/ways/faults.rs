//! What comes of producers that are slow, crowded, gone or none, over HTTP and the channel; those
//! of the Unix socket are with its frames.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use exchange::checksum;
use exchange::failure::Failure;
use exchange::prepared::{NONCE_AT, Prepared, patch};
use exchange::records::Records;
use exchange::request::DataRequest;
use exchange::transport::Transport;
use exchange::transports::{Http, Shm, Unix};
use serving::options::Options;
use shm_channel::{AnswerBuffer, CRC32, Checksum, Producer, Reply, Settings};

use super::{PATIENCE, TempFolder, TestProducer, bytes, eventually, fetch};

const SHORT: Duration = Duration::from_millis(20);

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let folder = TempFolder::new("nobody");
    let nobody = ([127, 0, 0, 1], 1).into();
    let ask = bytes(1_024, 1);
    let path = folder.file("socket");
    let failures = [
        Http::new(nobody, 1).fetch(&ask, PATIENCE).await.unwrap_err(),
        Unix::new(&path, 1).fetch(&ask, PATIENCE).await.unwrap_err(),
        Shm::new(&path, Duration::ZERO).fetch(&ask, PATIENCE).await.unwrap_err(),
    ];
    assert_eq!(failures.map(|failure| failure.kind()), ["unreachable"; 3]);
}

/// The payload for a question, and its checksum.
fn right(ask: DataRequest) -> (Vec<u8>, u32) {
    let prepared = Prepared::new(0, ask.what, &mut Records::new(1));
    let mut payload = prepared.bytes().to_vec();
    patch(&mut payload, ask.nonce);
    let checksum = prepared.checksum(ask.nonce);
    (payload, checksum)
}

/// A server of one connection and one answer, which is this.
fn http_that_says(answer: Vec<u8>) -> (Http, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            request.push(byte[0]);
        }
        stream.write_all(&answer).unwrap();
    });
    (Http::new(address, 1), thread)
}

#[tokio::test]
async fn an_http_answer_that_is_damaged_is_never_delivered() {
    let ask = bytes(1_024, 5);
    let (payload, checksum) = right(ask);
    let said = |status: &str, length: usize, checksum: &str, payload: &[u8]| {
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{checksum}\r\n");
        [head.as_bytes(), payload].concat()
    };
    let header = |checksum: u32| format!("x-checksum: crc32-{checksum:08x}\r\n");
    let own = header(checksum);
    let mut other = payload.clone();
    other[NONCE_AT] = b'f';
    let others = header(checksum::of(&other));
    for (name, answer, says) in [
        ("right", said("200 OK", 1_024, &own, &payload), ""),
        ("nonce", said("200 OK", 1_024, &others, &other), "damaged: its nonce"),
        ("spoiled", said("200 OK", 1_024, &own, &other), "damaged: its nonce"),
        ("none", said("200 OK", 1_024, "", &payload), "damaged: the header x-checksum"),
        (
            "kind",
            said("200 OK", 1_024, "x-checksum: md5-00000000\r\n", &payload),
            "damaged: the header x-",
        ),
        ("empty", said("200 OK", 0, &own, &[]), "damaged: its length"),
        ("endless", said("200 OK", 1 << 40, &own, &payload), "damaged: the answer exceeds"),
        ("cut", said("200 OK", 1_024, &own, &payload[..900]), "the producer cannot be reached"),
        ("refused", said("400 Bad Request", 2, "", b"no"), "refused: 400 Bad Request: no"),
        ("full", said("503 Service Unavailable", 0, "", b""), "too many requests"),
        ("nothing", Vec::new(), "the producer cannot be reached"),
    ] {
        let (http, thread) = http_that_says(answer);
        let outcome = http.fetch(&ask, PATIENCE).await;
        let made = outcome.err().map(|failure| failure.to_string()).unwrap_or_default();
        assert!(made.starts_with(says) && made.is_empty() == says.is_empty(), "{name}: {made}");
        thread.join().unwrap();
    }
}

#[tokio::test]
async fn an_http_answer_that_does_not_come_has_a_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let http = Http::new(listener.local_addr().unwrap(), 1);
    assert_eq!(http.fetch(&bytes(1_024, 5), SHORT).await.unwrap_err(), Failure::Deadline);
}

#[tokio::test]
async fn a_connection_that_was_closed_while_it_was_kept_is_no_failure() {
    let folder = TempFolder::new("kept");
    let options = || Options::default().with("folder", folder.0.to_str().unwrap());
    let mut house = TestProducer::start(options());
    let (address, unix) = (house.address(), house.unix());
    let http = house.http();
    fetch(&http, bytes(1_024, 1)).await.unwrap();
    fetch(&unix, bytes(1_024, 1)).await.unwrap();
    house.stop();
    let mut options = options();
    options.listen = address;
    let _house = TestProducer::start(options);
    fetch(&http, bytes(1_024, 2)).await.unwrap();
    fetch(&unix, bytes(1_024, 2)).await.unwrap();
}

/// A channel whose handler is ours, ended with this.
struct TestChannel {
    producer: Option<Producer>,
    worker: Option<JoinHandle<()>>,
    folder: TempFolder,
}

impl TestChannel {
    fn start(
        name: &str,
        slots: u32,
        handler: impl FnMut(&[u8], &mut AnswerBuffer<'_>) -> Reply + Send + 'static,
    ) -> Self {
        let folder = TempFolder::new(name);
        let settings = Settings { slots, answer_room: 4_096, ..Settings::default() };
        let (producer, mut workers) = Producer::bind(folder.file("socket"), settings).unwrap();
        let worker = workers.pop().unwrap();
        let worker = std::thread::spawn(move || worker.run(handler));
        Self { producer: Some(producer), worker: Some(worker), folder }
    }

    fn way(&self) -> Shm {
        Shm::new(self.folder.file("socket"), Duration::ZERO)
    }
}

impl Drop for TestChannel {
    fn drop(&mut self) {
        self.producer = None;
        if let Some(worker) = self.worker.take() {
            // One that panicked has ended, too.
            let _ = worker.join();
        }
    }
}

/// Answers rightly.
fn answer(request: &[u8], buffer: &mut AnswerBuffer<'_>) -> Reply {
    let (payload, checksum) = right(DataRequest::read(request).unwrap());
    buffer.set_checksum(Checksum { kind: CRC32, value: u64::from(checksum) });
    buffer.put(&payload)
}

#[tokio::test]
async fn an_answer_over_the_channel_that_is_damaged_is_never_delivered() {
    let mut turn = 0;
    let channel = TestChannel::start("damaged", 8, move |request, buffer| {
        turn += 1;
        let reply = answer(request, buffer);
        match turn {
            1 => buffer[NONCE_AT] ^= 1,
            2 => buffer[500] ^= 1,
            3 => buffer.set_checksum(Checksum { kind: CRC32, value: 1 << 32 }),
            4 => buffer.set_checksum(Checksum { kind: 2, value: 0 }),
            5 => return Reply::Answer(1_023),
            6 => return Reply::Refused(2),
            7 => return Reply::Refused(3),
            8 => return Reply::TooLarge(5_000),
            9 => return Reply::TooLarge(1 << 40),
            _ => {}
        }
        reply
    });
    let way = channel.way();
    for says in [
        "damaged: its nonce",
        "damaged: its checksum",
        "damaged: a checksum of more than 32 bits",
        "damaged: the answer has no checksum",
        "damaged: its length",
        "refused: a request must be for 1 to 6,500 users",
        "too many requests",
        // Asked again with more room, and refused for good.
        "refused: the answer has 1099511627776 bytes",
    ] {
        let made = way.fetch(&bytes(1_024, 5), PATIENCE).await.unwrap_err().to_string();
        assert!(made.starts_with(says), "{made}");
    }
    fetch(&way, bytes(1_024, 6)).await.unwrap();
}

#[tokio::test]
async fn a_producer_that_wants_more_room_gets_it() {
    let mut asked = 0;
    let channel = TestChannel::start("room", 8, move |request, buffer| {
        asked += 1;
        if asked == 1 { Reply::TooLarge(9_000) } else { answer(request, buffer) }
    });
    fetch(&channel.way(), bytes(1_024, 5)).await.unwrap();
}

/// A channel that answers when told to: one message each.
fn stand_when_told(name: &str, slots: u32) -> (TestChannel, mpsc::Sender<()>) {
    let (tell, told) = mpsc::channel();
    let channel = TestChannel::start(name, slots, move |request, buffer| {
        // The end of the test is told, too.
        let _ = told.recv();
        answer(request, buffer)
    });
    (channel, tell)
}

#[tokio::test]
async fn a_question_that_was_given_up_does_not_cost_its_room_for_good() {
    let (channel, tell) = stand_when_told("deadline", 1);
    let way = channel.way();
    tell.send(()).unwrap();
    fetch(&way, bytes(1_024, 0)).await.expect("it connects, however long that takes");
    assert_eq!(way.fetch(&bytes(1_024, 1), SHORT).await.unwrap_err(), Failure::Deadline);
    // Its slot is the producer's until it has answered.
    assert_eq!(way.fetch(&bytes(1_024, 2), SHORT).await.unwrap_err(), Failure::Crowded);
    let waits = bytes(1_024, 3);
    let (fetched, ()) = tokio::join!(fetch(&way, waits), async {
        tokio::task::yield_now().await;
        tell.send(()).unwrap();
        tell.send(()).unwrap();
    });
    fetched.unwrap();
    drop(tell);
}

#[tokio::test]
async fn who_holds_all_answers_keeps_others_waiting_and_no_longer() {
    let channel = TestChannel::start("held", 2, answer);
    let way = channel.way();
    let one = fetch(&way, bytes(1_024, 1)).await.unwrap();
    let two = fetch(&way, bytes(1_024, 2)).await.unwrap();
    assert_eq!(way.fetch(&bytes(1_024, 3), SHORT).await.unwrap_err(), Failure::Crowded);
    let (fetched, ()) = tokio::join!(fetch(&way, bytes(5_000, 4)), async {
        drop(one);
        tokio::task::yield_now().await;
        // Two slots side by side are wanted.
        drop(two);
    });
    fetched.unwrap();
    let large = way.fetch(&bytes(10_000, 5), PATIENCE).await.unwrap_err();
    assert_eq!(
        large.to_string(),
        "refused: the answer has 10000 bytes, more than the channel can hold"
    );
}

#[tokio::test]
async fn who_asked_when_the_producer_ended_learns_of_it() {
    let (mut channel, tell) = stand_when_told("gone", 8);
    let way = channel.way();
    let ask = bytes(1_024, 1);
    let mut asking = std::pin::pin!(way.fetch(&ask, PATIENCE));
    let is_done = tokio::time::timeout(SHORT, &mut asking).await;
    assert!(is_done.is_err(), "nobody was told to answer");
    // The worker is in its handler; the producer's end is that of its gate.
    channel.producer = None;
    drop(tell);
    let failure = asking.await;
    // What it was about to answer may still come.
    assert!(failure.is_ok() || failure.unwrap_err().kind() == "unreachable");
    eventually("nobody is there", async || {
        way.fetch(&bytes(1_024, 2), PATIENCE).await.is_err_and(|it| it.kind() == "unreachable")
    })
    .await;
}

#[tokio::test]
async fn more_clients_than_there_may_be_are_told_so() {
    // A client may come to use 32.3 MiB.
    for (setting, one) in [("clients", "1"), ("max_shared", "60MiB")] {
        let house = TestProducer::start(Options::default().with(setting, one));
        assert_eq!(house.ready.effective["shm"]["clients"], 1);
        let (first, second) = (house.shm(), house.shm());
        fetch(&first, bytes(1_024, 1)).await.unwrap();
        assert_eq!(second.fetch(&bytes(1_024, 2), PATIENCE).await.unwrap_err(), Failure::Crowded);
        drop(first);
        let is_let_in = async || second.fetch(&bytes(1_024, 3), PATIENCE).await.is_ok();
        eventually("a place is free", is_let_in).await;
    }
}

#[tokio::test]
async fn answers_that_nobody_takes_have_bounds() {
    let house = TestProducer::start(Options::default().with("max_answers", "1KiB"));
    let failure = house.unix().fetch(&bytes(2_048, 1), PATIENCE).await.unwrap_err();
    assert_eq!(failure, Failure::Crowded);
    let failure = house.http().fetch(&bytes(2_048, 1), PATIENCE).await.unwrap_err();
    assert_eq!(failure, Failure::Crowded);
    fetch(&house.unix(), bytes(1_024, 1)).await.unwrap();
}

#[tokio::test]
async fn who_waits_for_a_connection_longer_than_its_deadline_finds_it_crowded() {
    let folder = TempFolder::new("seats");
    let path = folder.file("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let unix = Unix::new(&path, 1);
    let (ask, long) = (bytes(1_024, 1), SHORT * 10);
    let (first, second) = tokio::join!(unix.fetch(&ask, long), unix.fetch(&ask, SHORT));
    assert_eq!((first.unwrap_err(), second.unwrap_err()), (Failure::Deadline, Failure::Crowded));
}
