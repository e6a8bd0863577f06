use record::FailureKind;

use super::acknowledgement::{self, Acknowledgement};
use super::command::{Publication, is_subject};
use super::frame::{Frame, FrameError, INFO_LIMIT, LINE_LIMIT, MESSAGE_LIMIT, Message, Progress};
use super::info::Info;
use super::{headers, server_error};

fn message<'a>(subject: &'a [u8], sid: u64, headers: &'a [u8], payload: &'a [u8]) -> Frame<'a> {
    Frame::Message(Message { subject, sid, headers, payload })
}

/// Examples of the specification, and what they are.
fn frames() -> Vec<(&'static [u8], Frame<'static>)> {
    const BAR: &[u8] = b"NATS/1.0\r\nFoodGroup: vegetable\r\n\r\n";
    vec![
        (b"INFO {\"server_id\":\"N\"}\r\n", Frame::Info(b"{\"server_id\":\"N\"}")),
        (b"info {}\r\n", Frame::Info(b"{}")),
        (b"MSG FOO.BAR 9 11\r\nHello World\r\n", message(b"FOO.BAR", 9, b"", b"Hello World")),
        (b"MSG FOO.BAR 9 GREETING.34 3\r\na\r\n\r\n", message(b"FOO.BAR", 9, b"", b"a\r\n")),
        (b"MSG \t a  1\t0 \r\n\r\n", message(b"a", 1, b"", b"")),
        (
            b"HMSG FOO.BAR 9 34 45\r\nNATS/1.0\r\nFoodGroup: vegetable\r\n\r\nHello World\r\n",
            message(b"FOO.BAR", 9, BAR, b"Hello World"),
        ),
        (
            b"HMSG FOO.BAR 9 BAZ.69 34 34\r\nNATS/1.0\r\nFoodGroup: vegetable\r\n\r\n\r\n",
            message(b"FOO.BAR", 9, BAR, b""),
        ),
        (
            b"HMSG _INBOX.x.0-1 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n",
            message(b"_INBOX.x.0-1", 1, b"NATS/1.0 503\r\n\r\n", b""),
        ),
        (b"PING\r\n", Frame::Ping),
        (b"PONG\r\n", Frame::Pong),
        (b"+OK\r\n", Frame::Ok),
        (b"-ERR 'Unknown Protocol Operation'\r\n", Frame::Error(b"Unknown Protocol Operation")),
        (b"-ERR\r\n", Frame::Error(b"")),
        (b"-ERR it's\r\n", Frame::Error(b"it's")),
    ]
}

#[test]
fn a_frame_ends_where_it_ends_however_it_was_split() {
    for (bytes, expected) in frames() {
        let shown = String::from_utf8_lossy(bytes);
        let both = [bytes, b"PONG\r\n"].concat();
        for split in 0..bytes.len() {
            let mut progress = Progress::default();
            for end in [split, bytes.len() - 1] {
                assert_eq!(progress.next(&both[..end]), Ok(None), "{shown} at {split}");
            }
            let whole = progress.next(&both);
            assert_eq!(whole, Ok(Some((expected, bytes.len()))), "{shown} at {split}");
            assert_eq!(progress.next(b"PONG\r\n"), Ok(Some((Frame::Pong, 6))), "{shown}");
        }
        let mut progress = Progress::default();
        let found = (0..=bytes.len()).filter_map(|end| progress.next(&bytes[..end]).unwrap());
        assert_eq!(found.collect::<Vec<_>>(), [(expected, bytes.len())], "{shown}");
    }
}

#[test]
fn what_breaks_a_rule_is_malformed_and_what_is_long_is_too_large() {
    let line = [&b"-ERR '"[..], &b"x".repeat(LINE_LIMIT)].concat();
    let ended = [&line[..], b"'\r\n"].concat();
    let info = [&b"INFO {\"a\":\""[..], &b"x".repeat(INFO_LIMIT)].concat();
    let cases: [(&[u8], FrameError); 26] = [
        (b"HTTP/1.1 400 Bad Request\r\n", FrameError::Operation),
        (b"\0", FrameError::Operation),
        (b"\r\n", FrameError::Operation),
        (b"PINGS\r\n", FrameError::Operation),
        (b"PING\n", FrameError::LineEnd),
        (b"PI\rNG\r\n", FrameError::LineEnd),
        (b"MSG a 1 2\r\nabc\r\n", FrameError::LineEnd),
        (b"MSG a 1 2\r\nab\n\n", FrameError::LineEnd),
        (b"PING 1\r\n", FrameError::Fields),
        (b"MSG a 1\r\n", FrameError::Fields),
        (b"MSG a 1 b 1 1\r\n", FrameError::Fields),
        (b"MSG a b c 1 1 1\r\n", FrameError::Fields),
        (b"MSG a -1 1\r\n", FrameError::Fields),
        (b"HMSG a 1 12\r\n", FrameError::Fields),
        (b"MSG a 1 -1\r\n", FrameError::Length),
        (b"MSG a 1 +1\r\n", FrameError::Length),
        (b"MSG a 1 0x1\r\n", FrameError::Length),
        (b"MSG a 1 16777217\r\n", FrameError::Long),
        (b"MSG a 1 9223372036854775808\r\n", FrameError::Long),
        (b"MSG a 1 99999999999999999999999\r\n", FrameError::Long),
        (b"HMSG a 1 20 12\r\n", FrameError::Headers),
        (b"HMSG a 1 0 0\r\n", FrameError::Headers),
        (b"HMSG a 1 12 12\r\nHTTP/1.0\r\n\r\n\r\n", FrameError::Headers),
        (b"HMSG a 1 12 14\r\nNATS/1.0\r\na:\r\n\r\n", FrameError::Headers),
        (&line, FrameError::Long),
        (&info, FrameError::Long),
    ];
    for (bytes, error) in cases {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]);
        assert_eq!(Progress::default().next(bytes), Err(error), "{shown:?}");
        let kind =
            if error == FrameError::Long { FailureKind::TooLarge } else { FailureKind::Malformed };
        assert_eq!(error.kind(), kind);
    }
    assert_eq!(Progress::default().next(&ended), Err(FrameError::Long));
    let (longest, mut progress) = (format!("MSG a 1 {MESSAGE_LIMIT}\r\n"), Progress::default());
    assert_eq!(progress.next(longest.as_bytes()), Ok(None));
    assert_eq!(progress.needed(), longest.len() + MESSAGE_LIMIT + 2);
}

#[test]
fn a_publication_is_written_as_the_specification_says() {
    let write = |reply_to: &[u8], headers: &[u8], payload: &[u8]| {
        let mut out = Vec::new();
        Publication { subject: b"FOO", reply_to, headers, payload }.write(&mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(write(b"", b"", b"Hello NATS!"), "PUB FOO 11\r\nHello NATS!\r\n");
    assert_eq!(write(b"JOKE.22", b"", b""), "PUB FOO JOKE.22 0\r\n\r\n");
    let header = b"NATS/1.0\r\nBar: Baz\r\n\r\n";
    let head = "NATS/1.0\r\nBar: Baz\r\n\r\n";
    assert_eq!(
        write(b"", header, b"Hello NATS!"),
        format!("HPUB FOO 22 33\r\n{head}Hello NATS!\r\n")
    );
    assert_eq!(write(b"J.2", header, b""), format!("HPUB FOO J.2 22 22\r\n{head}\r\n"));
}

#[test]
fn a_subject_is_words_between_dots() {
    for good in [&b"a"[..], b"a.b-c.$JS.API", "k\u{e4}se".as_bytes(), b"a*b"] {
        assert!(is_subject(good), "{good:?}");
    }
    for bad in
        [&b""[..], b".", b"a.", b".a", b"a..b", b"a b", b"a.*", b"a.>", b"a\r\nPING", b"a\x7f"]
    {
        assert!(!is_subject(bad), "{bad:?}");
    }
}

#[test]
fn headers_have_a_status_and_fields() {
    let status = |headers| headers::status(headers).map(|(code, text)| (code, text.to_vec()));
    assert_eq!(status(b"NATS/1.0 503\r\n\r\n"), Some((503, Vec::new())));
    assert_eq!(status(b"NATS/1.0 404 No Messages\r\n\r\n"), Some((404, b"No Messages".to_vec())));
    assert_eq!(status(b"NATS/1.0\r\nStatus: 503\r\n\r\n"), None);
    assert_eq!(status(b"NATS/1.0 no\r\n\r\n"), None);
    let fields = b"NATS/1.0\r\nA: 1\r\nb:2 \r\nA: 3\r\nempty:\r\n\r\n";
    for (name, value) in [("a", Some("1")), ("B", Some("2")), ("empty", Some("")), ("c", None)] {
        assert_eq!(headers::field(fields, name.as_bytes()), value.map(str::as_bytes), "{name}");
    }
}

#[test]
fn an_error_has_a_name_and_is_final_or_not() {
    for (text, name, is_final) in [
        ("Authorization Violation", "authorization", true),
        ("User Authentication Expired", "authorization", true),
        ("Authentication Timeout", "authorization", true),
        ("Permissions Violation for Publish to \"a.b\"", "permissions", false),
        ("permissions violation for Subscription to \"_INBOX.x.*\"", "permissions", false),
        ("Maximum Payload Violation", "max_payload", true),
        ("maximum connections exceeded", "max_connections", true),
        ("Secure Connection - TLS Required", "tls_required", true),
        ("Slow Consumer", "slow_consumer", true),
        ("Stale Connection", "stale_connection", true),
        ("'hunter2' is no password", "error", true),
        ("Invalid Subject", "invalid_subject", false),
        ("Parser Error", "parser_error", true),
        ("\x1b[2J", "error", true),
        ("", "error", true),
    ] {
        assert_eq!(server_error::name(text.as_bytes()), name, "{text}");
        assert_eq!(server_error::is_final(text.as_bytes()), is_final, "{text}");
    }
    let violation = b"Permissions Violation for Publish to \"a.b\"";
    assert_eq!(server_error::subject(violation), Some(&b"a.b"[..]));
    assert_eq!(server_error::subject(b"Slow Consumer"), None);
    assert_eq!(server_error::subject(b"to \"a"), None);
    assert_eq!(server_error::shown(b"a\x1b[2J\xff"), "a?[2J?");
    assert_eq!(server_error::shown(&b"x".repeat(500)).chars().count(), 201);
}

#[test]
fn an_acknowledgement_stores_or_refuses() {
    for stored in [
        &br#"{"stream":"ORDERS","seq":12}"#[..],
        br#"{"type":"io.nats.jetstream.api.v1.pub_ack_response","stream":"O","seq":1,"duplicate":true}"#,
        br#"{"stream":"O","domain":"hub","seq":1}"#,
    ] {
        assert_eq!(acknowledgement::read(stored), Some(Acknowledgement::Stored));
    }
    let refused = br#"{"error":{"code":404,"err_code":10059,"description":"stream not found"},"stream":"","seq":0}"#;
    let Some(Acknowledgement::Refused(error)) = acknowledgement::read(refused) else { panic!() };
    assert_eq!((error.name().as_str(), &*error.description), ("JS10059", "stream not found"));
    let Some(Acknowledgement::Refused(error)) = acknowledgement::read(br#"{"error":{"code":503}}"#)
    else {
        panic!()
    };
    assert_eq!(error.name(), "JS503");
    for other in [
        &b""[..],
        b"+ACK",
        b"{}",
        br#"{"stream":"O"}"#,
        br#"{"seq":1}"#,
        b"[1]",
        b"[null,1,2]",
        b"null",
    ] {
        assert_eq!(acknowledgement::read(other), None, "{other:?}");
    }
}

#[test]
fn info_says_what_the_server_is_and_may_say_more() {
    let info = br#"{"server_id":"NA","server_name":"x","version":"2.9.10","proto":1,"headers":true,"max_payload":1048576,
        "jetstream":true,"client_id":5,"client_ip":"127.0.0.1","tls_required":true,"connect_urls":["a:1"]}"#;
    let parsed = Info::parse(info).unwrap();
    let expected = Info {
        server_id: "NA".into(),
        client_id: Some(5),
        max_payload: Some(1 << 20),
        tls_required: true,
        headers: true,
        ..Info::default()
    };
    assert_eq!(parsed, expected);
    assert!(parsed.offers_tls() && !Info::default().offers_tls());
    assert_eq!(Info::parse(b"{}"), Ok(Info::default()));
    let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
    for wrong in [&b"{"[..], b"[]", b"", b"{\"max_payload\":-1}", b"{\"headers\":1}", &deep] {
        assert_eq!(Info::parse(wrong), Err(FrameError::Info));
    }
}
