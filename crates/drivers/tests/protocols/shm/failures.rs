//! What goes wrong has its kind, says what was seen, and hurts nobody else.

use std::future::poll_fn;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use drivers::shm::driver::Shm;
use engine::driver::{Driver, Exchange};
use engine::transport::{Address, Endpoint, Stream};
use record::FailureKind::{
    Closed, GreetingTimeout, Malformed, Refused, Status, TooLarge, Transient, Unreachable,
    WrongContent,
};
use record::{FailureKind, Outcome};
use shm_channel::{AnswerBuffer, CRC32, Checksum, Reply, XXH3};
use tokio::task::{spawn_local, yield_now};

use crate::shm::stand::{Folder, Line, Running, Ticks, connect, operation, producer, run};

const PLAIN: &str = "shm = { body = \"{{sequence}}\" }";

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Answers with the request.
fn echo(request: &[u8], room: &mut AnswerBuffer<'_>) -> Reply {
    room.put(request)
}

/// What fails of the exchanges with these numbers, on one line.
fn failures<const N: usize>(
    running: &Running,
    text: &str,
    numbers: [u64; N],
) -> [(FailureKind, String, bool); N] {
    run(async {
        let mut line = Line::connect(&running.folder.socket(), text).await.unwrap();
        let mut seen = Vec::new();
        for number in numbers {
            seen.push(line.fail(number).await);
        }
        seen.try_into().unwrap()
    })
}

#[test]
fn a_refusal_is_its_number_and_the_line_goes_on() {
    let running = Running::start(|request: &[u8], room: &mut AnswerBuffer<'_>| {
        let number = std::str::from_utf8(request).unwrap().parse().unwrap();
        if number == 0 { room.put(b"fine") } else { Reply::Refused(number) }
    });
    run(async {
        let mut line = Line::connect(&running.folder.socket(), PLAIN).await.unwrap();
        for (number, status) in [(404, 404), (65_535, 65_535), (65_536, 0)] {
            assert_eq!(line.fail(number).await, (Status, format!("refused: {number}"), true));
            assert_eq!(line.exchange.status, status);
            assert!(line.span(2).is_some(), "a refusal was waited for, too");
        }
        assert_eq!(line.perform(0).await, Outcome::Succeeded);
        assert_eq!(line.exchange.status, 0);
    });
    assert_eq!(running.producer().counts().admitted, 1);
}

#[test]
fn an_answer_beyond_its_room_says_how_much_it_needs() {
    let running = Running::start(|_: &[u8], _: &mut AnswerBuffer<'_>| Reply::TooLarge(300));
    let told = "300 bytes are needed where there is room for 256: `room` lends more";
    assert_eq!(failures(&running, PLAIN, [0, 1]), [0, 1].map(|_| (TooLarge, told.into(), true)));
    let told = "300 bytes are needed where there is room for 512: `room` lends more";
    let lent = "shm = { body = \"x\", room = \"257B\" }";
    assert_eq!(failures(&running, lent, [0]), [(TooLarge, told.into(), true)]);
}

#[test]
fn what_no_channel_can_carry_is_not_sent() {
    let running = Running::start(|_: &[u8], room: &mut AnswerBuffer<'_>| room.put(b"x"));
    for (text, needed, most) in [
        ("shm = { body = \"{{bytes 300B}}\" }", 300, 256),
        ("shm = { body = \"x\", room = \"1MiB\" }", 1_048_576, 1024),
    ] {
        let told = format!(
            "beyond all of the channel: {needed} bytes are needed where there is room for {most}"
        );
        assert_eq!(
            failures(&running, text, [0, 1]),
            [0, 1].map(|_| (TooLarge, told.clone(), true))
        );
    }
}

#[test]
fn a_checksum_that_is_not_the_answers_is_wrong_content() {
    let running = Running::start(|request: &[u8], room: &mut AnswerBuffer<'_>| {
        let told = match request {
            b"0" => Some(Checksum { kind: CRC32, value: 0xcbf4_3927 }),
            b"1" => Some(Checksum { kind: CRC32, value: 0x1_cbf4_3926 }),
            b"2" => Some(Checksum { kind: XXH3, value: 0xcbf4_3926 }),
            b"3" => None,
            _ => Some(Checksum { kind: CRC32, value: 0xcbf4_3926 }),
        };
        told.into_iter().for_each(|told| room.set_checksum(told));
        room.put(b"123456789")
    });
    let text = "shm = { body = \"{{sequence}}\", checksum = true }";
    let seen = [
        "cbf43927 where the answer's is cbf43926",
        "1cbf43926 where the answer's is cbf43926",
        "one of kind 2",
        "none",
    ];
    let seen = seen.map(|seen| {
        let told = format!("expected the checksum to be the answer's CRC-32, got {seen}");
        (WrongContent, told, true)
    });
    assert_eq!(failures(&running, text, [0, 1, 2, 3]), seen);
    run(async {
        let mut line = Line::connect(&running.folder.socket(), text).await.unwrap();
        assert_eq!(line.perform(4).await, Outcome::Succeeded);
    });
}

#[test]
fn an_answer_to_something_else_is_wrong_content() {
    let running = Running::start(|_: &[u8], room: &mut AnswerBuffer<'_>| room.put(b"7"));
    let text =
        format!("{PLAIN}\nexpect = {{ contains = \"{{{{sequence}}}}\", body_size = \"2B\" }}");
    let told =
        "expected body of 2 bytes, got 1 bytes; expected body contains \"{{sequence}}\", got 7";
    assert_eq!(failures(&running, &text, [8]), [(WrongContent, told.into(), true)]);
}

#[test]
fn a_producer_that_goes_amid_an_exchange_is_closed() {
    run(async {
        let (folder, producer, worker) = producer();
        let mut line = Line::connect(&folder.socket(), PLAIN).await.unwrap();
        let end = async {
            drop(producer);
            drop(worker);
        };
        let (seen, ()) = tokio::join!(line.fail(0), end);
        assert_eq!(seen, (Closed, "the producer is gone".to_owned(), false));
        Shm.idle(&mut line.channel).await;
        let refused = Line::connect(&folder.socket(), PLAIN).await.err().unwrap();
        assert_eq!(refused.0, Refused);
    });
}

/// What was answered before the end is an answer.
#[test]
fn the_last_answer_of_a_producer_counts() {
    run(async {
        let (folder, producer, mut worker) = producer();
        let mut line = Line::connect(&folder.socket(), PLAIN).await.unwrap();
        let end = async {
            while worker.turn(&mut echo) == 0 {
                yield_now().await;
            }
            drop(producer);
            drop(worker);
        };
        let (outcome, ()) = tokio::join!(line.perform(0), end);
        assert_eq!(outcome, Outcome::Succeeded, "{:?}", line.exchange.detail);
        assert_eq!(line.fail(1).await, (Closed, "the producer is gone".to_owned(), false));
    });
}

/// A time-out drops the exchange and then its connection; what is answered after that reaches nobody.
#[test]
fn an_exchange_given_up_leaves_nothing_behind() {
    run(async {
        let (folder, producer, mut worker) = producer();
        let mut given_up = Line::connect(&folder.socket(), PLAIN).await.unwrap();
        {
            let mut performing = pin!(given_up.perform(0));
            let polled = poll_fn(|context| Poll::Ready(performing.as_mut().poll(context))).await;
            assert!(polled.is_pending(), "nobody answers");
        }
        drop(given_up);
        let mut next = Line::connect(&folder.socket(), PLAIN).await.unwrap();
        let server = spawn_local(async move {
            loop {
                worker.turn(&mut echo);
                yield_now().await;
            }
        });
        assert_eq!(next.perform(1).await, Outcome::Succeeded, "{:?}", next.exchange.detail);
        let begun = Instant::now();
        while producer.counts().living > 1 {
            assert!(begun.elapsed() < PATIENCE, "its memory goes when it is gone");
            yield_now().await;
        }
        assert_eq!(producer.counts().damaged, 0);
        server.abort();
    });
}

#[test]
fn a_producer_that_is_full_says_so_for_now() {
    let running = Running::start(|_: &[u8], room: &mut AnswerBuffer<'_>| room.put(b"x"));
    run(async {
        let mut lines = Vec::new();
        for _ in 0..9 {
            lines.push(Line::connect(&running.folder.socket(), PLAIN).await.unwrap());
        }
        let refused = Line::connect(&running.folder.socket(), PLAIN).await.err().unwrap();
        assert_eq!(refused, (Transient, "the producer has its 9 clients already".to_owned()));
        for line in &mut lines {
            assert_eq!(line.perform(0).await, Outcome::Succeeded);
        }
    });
}

/// A peer that hears the hello and answers with these bytes.
fn meet(answer: &'static [u8]) -> (FailureKind, String) {
    let folder = Folder::new();
    let listener = UnixListener::bind(folder.socket()).unwrap();
    let peer = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.read_exact(&mut [0; 64]).unwrap();
        socket.write_all(answer).unwrap();
    });
    let seen = run(Line::connect(&folder.socket(), PLAIN)).err().unwrap();
    peer.join().unwrap();
    seen
}

#[test]
fn peers_that_are_no_producers_are_told_from_each_other() {
    let none = "this is no producer of a shared-memory channel";
    assert_eq!(meet(b"HTTP/1.1 400 Bad Request\r\n\r\n"), (Malformed, none.to_owned()));
    assert_eq!(meet(b""), (Closed, "the producer is gone".to_owned()));
}

#[test]
fn a_silent_peer_is_late_with_its_greeting() {
    let folder = Folder::new();
    let _listener = UnixListener::bind(folder.socket()).unwrap();
    run(async {
        let operation = operation(PLAIN);
        let mut exchange = Exchange::new(Ticks::default());
        {
            let socket = folder.socket();
            let mut connecting = pin!(connect(&socket, &operation, &mut exchange));
            for _ in 0..10 {
                let polled =
                    poll_fn(|context| Poll::Ready(connecting.as_mut().poll(context).is_ready()));
                assert!(!polled.await, "nobody has greeted");
                yield_now().await;
            }
        }
        assert_eq!(exchange.timeout_kind, GreetingTimeout);
    });
}

#[test]
fn a_stream_that_passes_no_memory_is_refused() {
    let endpoint = Endpoint {
        authority: String::new(),
        address: Address::Memory("x".into()),
        tls: None,
        upgrade: None,
        is_web: false,
    };
    let refused = run(async {
        let stream = Stream::Memory(tokio::io::duplex(64).0);
        let mut exchange = Exchange::new(Ticks::default());
        Shm.connect(&operation(PLAIN), &endpoint, stream, &mut exchange).await.err().unwrap()
    });
    assert_eq!(refused.0, Unreachable);
}

#[test]
fn a_line_is_idle_as_long_as_its_producer_is_there() {
    run(async {
        let (folder, producer, worker) = producer();
        let mut line = Line::connect(&folder.socket(), PLAIN).await.unwrap();
        for _ in 0..10 {
            let mut idle = pin!(Shm.idle(&mut line.channel));
            let is_over =
                poll_fn(|context| Poll::Ready(idle.as_mut().poll(context).is_ready())).await;
            assert!(!is_over);
            yield_now().await;
        }
        drop(producer);
        drop(worker);
        Shm.idle(&mut line.channel).await;
    });
}
