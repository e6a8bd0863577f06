//! What goes over the channel comes back, however it is waited for, and is stamped.

use plan::document::Table;
use std::cell::Cell;
use std::rc::Rc;

use drivers::AnyDriver;
use drivers::probe::CheckedExpectation;
use engine::driver::{Call, CompileContext, Driver, Exchange};
use record::Outcome;
use shm_channel::{AnswerBuffer, CRC32, Checksum, Reply};
use tokio::task::{spawn_local, yield_now};

use crate::shm::stand::{FIRST, Line, Running, Ticks, connect, crc32, run};

const ECHO: &str = "shm = { body = \"{\\\"n\\\": {{sequence}}}\", spin = \"SPIN\", checksum = true }\n\
                    expect = { contains = \"{{sequence}}\", body_size = \"8B..12B\" }\n\
                    items = { n = \"$.n\" }";

/// Answers with the request and its checksum.
fn echo(request: &[u8], room: &mut AnswerBuffer<'_>) -> Reply {
    room.set_checksum(Checksum { kind: CRC32, value: crc32(request) });
    room.put(request)
}

fn text(spin: &str) -> String {
    ECHO.replace("SPIN", spin)
}

#[test]
fn an_answer_is_that_of_its_request_by_looking_and_by_the_eventfd() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    let running = Running::start(echo);
    for spin in ["0us", "1ms"] {
        run(async {
            let mut line = Line::connect(&running.folder.socket(), &text(spin)).await.unwrap();
            assert!(line.span(0).is_some_and(|welcome| welcome > 0));
            for sequence in 0..300 {
                let outcome = line.perform(sequence).await;
                assert_eq!(outcome, Outcome::Succeeded, "{:?}", line.exchange.detail);
                assert_eq!(line.exchange.items, [sequence as f64]);
                let length = format!("{{\"n\": {sequence}}}").len() as u64;
                let Exchange { bytes_sent, bytes_received, status, .. } = line.exchange;
                assert_eq!((bytes_sent, bytes_received, status.code()), (length, length, 0));
                assert!(line.exchange.reusable);
                let parts = (1..4).map(|own| line.span(own).expect("each is stamped"));
                let whole = line.exchange.read_at - line.exchange.started_at;
                assert_eq!(parts.sum::<u64>(), whole, "the parts of a service time are all of it");
                assert_eq!(line.span(0), None, "the greeting was that of the first");
            }
        });
    }
    assert_eq!((running.producer().counts().admitted, running.producer().counts().damaged), (2, 0));
}

#[test]
fn nothing_is_read_that_nobody_asked_for() {
    let running = Running::start(|_: &[u8], room: &mut AnswerBuffer<'_>| room.put(b"whatever"));
    run(async {
        let text = "shm = { body = \"x\" }";
        let mut line = Line::connect(&running.folder.socket(), text).await.unwrap();
        assert_eq!(line.perform(0).await, Outcome::Succeeded);
        assert_eq!((line.span(1).is_some(), line.span(2).is_some()), (true, true));
        assert_eq!(line.span(3), None);
    });
}

#[test]
fn eight_connections_of_one_thread_have_their_own_answers() {
    let running = Running::start(echo);
    run(async {
        let lines = (0..8_u64).map(|number| {
            let socket = running.folder.socket();
            spawn_local(async move {
                let spin = if number % 2 == 0 { "0us" } else { "50us" };
                let mut line = Line::connect(&socket, &text(spin)).await.unwrap();
                for turn in 0..500 {
                    let outcome = line.perform(number * 1000 + turn).await;
                    assert_eq!(outcome, Outcome::Succeeded, "{:?}", line.exchange.detail);
                }
            })
        });
        for line in lines.collect::<Vec<_>>() {
            line.await.unwrap();
        }
    });
    assert_eq!((running.producer().counts().admitted, running.producer().counts().damaged), (8, 0));
}

/// A worker holds the pacing and all other connections, too: an answer that was there at once must not keep it.
#[test]
fn after_each_exchange_others_have_their_turn() {
    let running = Running::start(echo);
    run(async {
        let turns = Rc::new(Cell::new(0));
        let counted = Rc::clone(&turns);
        let other = spawn_local(async move {
            loop {
                counted.set(counted.get() + 1);
                yield_now().await;
            }
        });
        let mut line = Line::connect(&running.folder.socket(), &text("1ms")).await.unwrap();
        for sequence in 0..200 {
            assert_eq!(line.perform(sequence).await, Outcome::Succeeded);
        }
        other.abort();
        // Who wakes at the same time may be polled before or after us.
        assert!(turns.get() >= 100, "{} turns of the other", turns.get());
    });
}

#[test]
fn room_is_lent_as_asked() {
    let running = Running::start(|_: &[u8], room: &mut AnswerBuffer<'_>| {
        let whole = room.len();
        room.fill(b'x');
        Reply::Answer(whole)
    });
    for (room, length) in [("1B", 256), ("256B", 256), ("257B", 512), ("1024B", 1024)] {
        let text = format!("shm = {{ body = \"x\", room = \"{room}\" }}");
        run(async {
            let mut line = Line::connect(&running.folder.socket(), &text).await.unwrap();
            assert_eq!(line.perform(0).await, Outcome::Succeeded);
            assert_eq!(line.exchange.bytes_received, length, "{room}");
        });
    }
}

#[test]
fn everything_of_one_exchange_is_shown() {
    let running = Running::start(echo);
    let driver = AnyDriver::of([("shm", &Table::default()), ("http", &Table::default())]).unwrap();
    let own = ["welcome", "written", "waited", "read", "there", "producer", "back"];
    assert_eq!(driver.span_names(), [&["first_byte", "redirects"][..], &own].concat());
    let planned = crate::planned::planned(
        "shm",
        "shm = { body = \"{\\\"n\\\": 5}\", checksum = true }\n\
         expect = { contains = \"six\" }\nitems = { n = \"$.n\", m = \"$.m\" }",
    );
    let compile = CompileContext { operation: &planned, targets: &[], wall_clock: "" };
    let operation = driver.compile(compile).unwrap();
    let call = Call { trial: 1, seed: 7, now: 9, ..Call::default() };
    let (probe, exchange) = run(async {
        let mut exchange = Exchange::new(Ticks::default());
        let own = crate::shm::stand::operation("shm = { body = \"x\" }");
        let channel = connect(&running.folder.socket(), &own, &mut exchange).await.unwrap();
        let mut stream = drivers::AnyStream::Shm(channel);
        driver.encode(&operation, &mut stream, &call);
        let probe = driver.probe(&operation, &mut stream, &mut exchange).await;
        (probe, exchange)
    });
    assert_eq!(
        (probe.request.as_slice(), probe.body.as_slice()),
        (&b"{\"n\": 5}"[..], &b"{\"n\": 5}"[..])
    );
    assert_eq!((probe.head.len(), probe.is_truncated), (0, false));
    let detail = "expected body contains \"six\", got {\"n\": 5}";
    assert_eq!(probe.detail.as_deref(), Some(detail));
    let check = |text: &str, holds, seen: &str| CheckedExpectation {
        text: text.into(),
        holds,
        seen: seen.into(),
    };
    let sum = format!("{:08x}", crc32(b"{\"n\": 5}"));
    assert_eq!(
        probe.checks,
        [
            check("the checksum to be the answer's CRC-32", true, &sum),
            check("body contains \"six\"", false, "{\"n\": 5}"),
            check("item $.n is a number", true, "5"),
            check("item $.m is a number", false, "absent"),
        ]
    );
    assert!(exchange.spans.get(FIRST + 1 + 2).is_some(), "behind the spans of http");
}
