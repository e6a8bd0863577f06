//! Streams cut at every offset, against what the standard makes of them, and times of events on a clock of their own.

use engine::clock::Clock;
use engine::driver::Exchange;
use plan::document;
use record::FailureKind;

use super::framing::{EVENT_LIMIT, Format, Framing};
use super::reading::StreamReading;
use super::rules::StreamRules;
use crate::http::head::Coding;
use crate::http::protocol_error::ProtocolError;

/// The events of a stream that arrives in these pieces, and whether it ended within one.
fn events(format: Format, pieces: &[&[u8]]) -> (Vec<String>, bool) {
    let mut framing = Framing::default();
    let mut seen = Vec::new();
    let mut note = |data: &[u8]| seen.push(String::from_utf8_lossy(data).into_owned());
    for piece in pieces {
        framing.take(format, piece, true, &mut note).expect("short events");
    }
    let is_cut = framing.end(format, &mut note);
    (seen, is_cut)
}

/// Checks the events of a stream that is cut at any one place, and byte by byte.
#[track_caller]
fn check(format: Format, stream: &[u8], expected: &[&str], is_cut: bool) {
    let shown = String::from_utf8_lossy(stream);
    let expected = (expected.iter().map(|&event| event.to_owned()).collect::<Vec<_>>(), is_cut);
    for at in 0..=stream.len() {
        let (head, tail) = stream.split_at(at);
        assert_eq!(events(format, &[head, tail]), expected, "{shown:?} cut at {at}");
    }
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(events(format, &bytes), expected, "{shown:?} byte by byte");
}

#[test]
fn server_sent_events_are_parsed_as_the_standard_says() {
    let sse =
        |stream: &str, expected: &[&str]| check(Format::Sse, stream.as_bytes(), expected, false);
    // The examples of section 9.2.
    sse("data: YHOO\ndata: +2\ndata: 10\n\n", &["YHOO\n+2\n10"]);
    sse(
        ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
        &["first event", "second event", " third event"],
    );
    sse("data\n\ndata\ndata\n\n", &["", "\n"]);
    sse("data:test\n\ndata: test\n\n", &["test", "test"]);
    // Ends of lines, in any mixture.
    sse("data: a\r\ndata: b\r\n\r\ndata: c\r\rdata: d\n\r", &["a\nb", "c", "d"]);
    // A mark at the beginning alone, and after the first line it is text.
    sse("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["a"]);
    // Comments, unknown fields, ids with a null, times to reconnect, names.
    sse(
        ":\n:x\nevent: add\nretry: 10\nretry: x\nid: a\0b\nother: x\n data: x\ndata: y\n\n\n\n",
        &["y"],
    );
    sse("data: größe \u{1f600}\n\n", &["größe \u{1f600}"]);
    sse("", &[]);
    sse("\n\n\n: only a comment", &[]);
}

#[test]
fn an_event_without_its_empty_line_is_cut() {
    check(Format::Sse, b"data: a\n\ndata: b\n", &["a"], true);
    check(Format::Sse, b"data: a\n\ndata: b", &["a"], true);
    check(Format::Sse, b"data: a\n\nda", &["a"], true);
    check(Format::Sse, b"data: a\n\nid: 7\n", &["a"], false);
}

#[test]
fn broken_utf8_is_data() {
    check(Format::Sse, b"data: a\xffb\n\n", &["a\u{fffd}b"], false);
}

#[test]
fn lines_are_events_and_the_last_needs_no_end() {
    check(
        Format::Lines,
        b"{\"a\":1}\n\r\n {\"a\":2} \r\n{\"a\":3}",
        &["{\"a\":1}", "{\"a\":2}", "{\"a\":3}"],
        false,
    );
    check(Format::Lines, b"\n\n", &[], false);
}

#[test]
fn chunks_are_events_when_they_are_whole() {
    let mut framing = Framing::default();
    let mut seen = Vec::new();
    for (piece, ends) in
        [("ab", false), ("", false), ("c", true), ("", true), ("d", true), ("e", false)]
    {
        framing
            .take(Format::Chunks, piece.as_bytes(), ends, |data| seen.push(data.to_vec()))
            .unwrap();
    }
    assert_eq!(seen, [b"abc".to_vec(), b"d".to_vec()]);
    assert!(framing.end(Format::Chunks, |_| panic!("it is not whole")));
}

#[test]
fn an_event_without_end_is_refused_at_the_limit() {
    for (format, begin) in
        [(Format::Sse, "data:"), (Format::Sse, ":"), (Format::Lines, "["), (Format::Chunks, "")]
    {
        let mut framing = Framing::default();
        framing.take(format, begin.as_bytes(), false, |_| {}).unwrap();
        let piece = vec![b'x'; EVENT_LIMIT / 4];
        let mut taken = (0..5).map(|_| framing.take(format, &piece, false, |_| {}));
        assert_eq!(taken.find_map(Result::err), Some(ProtocolError::EventTooLong(EVENT_LIMIT)));
    }
    let mut framing = Framing::default();
    let line = [b"data:".as_slice(), &vec![b'x'; EVENT_LIMIT / 2], b"\n"].concat();
    framing.take(Format::Sse, &line, true, |_| {}).unwrap();
    let second = framing.take(Format::Sse, &line, true, |_| {});
    assert_eq!(second, Err(ProtocolError::EventTooLong(EVENT_LIMIT)), "of several lines");
}

#[derive(Clone, Debug)]
struct NoClock;

impl Clock for NoClock {
    fn now(&self) -> u64 {
        0
    }

    async fn sleep_until(&self, _: u64) {}
}

/// The rules of an operation with these tables.
fn rules(text: &str) -> StreamRules {
    let planned = crate::planned::planned("http", text);
    let draft = crate::http::compile::request::drafts(&planned).expect("it compiles");
    draft.expectation.stream.expect("a stream")
}

/// What became of a stream whose pieces came at these times.
fn read(rules: &StreamRules, pieces: &[(u64, &str)]) -> (StreamReading, Exchange<NoClock>) {
    let mut exchange = Exchange::new(NoClock);
    exchange.started_at = 1_000;
    let mut reading = StreamReading::default();
    reading.begin(rules, 200, Coding::Identity);
    for (at, piece) in pieces {
        exchange.read_at = 1_000 + at;
        reading.take(rules, piece.as_bytes(), true, &mut exchange).unwrap();
    }
    reading.end(rules, &mut exchange);
    (reading, exchange)
}

const CHAT: &str = r#"
[http]
stream = { format = "sse", event = "$.choices[0].delta.content" }
[expect]
last = "[DONE]"
events = "2.."
within = { first_event = "500ns", gap = "200ns", mean_gap = "150ns", last_event = "2us" }
"#;

fn token(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

#[test]
fn times_are_those_of_the_events_that_are_counted() {
    let rules = rules(CHAT);
    let (a, b) = (token("a"), token("b") + &token("c"));
    let pieces = [
        (100, token("")),
        (400, a),
        (500, "data: {\"choices\":[{\"delta\":{}}]}\n\n".to_owned()),
        (550, b),
        (560, token("d") + "data: {\"choices\":[]}\n\ndata: [DONE]\n\n"),
    ];
    let pieces: Vec<(u64, &str)> = pieces.iter().map(|(at, text)| (*at, text.as_str())).collect();
    let (reading, exchange) = read(&rules, &pieces);
    assert_eq!(reading.failure(&rules), None);
    let spans = [2, 3, 5, 6].map(|own| exchange.spans.get(Exchange::<NoClock>::FIRST_SPAN + own));
    assert_eq!(spans, [Some(400), Some(560), Some(150), Some(160 / 3)]);
    assert_eq!(reading.count(), 4);
}

/// The kind of failure of a stream of tokens at these times, with this end.
#[track_caller]
fn fails(times: &[u64], end: &str, expected: Option<(FailureKind, &str)>) {
    let rules = rules(CHAT);
    let text = token("x");
    let last = times.last().copied().unwrap_or_default();
    let pieces = times.iter().map(|&at| (at, text.as_str())).chain([(last, end)]);
    let (reading, _) = read(&rules, &pieces.collect::<Vec<_>>());
    let expected = expected.map(|(kind, detail)| (kind, detail.to_owned()));
    assert_eq!(reading.failure(&rules), expected);
}

#[test]
fn a_stream_that_is_not_what_is_expected_fails_under_its_kind() {
    use FailureKind::{CutShort, TooSlow, WrongContent};
    const DONE: &str = "data: [DONE]\n\n";
    fails(&[100, 200], DONE, None);
    fails(&[100, 200], "", Some((CutShort, "the stream ended after 2 events, before \"[DONE]\"")));
    fails(
        &[100, 200],
        "data: [DO",
        Some((CutShort, "the stream ended within an event, after 2 events")),
    );
    fails(&[100], DONE, Some((WrongContent, "1 event, expected at least 2")));
    fails(&[501, 502], DONE, Some((TooSlow, "first_event 501 ns, expected at most 500 ns")));
    fails(&[100, 301], DONE, Some((TooSlow, "gap 201 ns, expected at most 200 ns")));
    fails(&[100, 260, 450], DONE, Some((TooSlow, "mean_gap 175 ns, expected at most 150 ns")));
}

#[test]
fn items_are_numbers_and_counts_of_events() {
    let mut planned = crate::planned::planned(
        "http",
        "[http]\nstream = \"ndjson\"\n[items]\nused = \"$.usage.total\"",
    );
    let item = |name: &str, path: &str| plan::operation::Item {
        name: name.to_owned(),
        path: path.to_owned(),
        counts_events: true,
        span: document::parse("").0.span,
    };
    planned.items.extend([item("events", ""), item("with", "$.a")]);
    let draft = crate::http::compile::request::drafts(&planned).expect("it compiles");
    let rules = draft.expectation.stream.unwrap();
    let (reading, _) =
        read(&rules, &[(1, "{\"a\":1}\n{\"b\":1}\n{\"a\":\"\",\"usage\":{\"total\":7}}\n")]);
    assert_eq!(reading.items(), [7.0, 3.0, 1.0]);
}

#[test]
fn a_compressed_stream_and_another_status_are_no_streams() {
    let rules = rules(CHAT);
    let mut exchange = Exchange::new(NoClock);
    let mut reading = StreamReading::default();
    reading.begin(&rules, 200, Coding::Gzip);
    reading.take(&rules, b"\x1f\x8b", true, &mut exchange).unwrap();
    reading.end(&rules, &mut exchange);
    assert_eq!(reading.failure(&rules).map(|(kind, _)| kind), Some(FailureKind::WrongContent));
    reading.begin(&rules, 429, Coding::Identity);
    assert!(!reading.is_begun());
}
