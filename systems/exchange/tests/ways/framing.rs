//! Frames on the Unix socket, byte by byte: a producer met by hand, and a way met by a producer
//! that is none.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use exchange::checksum;
use exchange::frame::{ANSWER_HEAD, FrameHeader, request};
use exchange::prepared::{NONCE_AT, Prepared, patch};
use exchange::records::Records;
use exchange::transport::Transport;
use exchange::transports::Unix;
use serving::options::Options;

use super::{PATIENCE, TempFolder, TestProducer, bytes};

/// A connection that waits for what comes no longer than anything takes.
fn connect(house: &TestProducer) -> UnixStream {
    let stream = UnixStream::connect(house.path("unix")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// The next answer: its head and its payload.
fn read(stream: &mut UnixStream) -> (FrameHeader, Vec<u8>) {
    let mut head = [0; ANSWER_HEAD];
    stream.read_exact(&mut head).unwrap();
    let head = FrameHeader::decode(&head).unwrap();
    let mut payload = vec![0; head.length as usize];
    stream.read_exact(&mut payload).unwrap();
    (head, payload)
}

#[test]
fn a_request_may_come_in_pieces_and_several_at_once() {
    let house = TestProducer::start(Options::default());
    let mut stream = connect(&house);
    let frame = request("bytes 1024 00000000000000ff");
    for cut in 0..=frame.len() {
        stream.write_all(&frame[..cut]).unwrap();
        // The producer may or may not have read the first piece when the second comes.
        std::thread::yield_now();
        stream.write_all(&frame[cut..]).unwrap();
        let (head, payload) = read(&mut stream);
        assert_eq!((head.code, payload.len()), (0, 1_024), "cut at {cut}");
        assert_eq!(head.checksum, u64::from(checksum::of(&payload)));
    }
    let two = [&frame[..], &request("users 1 0000000000000001"), &frame[..7]].concat();
    stream.write_all(&two).unwrap();
    assert_eq!(read(&mut stream).1.len(), 1_024);
    assert!(read(&mut stream).1.starts_with(b"{\"nonce\":\"0000000000000001\""));
    stream.write_all(&frame[7..]).unwrap();
    assert_eq!(read(&mut stream).1.len(), 1_024);
}

#[test]
fn what_is_refused_has_a_number_and_the_connection_goes_on() {
    let house = TestProducer::start(Options::default());
    let mut stream = connect(&house);
    for (text, code) in [
        ("", 1),
        ("hello", 1),
        ("users 0 00000000000000ff", 2),
        ("bytes 16777217 00000000000000ff", 2),
        ("bytes 1024 00000000000000ff", 0),
    ] {
        stream.write_all(&request(text)).unwrap();
        let (head, payload) = read(&mut stream);
        assert_eq!((head.code, payload.is_empty()), (code, code != 0), "{text}");
    }
    // After a length that is never read there is no next request.
    stream.write_all(&4_097_u32.to_le_bytes()).unwrap();
    assert_eq!(read(&mut stream).0.code, 1);
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "closed");
}

#[test]
fn a_connection_too_many_is_told_so_and_one_that_is_silent_is_closed() {
    let options = Options::default().with("max_connections", 1).with("idle", "1s");
    let house = TestProducer::start(options);
    let mut silent = connect(&house);
    let mut refused = 0;
    // Once the first is there, there is room for no other until the producer loses patience.
    loop {
        let mut other = connect(&house);
        let mut head = [0; ANSWER_HEAD];
        match other.read(&mut head).unwrap() {
            0 => break,
            ANSWER_HEAD => assert_eq!(FrameHeader::decode(&head).unwrap().code, 3),
            length => panic!("{length} bytes"),
        }
        refused += 1;
    }
    assert!(refused > 0);
    assert_eq!(silent.read(&mut [0]).unwrap(), 0, "closed");
}

/// A producer of one connection that answers each request with these pieces, one after another.
fn none(folder: &TempFolder, answers: Vec<Vec<Vec<u8>>>) -> (Unix, std::thread::JoinHandle<()>) {
    let path = folder.file("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for pieces in answers {
            let mut length = [0; 4];
            stream.read_exact(&mut length).unwrap();
            stream.read_exact(&mut vec![0; u32::from_le_bytes(length) as usize]).unwrap();
            for piece in pieces {
                stream.write_all(&piece).unwrap();
                std::thread::yield_now();
            }
        }
    });
    (Unix::new(path, 1), thread)
}

/// An answer to `bytes(1024, 5)`, as it should be.
fn answer() -> (FrameHeader, Vec<u8>) {
    let prepared = Prepared::new(0, bytes(1_024, 5).what, &mut Records::new(1));
    let mut payload = prepared.bytes().to_vec();
    patch(&mut payload, 5);
    (FrameHeader::answered(payload.len(), prepared.checksum(5)), payload)
}

#[tokio::test]
async fn an_answer_may_come_in_pieces() {
    let folder = TempFolder::new("pieces");
    let (head, payload) = answer();
    let frame = [&head.encode()[..], &payload].concat();
    let cuts = (0..=frame.len()).filter(|cut| *cut < 40 || cut % 97 == 0 || frame.len() - cut < 5);
    let answers = cuts.map(|cut| vec![frame[..cut].to_vec(), frame[cut..].to_vec()]);
    let answers: Vec<_> = answers.collect();
    let count = answers.len();
    let (unix, thread) = none(&folder, answers);
    for _ in 0..count {
        let fetched = unix.fetch(&bytes(1_024, 5), PATIENCE).await.unwrap();
        assert_eq!(&fetched[..], &payload[..]);
    }
    thread.join().unwrap();
}

/// What a way makes of an answer that is none.
async fn made_of(name: &str, frame: Vec<u8>) -> String {
    let folder = TempFolder::new(name);
    let (unix, thread) = none(&folder, vec![vec![frame]]);
    let failure = unix.fetch(&bytes(1_024, 5), PATIENCE).await.unwrap_err();
    thread.join().unwrap();
    format!("{}: {failure}", failure.kind())
}

#[tokio::test]
async fn an_answer_that_is_damaged_is_never_delivered() {
    let (head, payload) = answer();
    let framed = |head: FrameHeader, payload: &[u8]| [&head.encode()[..], payload].concat();
    let mut other = payload.clone();
    other[NONCE_AT + 15] = b'6';
    let own = u64::from(checksum::of(&other));
    let mut spoiled = payload.clone();
    spoiled[500] ^= 1;
    let [long, short] = [payload.len() + 1, payload.len() - 1].map(|it| it as u32);
    let with_length = |length| FrameHeader { length, ..head };
    for (name, frame, says) in [
        (
            "nonce",
            framed(FrameHeader { checksum: own, ..head }, &other),
            "damaged: damaged: its nonce",
        ),
        ("spoiled", framed(head, &spoiled), "damaged: damaged: its checksum"),
        (
            "wide",
            framed(FrameHeader { checksum: 1 << 32, ..head }, &payload),
            "damaged: damaged: a checksum",
        ),
        ("short", framed(with_length(short), &payload), "damaged: damaged: the answer is longer"),
        (
            "long",
            framed(with_length(long), &[&payload[..], b"}"].concat()),
            "damaged: damaged: its length",
        ),
        (
            "endless",
            framed(with_length(u32::MAX), &payload),
            "damaged: damaged: the answer exceeds",
        ),
        ("cut", framed(head, &payload[..900]), "unreachable: "),
        (
            "refused",
            framed(FrameHeader { length: 0, code: 2, checksum: 0 }, &[]),
            "refused: refused: a request must be for 1 to 6,500",
        ),
        ("crowded", framed(FrameHeader { length: 0, code: 3, checksum: 0 }, &[]), "crowded: "),
        ("unknown", framed(FrameHeader { length: 0, code: 99, checksum: 0 }, &[]), "refused: "),
    ] {
        let made = made_of(name, frame).await;
        assert!(made.starts_with(says), "{name}: {made}");
    }
}

#[tokio::test]
async fn who_waits_too_long_for_an_answer_has_a_deadline() {
    let folder = TempFolder::new("deadline");
    let path = folder.file("socket");
    // Connections wait in the backlog, and nobody ever answers.
    let _listener = UnixListener::bind(&path).unwrap();
    let unix = Unix::new(&path, 1);
    let failure = unix.fetch(&bytes(1_024, 5), Duration::from_millis(20)).await.unwrap_err();
    assert_eq!(failure.kind(), "deadline");
}
