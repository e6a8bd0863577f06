//! Sizes exact to the byte, digests that the receiver finds again.

use engine::driver::Call;
use plan::diagnostic::Span;
use plan::template::{Scope, Template};
use sha2::{Digest, Sha256};

use super::filler::{Filler, LINE};
use super::generated::Generated;
use super::given::Given;
use super::header::{Header, Piece};
use super::{Content, LEAD, MessageContext, Rendered};
use crate::smtp::codec::text::{Dots, body_of};

fn call(sequence: u64, now: u64) -> Call {
    Call { index: sequence, sequence, trial: 1, seed: 7, now, ..Call::default() }
}

fn template(text: &str) -> Template {
    Template::compile(text, Span::default(), Scope::default()).unwrap()
}

fn header() -> Header {
    let mut header = Header::default();
    header.text("X-Proofload-Nonce: ");
    header.piece(Piece::Value(template("{{nonce}}")));
    header.text("\r\nX-Proofload-Digest: sha256=");
    header.piece(Piece::Digest);
    header.text("\r\nSubject: number ");
    header.piece(Piece::Value(template("{{sequence}}")));
    header.text("\r\n\r\n");
    header
}

fn generated(size: u64) -> Content {
    let call = call(0, 1_000_000_000);
    let example = MessageContext { call: &call, rows: None, dots: true };
    let (header, nonce) = (header(), template("{{nonce}}"));
    Content::Generated(Box::new(Generated::new(size, header, nonce, false, &example).unwrap()))
}

/// All that is sent of a content.
fn wire(content: &Content, call: &Call, dots: bool) -> (Vec<u8>, u64) {
    let mut out = Rendered::default();
    content.render(&MessageContext { call, rows: None, dots }, &mut out).unwrap();
    let shared = &content.shared(dots)[..out.shared];
    let parts = [&out.bytes[LEAD..out.split], shared, &out.bytes[out.split..]];
    (parts.concat(), out.size)
}

/// The message that a receiver makes of what was sent: dots taken away line by line, up to the line of a single one.
fn received(wire: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    for line in wire.split_inclusive(|byte| *byte == b'\n') {
        assert!(line.ends_with(b"\r\n"), "a line that ends otherwise");
        assert!(line.len() <= 1000, "a line of {} bytes", line.len());
        match line.strip_prefix(b".") {
            Some(b"\r\n") => return message,
            Some(rest) => message.extend_from_slice(rest),
            None => message.extend_from_slice(line),
        }
    }
    panic!("no end of data");
}

#[track_caller]
fn check(message: &[u8], size: u64) {
    assert_eq!(message.len() as u64, size);
    let body = &message[body_of(message).expect("header and body")..];
    let hex: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    let text = String::from_utf8_lossy(message);
    assert!(
        text.contains(&format!("X-Proofload-Digest: sha256={hex}\r\n")),
        "the digest is another"
    );
}

#[test]
fn sizes_are_exact_and_digests_are_those_of_the_body() {
    let around = |size: u64| (size - 90)..(size + 90);
    for size in (300..700).chain(around(1024)).chain([10_240, 102_400, 1_048_576]) {
        let content = generated(size);
        // Nonces of all lengths: the header and the last line are longer and shorter than in the example.
        for (sequence, now) in [(0, 1), (9, 999_999_999), (123_456, u64::MAX)] {
            let call = call(sequence, now);
            let (sent, told) = wire(&content, &call, true);
            let message = received(&sent);
            assert_eq!(told, size);
            check(&message, size);
            assert_eq!(wire(&content, &call, false).0, message, "BDAT sends it without dots");
        }
    }
}

#[test]
fn bodies_differ_and_some_lines_begin_with_a_dot() {
    let content = generated(1024);
    let [one, other] = [1, 2].map(|now| wire(&content, &call(now, now), true).0);
    assert_ne!(received(&one), received(&other));
    let dots = one.windows(4).filter(|four| four == b"\r\n..").count();
    assert!(dots >= 1, "dots are not exercised");
    assert!(one.ends_with(b"\r\n.\r\n"));
    let last = received(&one);
    let nonce = last.strip_suffix(b"\r\n").unwrap().rsplit(|byte| *byte == b'\n').next().unwrap();
    assert!(String::from_utf8_lossy(nonce).contains("00000001"), "the last line is the nonce's");
}

#[test]
fn filler_of_both_forms_is_the_same_text() {
    for lines in 0..23 {
        let filler = Filler::new(30, lines % 2 == 0);
        let mut stuffed = Vec::new();
        Dots::default().push(filler.lines(lines, false), &mut stuffed);
        assert_eq!(filler.lines(lines, true), stuffed);
        assert_eq!(filler.lines(lines, false).len(), lines * LINE);
        assert!(
            filler.lines(lines, false).split(|byte| *byte == b'\n').all(|line| line.len() < LINE)
        );
    }
    assert!(std::str::from_utf8(Filler::new(100, true).bytes(false)).is_ok());
    assert!(!Filler::new(100, true).bytes(false).is_ascii());
    assert!(Filler::new(100, false).bytes(false).is_ascii());
}

#[test]
fn a_header_that_leaves_no_room_is_an_error() {
    let call = call(0, 1);
    let example = MessageContext { call: &call, rows: None, dots: true };
    let error = Generated::new(100, header(), template("{{nonce}}"), false, &example);
    let error = error.expect_err("too small");
    assert!(error.needed > 100 && error.size == 100, "{error}");
    let exactly = Generated::new(error.needed, header(), template("{{nonce}}"), false, &example);
    let exactly = Content::Generated(Box::new(exactly.unwrap()));
    check(&received(&wire(&exactly, &call, true).0), error.needed);
    let longer = Call { now: u64::MAX, ..call };
    let context = MessageContext { call: &longer, rows: None, dots: true };
    assert!(exactly.render(&context, &mut Rendered::default()).is_err(), "a nonce of more digits");
}

#[test]
fn given_bodies_and_messages_are_sent_as_they_are() {
    let body = |text: &str| Content::Given(vec![Given::body(header(), template(text))]);
    let (sent, size) = wire(&body("one\n.two\n\n.\nlast"), &call(1, 5), true);
    let message = received(&sent);
    check(&message, size);
    assert!(message.ends_with(b"\r\n\r\none\r\n.two\r\n\r\n.\r\nlast\r\n"));
    let (templated, _) = wire(&body("one\n.{{sequence}}\n\n.\nlast"), &call(1, 5), true);
    let text = String::from_utf8(received(&templated)).unwrap();
    assert!(text.ends_with("\r\n\r\none\r\n.1\r\n\r\n.\r\nlast\r\n"), "{text}");
    check(&received(&templated), text.len() as u64);

    let mut marks = Header::default();
    marks.text("X-Proofload-Digest: sha256=");
    marks.piece(Piece::Digest);
    marks.text("\r\n");
    let messages = ["A: 1\n\nfirst\n", "A: 2\n\n\n.second {{trial}}\n"];
    let given = messages.map(|text| Given::message(marks.clone(), template(text)));
    let content = Content::Given(given.into());
    for (sequence, end) in [
        (0, "A: 1\r\n\r\nfirst\r\n"),
        (1, "A: 2\r\n\r\n\r\n.second 1\r\n"),
        (2, "A: 1\r\n\r\nfirst\r\n"),
    ] {
        let (sent, size) = wire(&content, &call(sequence, 5), true);
        let message = received(&sent);
        check(&message, size);
        assert!(message.ends_with(end.as_bytes()), "{sequence}");
    }
}

#[test]
fn memory_is_kept_from_one_message_to_the_next() {
    let content = generated(102_400);
    let mut out = Rendered::default();
    let [one, other] = [call(1, 1_000), call(2, 2_000)];
    content.render(&MessageContext { call: &one, rows: None, dots: true }, &mut out).unwrap();
    assert_eq!(out.shared, content_lines(&out), "long filler is sent from where it lies");
    let (first, capacity) = (out.bytes.as_ptr(), out.bytes.capacity());
    content.render(&MessageContext { call: &other, rows: None, dots: true }, &mut out).unwrap();
    assert_eq!((out.bytes.as_ptr(), out.bytes.capacity()), (first, capacity));
    assert!(capacity < 4096, "a connection holds {capacity} bytes of 100 KiB");
}

/// The length that the shared part must have for the message to be of its size.
fn content_lines(out: &Rendered) -> usize {
    let filler = Filler::new(2_000, false);
    let own = out.bytes.len() - LEAD - b".\r\n".len();
    let plain = usize::try_from(out.size).unwrap() - own;
    assert_eq!(plain % LINE, 0, "whole lines are shared");
    filler.lines(plain / LINE, true).len()
}
