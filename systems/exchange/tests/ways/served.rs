//! What a producer that runs answers, over each way.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use exchange::checksum;
use exchange::frame;
use exchange::prepared::has_nonce;
use exchange::request::DataRequest;
use exchange::transport::Transport;
use serde_json::Value;
use serving::options::Options;
use shm_channel::{Client, Error};

use super::{PATIENCE, TempFolder, TestProducer, bytes, eventually, fetch, users};

/// The payloads of some questions, asked twice each so that the second is a patched one.
async fn payloads(way: &impl Transport) -> Vec<Vec<u8>> {
    let asked = [users(1, 0), users(100, 0), bytes(1_024, 0), bytes(262_144, 0)];
    let mut payloads = Vec::new();
    for (nonce, ask) in (0x1000..).zip(asked.into_iter().cycle().take(8)) {
        payloads.push(fetch(way, DataRequest { nonce, ..ask }).await.unwrap().to_vec());
    }
    payloads
}

#[tokio::test]
async fn all_ways_answer_the_same_to_the_byte() {
    let house = TestProducer::start(Options::default());
    let (http, unix, shm) = (house.http(), house.unix(), house.shm());
    let over_http = payloads(&http).await;
    assert_eq!(over_http, payloads(&unix).await);
    assert_eq!(over_http, payloads(&shm).await);
    let lengths: Vec<usize> = over_http.iter().map(Vec::len).collect();
    assert_eq!((lengths[2], lengths[3]), (1_024, 262_144));
    assert_eq!(lengths[..4], lengths[4..]);
    let read: Value = serde_json::from_slice(&over_http[1]).unwrap();
    assert_eq!(read["users"].as_array().unwrap().len(), 100);
}

#[tokio::test]
async fn the_largest_payload_goes_over_each_way() {
    let house = TestProducer::start(Options::default());
    let ask = bytes(16 << 20, 7);
    assert_eq!(fetch(&house.http(), ask).await.unwrap().len(), 16 << 20);
    assert_eq!(fetch(&house.unix(), ask).await.unwrap().len(), 16 << 20);
    assert_eq!(fetch(&house.shm(), ask).await.unwrap().len(), 16 << 20);
}

#[tokio::test]
async fn answers_over_the_channel_lie_in_place_until_they_are_dropped() {
    let house = TestProducer::start(Options::default().with("slots", 2));
    let shm = house.shm();
    let one = fetch(&shm, bytes(4_096, 1)).await.unwrap();
    let first = one.as_ptr();
    let two = fetch(&shm, bytes(4_096, 2)).await.unwrap();
    assert_ne!(two.as_ptr(), first);
    drop(one);
    let three = fetch(&shm, bytes(4_096, 3)).await.unwrap();
    assert_eq!(three.as_ptr(), first, "the room of the first");
    // What is held outlives way and producer, and stands still.
    drop((shm, house));
    assert!(two.starts_with(b"{\"nonce\":\"0000000000000002\""));
    assert!(three.starts_with(b"{\"nonce\":\"0000000000000003\""));
}

/// A request by hand: status and body.
fn get(house: &TestProducer, head: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(house.address()).unwrap();
    write!(stream, "{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer[9..12].parse().unwrap();
    (status, answer)
}

#[test]
fn http_says_what_it_does_not_understand() {
    let house = TestProducer::start(Options::default().with("users", 2));
    let nonce = "nonce=00000000000000ff";
    let (status, answer) = get(&house, &format!("GET /users?{nonce}"));
    assert_eq!(status, 200);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let checksum = format!("x-checksum: crc32-{:08x}", checksum::of(body.as_bytes()));
    assert!(head.contains(&checksum), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    let read: Value = serde_json::from_str(body).unwrap();
    assert_eq!(read["nonce"], "00000000000000ff");
    assert_eq!(read["users"].as_array().unwrap().len(), 2);
    for (request, status, says) in [
        (
            "GET /users?count=0&nonce=00000000000000ff",
            400,
            "count=0: a request must be for 1 to 6,500 users",
        ),
        (
            "GET /users?size=16777217&nonce=00000000000000ff",
            400,
            "size=16777217: a request must be",
        ),
        ("GET /users?count=1", 400, "nonce must be 16"),
        ("POST /users", 405, "use GET"),
        ("GET /user", 404, "use /users"),
    ] {
        let (seen, answer) = get(&house, request);
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let why: Value = serde_json::from_str(body).unwrap();
        assert!(why["error"].as_str().unwrap().starts_with(says), "{request}: {why}");
        assert_eq!(seen, status, "{request}");
    }
    assert_eq!(get(&house, "GET /healthz").0, 200);
}

#[tokio::test]
async fn figures_tell_the_ways_apart() {
    let house = TestProducer::start(Options::default());
    let unix = house.unix();
    for nonce in 0..3 {
        fetch(&unix, bytes(1_024, nonce)).await.unwrap();
    }
    let shm = house.shm();
    fetch(&shm, bytes(1_024, 1)).await.unwrap();
    get(&house, "GET /users?count=0");
    let (_, text) = get(&house, "GET /metrics");
    for line in [
        "exchange_answered_total{way=\"unix\"} 3\n",
        "exchange_answered_total{way=\"shm\"} 1\n",
        "exchange_answered_total{way=\"http\"} 0\n",
        "exchange_refused_total{way=\"http\"} 1\n",
        "shm_clients 1\n",
        "shm_damaged 0\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}

/// A request that lent too little room comes again: it is neither refused nor answered yet.
#[test]
fn a_request_with_too_little_room_is_counted_apart() {
    let house = TestProducer::start(Options::default().with("answer_room", "4KiB"));
    let mut client = Client::connect(house.path("shm"), Duration::ZERO).unwrap();
    let request = bytes(9_000, 1).wire();
    let told = client.call(request.as_bytes(), 0, PATIENCE).unwrap_err();
    assert!(matches!(told, Error::TooLarge { needed: 9_000, most: 4_096 }), "{told}");
    client.call(request.as_bytes(), 9_000, PATIENCE).unwrap();
    let (_, text) = get(&house, "GET /metrics");
    for line in [
        "shm_too_large_total 1\n",
        "exchange_refused_total{way=\"shm\"} 0\n",
        "exchange_answered_total{way=\"shm\"} 1\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}

#[tokio::test]
async fn sockets_are_their_users_alone_and_go_at_the_end() {
    let folder = TempFolder::new("given");
    let given = folder.file("sockets");
    let mut house = TestProducer::start(Options::default().with("folder", given.to_str().unwrap()));
    let paths = ["unix", "shm"].map(|kind| house.path(kind));
    for path in &paths {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(path.starts_with(&given));
    }
    let (unix, shm) = (house.unix(), house.shm());
    fetch(&unix, users(1, 1)).await.unwrap();
    fetch(&shm, users(1, 1)).await.unwrap();
    house.stop();
    assert!(!given.exists(), "sockets and folder are gone");
    for failure in [fetch(&unix, users(1, 2)).await, fetch(&shm, users(1, 2)).await] {
        assert_eq!(failure.unwrap_err().kind(), "unreachable");
    }
    // At the same place again, the same ways go on.
    let _house = TestProducer::start(Options::default().with("folder", given.to_str().unwrap()));
    fetch(&unix, users(1, 3)).await.unwrap();
    fetch(&shm, users(1, 3)).await.unwrap();
}

/// What nobody came to read would keep the folder, too.
#[test]
fn the_file_that_races_goes_at_the_end() {
    let folder = TempFolder::new("race");
    let given = folder.file("sockets");
    let options = Options::default().with("folder", given.to_str().unwrap());
    let mut house = TestProducer::start(options.with("file_race", true));
    assert_eq!(get(&house, "GET /write-to-shm?nonce=00000000000000ff").0, 200);
    assert!(given.join("users_shm").exists());
    house.stop();
    assert!(!given.exists(), "file and folder are gone");
}

/// The beginning of an answer that is larger than what sockets hold, over a connection by hand.
fn begin(house: &TestProducer) -> UnixStream {
    let mut stream = UnixStream::connect(house.path("unix")).unwrap();
    stream.write_all(&frame::request("bytes 16777216 00000000000000ff")).unwrap();
    let mut head = [0; frame::ANSWER_HEAD];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(frame::FrameHeader::decode(&head).unwrap().length, 16 << 20);
    stream
}

#[test]
fn what_is_under_way_when_the_producer_is_told_to_stop_ends_well() {
    let mut house = TestProducer::start(Options::default());
    let mut stream = begin(&house);
    house.stopper = None;
    let mut payload = Vec::new();
    stream.read_to_end(&mut payload).unwrap();
    assert_eq!(payload.len(), 16 << 20);
    house.stop();
}

/// When the producer is told to stop it may have answered any number of them.
#[test]
fn what_was_asked_over_shared_memory_before_the_stop_is_answered() {
    let mut house = TestProducer::start(Options::default());
    let mut client = Client::connect(house.path("shm"), Duration::ZERO).unwrap();
    let asked = (0..64).map(|nonce| bytes(1_024, nonce).wire());
    let tickets = asked.map(|request| client.submit(request.as_bytes(), 1_024).unwrap());
    let tickets: Vec<u64> = tickets.collect();
    house.stop();
    for (nonce, ticket) in (0..64).zip(tickets) {
        let done = client.take().unwrap().expect("an answer");
        assert_eq!(done.ticket, ticket);
        assert!(has_nonce(&done.outcome.unwrap(), nonce));
    }
    assert!(client.is_gone());
}

#[tokio::test]
async fn an_answer_that_nobody_takes_is_given_up() {
    let house = TestProducer::start(Options::default().with("read", "100ms"));
    let mut stream = begin(&house);
    let is_over = async || get(&house, "GET /metrics").1.contains("unix_connections 0\n");
    eventually("the connection is closed", is_over).await;
    let mut rest = Vec::new();
    // Either end of it: what was on its way, or none of it.
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.len() < 16 << 20);
    fetch(&house.unix(), bytes(1_024, 1)).await.unwrap();
}

#[test]
fn what_cannot_be_had_is_told() {
    let folder = TempFolder::new("taken");
    let start = |options: Options| {
        let stop = serving::stop::Stop::pair().1;
        exchange::producer::SYSTEM.serve_until(&options, stop, |_| panic!("it began")).unwrap_err()
    };
    std::fs::write(folder.file("unix.socket"), "somebody's").unwrap();
    let here = folder.0.to_str().unwrap();
    let error = start(Options::default().with("folder", here));
    assert_eq!(error.exit_code(), 4, "{error}");
    let told = "cannot listen on the Unix socket: ";
    let there = folder.file("unix.socket");
    let what = format!(
        "{told}{}: there is a file that is not a socket; remove it or choose another path",
        there.display()
    );
    assert_eq!(error.to_string(), what);
    assert_eq!(std::fs::read(folder.file("unix.socket")).unwrap(), b"somebody's");
    assert_eq!(start(Options::default().with("users", 0)).exit_code(), 2);
    let long = folder.file(&"x".repeat(200));
    let error = start(Options::default().with("folder", long.to_str().unwrap()));
    assert_eq!(error.exit_code(), 4, "{error}");
    let there = long.join("unix.socket");
    let bytes = there.as_os_str().len();
    let limit = format!("a socket's path has at most 107 bytes, this one has {bytes}");
    assert_eq!(error.to_string(), format!("{told}{}: {limit}", there.display()));
    assert!(!long.exists(), "what was made is gone again");
    let error = start(Options::default().with("folder", "/proc/nope"));
    assert_eq!(error.exit_code(), 4, "{error}");
    let told = "cannot make the folder of the sockets: /proc/nope: ";
    assert!(error.to_string().starts_with(told), "{error}");
}
