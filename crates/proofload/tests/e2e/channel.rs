//! Exchanges over shared memory with a producer in this process, and what happens to them when it ends.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use shm_channel::{AnswerBuffer, CRC32, Checksum, Producer, Reply, Settings};

use crate::lab::{Lab, assert_accounting, assert_measured, only_trial};

/// CRC-32 by its definition, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), step);
    !bytes.iter().fold(u32::MAX, byte)
}

/// Answers `users COUNT NONCE` with the nonce, the count, and ten letters for each user; refuses a count of 0.
fn answer(request: &[u8], buffer: &mut AnswerBuffer<'_>) -> Reply {
    let text = std::str::from_utf8(request).expect("a request is text");
    let words: Vec<&str> = text.split(' ').collect();
    let ["users", count, nonce] = words[..] else { return Reply::Refused(400) };
    let Ok(users @ 1..) = count.parse::<usize>() else { return Reply::Refused(404) };
    let users = "0123456789".repeat(users);
    let answer = format!("{{\"nonce\":\"{nonce}\",\"count\":{count},\"users\":\"{users}\"}}");
    let value = u64::from(crc32(answer.as_bytes()));
    buffer.set_checksum(Checksum { kind: CRC32, value });
    buffer.put(answer.as_bytes())
}

/// A producer with eight slots and one kibibyte for an answer, and the thread that answers.
fn serve(
    socket: &Path,
    handler: impl FnMut(&[u8], &mut AnswerBuffer<'_>) -> Reply + Send + 'static,
) -> (Producer, JoinHandle<()>) {
    let settings = Settings { slots: 8, answer_room: 1024, ..Settings::default() };
    let (producer, mut workers) = Producer::bind(socket, settings).expect("a producer");
    let worker = workers.remove(0);
    (producer, spawn(move || worker.run(handler)))
}

fn stop((producer, thread): (Producer, JoinHandle<()>)) {
    drop(producer);
    thread.join().expect("the worker returns");
}

/// An experiment with this load; the socket is in the same folder.
fn experiment(load: &str, operations: &str) -> String {
    format!(
        "title = \"channel\"\n[target]\nurl = \"shm://channel\"\n\
         [load]\nwarm_up = \"0s\"\nsteady_state = \"reported\"\n{load}\n{operations}"
    )
}

const SMALL: &str = "[[operation]]\nname = \"small\"\nweight = 3\n\
    shm = { body = \"users 3 {{uuid}}\", spin = \"5us\", checksum = true }\n\
    expect = { contains = \"{{uuid}}\", json = { \"$.nonce\" = \"{{uuid}}\" } }\n\
    items = { count = \"$.count\" }\n";
const LARGE: &str = "[[operation]]\nname = \"large\"\n\
    shm = { body = \"users 300 {{uuid}}\", room = \"4KiB\", checksum = true, times = true }\n\
    expect = { contains = \"{{uuid}}\", body_size = \"3000B..4KiB\" }\n\
    items = { count = \"$.count\" }\n";

#[test]
fn every_nonce_comes_back_over_eight_connections() {
    let lab = Lab::new();
    std::fs::create_dir_all(lab.path("here")).expect("a folder");
    let served = serve(&lab.path("here/channel"), answer);
    let load = "connections = 8\noperations = 2000";
    lab.write("here/channel.toml", &experiment(load, &[SMALL, LARGE].concat()));
    let (ran, summary) = lab.run(&["here/channel.toml"]);
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.accounting.succeeded, 2000, "{:?}", trial.total.failures);
    for span in ["written", "waited", "read"] {
        assert_eq!(trial.total.spans[span].count, 2000, "{span}");
    }
    let welcomes = trial.total.spans["welcome"].count;
    assert!((1..=8).contains(&welcomes), "{welcomes} connections");
    assert_eq!(served.0.counts().damaged, 0);
    let [small, large] = &trial.operations[..] else { panic!("two operations") };
    for span in ["there", "producer", "back"] {
        assert_eq!(large.spans[span].count, large.succeeded, "{span}");
        assert!(small.spans.get(span).is_none_or(|span| span.count == 0), "nobody asked");
    }
    let mean = |spans: &[&str]| spans.iter().map(|span| large.spans[*span].mean_ns).sum::<u64>();
    let parted = mean(&["there", "producer", "back"]);
    assert!(
        parted.abs_diff(mean(&["written", "waited"])) <= 5,
        "but for the rounding of five means"
    );
    for (operation, users) in [(small, 3), (large, 300)] {
        let number = operation.succeeded;
        assert!(number > 0);
        assert_eq!(operation.items["count"].sum, (number * users) as f64);
        // The request, and the answer without its letters.
        let request = format!("users {users} ").len() as u64 + 36;
        assert_eq!(operation.bytes_sent, number * request);
        let around =
            format!("{{\"nonce\":\"\",\"count\":{users},\"users\":\"\"}}").len() as u64 + 36;
        assert_eq!(operation.bytes_received, number * (around + 10 * users));
    }
    stop(served);
}

/// Two clients of eight slots carry four exchanges each.
#[test]
fn every_nonce_comes_back_over_four_streams_of_two_connections() {
    let lab = Lab::new();
    let served = serve(&lab.path("channel"), answer);
    let load = "connections = 2\nstreams = 4\noperations = 2000";
    // Each answer fits into one slot: an answer that needs neighbouring slots may not find any while streams come and
    // go.
    let large =
        LARGE.replace("room = \"4KiB\", ", "").replace("300 ", "90 ").replace("3000B", "900B");
    lab.write("channel.toml", &experiment(load, &[SMALL, &large].concat()));
    let (ran, summary) = lab.run(&["channel.toml"]);
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.accounting.succeeded, 2000, "{:?}", trial.total.failures);
    let welcomes = trial.total.spans["welcome"].count;
    assert!((1..=2).contains(&welcomes), "{welcomes} connections");
    assert!(trial.in_flight.max <= 8, "{} in flight", trial.in_flight.max);
    assert_eq!(served.0.counts().damaged, 0);
    stop(served);
}

#[test]
fn refusals_and_answers_without_room_are_counted_by_kind() {
    let lab = Lab::new();
    let served = serve(&lab.path("channel"), answer);
    let operations = "[[operation]]\nname = \"some\"\n\
        shm = { body = \"users {{random 0..1}} {{uuid}}\" }\n\
        [[operation]]\nname = \"much\"\nshm = { body = \"users 300 {{uuid}}\" }\n";
    lab.write("channel.toml", &experiment("connections = 2\noperations = 400", operations));
    let (ran, summary) = lab.run(&["channel.toml"]);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    let [some, much] = &trial.operations[..] else { panic!("two operations") };
    assert!(some.succeeded > 0 && some.failed > 0, "{:?}", some.failures);
    assert_eq!(some.failures.keys().collect::<Vec<_>>(), ["status"]);
    assert_eq!(some.statuses.get("404"), Some(&some.failed), "{:?}", some.statuses);
    assert_eq!((much.succeeded, much.failures.get("too_large")), (0, Some(&much.failed)));
    let told = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("there is room for 1024: `room` lends more"), "{}", ran.stdout);
    assert!(trial.total.spans["welcome"].count <= 2, "a refusal ends no connection");
    stop(served);
}

#[test]
fn a_producer_that_dies_and_comes_back_costs_what_it_had() {
    let lab = Lab::new();
    let (dying, died) = channel();
    let mut answered = 0;
    let (producer, thread) = serve(&lab.path("channel"), move |request, buffer| {
        answered += 1;
        if answered > 200 {
            dying.send(()).expect("the test waits for it");
            resume_unwind(Box::new("the end of the producer"));
        }
        answer(request, buffer)
    });
    let load = "rate = \"500/s\"\narrivals = \"constant\"\nduration = \"2s\"\nconnections = 4";
    lab.write("channel.toml", &experiment(load, SMALL));
    let running = lab.start(&["run", "channel.toml", "--out", "run", "--quiet"]);
    died.recv_timeout(Duration::from_secs(30)).expect("200 exchanges in half a second's load");
    assert!(thread.join().is_err(), "it died amid an exchange");
    drop(producer);
    let served = serve(&lab.path("channel"), answer);
    let ran = running.finish();
    let summary = lab.summary("run").unwrap_or_else(|| panic!("no summary: {ran:?}"));
    let trial = only_trial(&summary);
    assert_accounting(trial);
    let failures = &trial.total.failures;
    assert!(failures.get("closed").is_some_and(|closed| *closed >= 1), "{failures:?}");
    let known = ["closed", "refused", "transient"];
    assert!(failures.keys().all(|kind| known.contains(&kind.as_str())), "{failures:?}");
    assert!(trial.accounting.succeeded > 200, "it came back: {ran:?}");
    stop(served);
}

#[test]
fn an_exchange_is_tried_and_shown() {
    let lab = Lab::new();
    let served = serve(&lab.path("channel"), answer);
    lab.write("channel.toml", &experiment("connections = 1\noperations = 5", SMALL));
    let ran = lab.proofload(&["check", "channel.toml", "--try"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for shown in [
        "> users 3 ",
        "\"users\":\"012345678901234567890123456789\"}",
        "holds: the checksum to be the answer's CRC-32 (seen: ",
        "holds: body contains \"{{uuid}}\"",
        "holds: item $.count is a number (seen: 3)",
        "succeeded",
    ] {
        assert!(ran.stdout.contains(shown), "{shown}: {}", ran.stdout);
    }
    stop(served);
    let ran = lab.proofload(&["check", "channel.toml", "--try"]);
    assert!(ran.stdout.contains("failed: refused"), "{ran:?}");
}

#[test]
fn what_is_wrong_with_the_file_is_said_all_at_once() {
    let lab = Lab::new();
    let operations = "[[operation]]\nname = \"small\"\n\
        shm = { room = \"4\", spin = \"1s\", checksums = true }\nexpect = { status = 200 }\n";
    let text = experiment("connections = 1\noperations = 5\nnew_connections = true", operations);
    lab.write("channel.toml", &text.replace("\"shm://channel\"", "\"shm://\""));
    let ran = lab.proofload(&["check", "channel.toml"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    for told in [
        "expected the path of a Unix socket",
        "missing key `body`",
        "a size from 1B to 4398046380032B such as 1KiB",
        "a duration of at most 1ms such as 20us",
        "did you mean `checksum`?",
        "unknown key `status`",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    let web = text.replace("shm = { room = \"4\", spin = \"1s\", checksums = true }", "http = {}");
    lab.write("astray.toml", &web);
    let ran = lab.proofload(&["check", "astray.toml"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("its target begins with http:// or https://"), "{}", ran.stderr);
}
