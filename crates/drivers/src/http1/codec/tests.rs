//! Answers cut at every offset, against what RFC 9112 makes of them.

use super::body::Body;
use super::chunked::{EXTENSIONS_LIMIT, TRAILERS_LIMIT};
use super::head::{self, Framing};
use crate::http::head::{Coding, FIELDS_LIMIT, HEAD_LIMIT};
use crate::http::protocol_error::ProtocolError;
use record::FailureKind;

/// What becomes of an answer whose connection is closed after it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Complete { status: u16, body: Vec<u8>, keep_alive: bool, trailing: usize },
    Incomplete,
    Faulty(ProtocolError),
}

fn complete(status: u16, body: &str, keep_alive: bool) -> Seen {
    Seen::Complete { status, body: body.into(), keep_alive, trailing: 0 }
}

/// Decodes an answer that arrives in pieces.
fn read(pieces: &[&[u8]], request_was_head: bool) -> Seen {
    match try_read(pieces, request_was_head) {
        Ok(seen) => seen,
        Err(fault) => Seen::Faulty(fault),
    }
}

fn try_read(pieces: &[&[u8]], request_was_head: bool) -> Result<Seen, ProtocolError> {
    let mut unread: Vec<u8> = Vec::new();
    let mut pieces = pieces.iter();
    let head = loop {
        match head::parse(&unread, request_was_head)? {
            Some(head) => {
                unread.drain(..head.length);
                if head.status >= 200 {
                    break head;
                }
            }
            None => match pieces.next() {
                Some(piece) => unread.extend_from_slice(piece),
                None => return Ok(Seen::Incomplete),
            },
        }
    };
    let mut decoder = Body::new(head.framing);
    let mut body = Vec::new();
    loop {
        while !unread.is_empty() && !decoder.is_done() {
            let (consumed, data) = decoder.decode(&unread)?;
            body.extend_from_slice(&unread[data]);
            unread.drain(..consumed);
        }
        match pieces.next() {
            Some(piece) => unread.extend_from_slice(piece),
            None if decoder.may_end() => break,
            None => return Ok(Seen::Incomplete),
        }
    }
    let (status, keep_alive) = (head.status, head.keep_alive);
    Ok(Seen::Complete { status, body, keep_alive, trailing: unread.len() })
}

/// Whole, cut at every offset, and byte by byte: always the same.
#[track_caller]
fn check(answer: &str, expected: Seen) {
    check_for(answer, false, expected);
}

#[track_caller]
fn check_for(answer: &str, request_was_head: bool, expected: Seen) {
    let bytes = answer.as_bytes();
    assert_eq!(read(&[bytes], request_was_head), expected, "whole: {answer:?}");
    for at in 0..=bytes.len() {
        let (first, second) = bytes.split_at(at);
        let seen = read(&[first, second], request_was_head);
        assert_eq!(seen, expected, "cut at {at}: {answer:?}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(read(&single, request_was_head), expected, "byte by byte: {answer:?}");
}

#[test]
fn a_length_frames_the_body() {
    check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", complete(200, "hello", true));
    check("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", complete(200, "", true));
    check("HTTP/1.1 200\r\ncontent-length:  2  \r\n\r\nok", complete(200, "ok", true));
    check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", Seen::Incomplete);
}

#[test]
fn equal_lengths_are_one_and_unequal_ones_are_refused() {
    let twice = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok";
    check(twice, complete(200, "ok", true));
    check("HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nok", complete(200, "ok", true));
    for (lengths, refused) in [
        ("content-length: 2\r\ncontent-length: 3", "3"),
        ("content-length: 2, 3", "2, 3"),
        ("content-length: +2", "+2"),
        ("content-length: -1", "-1"),
        ("content-length: 0x2", "0x2"),
        ("content-length: 2 2", "2 2"),
        ("content-length: ", ""),
        ("content-length: 2,", "2,"),
        ("content-length: 18446744073709551616", "18446744073709551616"),
    ] {
        let answer = format!("HTTP/1.1 200 OK\r\n{lengths}\r\n\r\nok");
        check(&answer, Seen::Faulty(ProtocolError::ContentLength(refused.to_owned())));
    }
}

#[test]
fn chunks_frame_the_body() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (body, expected) in [
        ("0\r\n\r\n", complete(200, "", true)),
        ("5\r\nhello\r\n0\r\n\r\n", complete(200, "hello", true)),
        ("2\r\nhe\r\n003\r\nllo\r\n000\r\n\r\n", complete(200, "hello", true)),
        (
            "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n",
            complete(200, "01234567890123456789", true),
        ),
        ("5;name=value;other=\"x y\"\r\nhello\r\n0;last\r\n\r\n", complete(200, "hello", true)),
        ("5 \t\r\nhello\r\n0\r\n\r\n", complete(200, "hello", true)),
        ("2\r\nok\r\n0\r\nExpires: never\r\nX: y\r\n\r\n", complete(200, "ok", true)),
        ("2\r\n\r\n\r\n0\r\n\r\n", complete(200, "\r\n", true)),
        ("5\r\nhello\r\n", Seen::Incomplete),
        ("5\r\nhel", Seen::Incomplete),
        ("5\r\nhello\r\n0\r\n", Seen::Incomplete),
        ("\r\n", Seen::Faulty(ProtocolError::ChunkSize(b'\r'))),
        ("g\r\n", Seen::Faulty(ProtocolError::ChunkSize(b'g'))),
        ("5 5\r\n", Seen::Faulty(ProtocolError::ChunkSize(b'5'))),
        ("-1\r\n", Seen::Faulty(ProtocolError::ChunkSize(b'-'))),
        ("5\nhello\n0\n\n", Seen::Faulty(ProtocolError::ChunkSize(b'\n'))),
        ("5\r\nhello!\r\n", Seen::Faulty(ProtocolError::ChunkEnd(b'!'))),
        ("2\r\nok\rX", Seen::Faulty(ProtocolError::ChunkEnd(b'X'))),
        ("2;a\nok", Seen::Faulty(ProtocolError::ChunkEnd(b'\n'))),
        ("0\r\nX: y\n\r\n", Seen::Faulty(ProtocolError::Trailer(b'\n'))),
        ("0\r\nX : y\r\n\r\n", Seen::Faulty(ProtocolError::Trailer(b' '))),
        ("0\r\n\rX", Seen::Faulty(ProtocolError::ChunkEnd(b'X'))),
        ("10000000000000000\r\n", Seen::Faulty(ProtocolError::ChunkOverflow)),
    ] {
        check(&format!("{head}{body}"), expected);
    }
}

#[test]
fn transfer_encoding_wins_over_length_and_ends_the_connection() {
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n";
    check(&format!("{both}2\r\nok\r\n0\r\n\r\n"), complete(200, "ok", false));
    let gzip_chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n";
    check(&format!("{gzip_chunked}2\r\nok\r\n0\r\n\r\n"), complete(200, "ok", true));
    let not_last = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n";
    check(&format!("{not_last}2\r\nok"), complete(200, "2\r\nok", false));
    let old = "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    check(old, Seen::Faulty(ProtocolError::CodedHttp10));
}

#[test]
fn without_framing_the_body_ends_with_the_connection() {
    check("HTTP/1.1 200 OK\r\n\r\nall of it\r\n", complete(200, "all of it\r\n", false));
    check("HTTP/1.0 200 OK\r\n\r\n", complete(200, "", false));
}

#[test]
fn some_answers_have_no_body_whatever_they_say() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";
    check_for(head, true, complete(200, "", true));
    check_for(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        true,
        complete(200, "", true),
    );
    check("HTTP/1.1 204 No Content\r\nContent-Length: 10\r\n\r\n", complete(204, "", true));
    check("HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", complete(304, "", true));
}

#[test]
fn interim_answers_are_skipped_and_an_upgrade_is_refused() {
    let last = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let hints = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
    check(&format!("HTTP/1.1 100 Continue\r\n\r\n{last}"), complete(200, "ok", true));
    check(&format!("HTTP/1.1 100 Continue\r\n\r\n{hints}{last}"), complete(200, "ok", true));
    let upgrade = "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n";
    check(upgrade, Seen::Faulty(ProtocolError::Upgrade));
}

#[test]
fn keep_alive_follows_version_and_connection() {
    for (version, connection, keep_alive) in [
        ("1.1", "", true),
        ("1.1", "Connection: close\r\n", false),
        ("1.1", "connection: upgrade, CLOSE\r\n", false),
        ("1.1", "connection: keep-alive\r\nconnection: close\r\n", false),
        ("1.0", "", false),
        ("1.0", "connection: Keep-Alive\r\n", true),
        ("1.0", "connection: keep-alive, close\r\n", false),
    ] {
        let answer = format!("HTTP/{version} 200 OK\r\n{connection}content-length: 2\r\n\r\nok");
        check(&answer, complete(200, "ok", keep_alive));
    }
}

#[test]
fn what_comes_after_the_end_is_noticed() {
    let expected =
        Seen::Complete { status: 200, body: b"ok".to_vec(), keep_alive: true, trailing: 3 };
    check("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok!!!", expected.clone());
    check("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n!!!", expected);
}

#[test]
fn garbage_is_malformed() {
    for answer in [
        "SSH-2.0-OpenSSH_9.6\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 000 OK\r\n\r\n",
        "HTTP/1.1 20x OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nname : value\r\n\r\n",
        "HTTP/1.1 200 OK\r\na: b\r\n folded\r\n\r\n",
        "\u{16}\u{3}\u{1}",
    ] {
        let seen = read(&[answer.as_bytes()], false);
        let is_malformed =
            matches!(&seen, Seen::Faulty(fault) if fault.kind() == FailureKind::Malformed);
        assert!(is_malformed, "{answer:?}: {seen:?}");
    }
}

#[test]
fn limits_are_kinds_of_their_own() {
    let field = "x-filler: 0123456789012345678901234567890123456789012345678901234567890123\r\n";
    let long = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(HEAD_LIMIT));
    assert_eq!(
        read(&[long.as_bytes()], false),
        Seen::Faulty(ProtocolError::HeadTooLong(HEAD_LIMIT))
    );
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", field.repeat(FIELDS_LIMIT + 1));
    assert_eq!(
        read(&[many.as_bytes()], false),
        Seen::Faulty(ProtocolError::TooManyFields(FIELDS_LIMIT))
    );
    let fits = format!("HTTP/1.1 204 OK\r\n{}\r\n", field.repeat(FIELDS_LIMIT));
    assert_eq!(read(&[fits.as_bytes()], false), complete(204, "", true));
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let extended = format!("{head}1;{}", "e".repeat(EXTENSIONS_LIMIT));
    let fault = ProtocolError::ExtensionsTooLong(EXTENSIONS_LIMIT);
    assert_eq!(fault.kind(), FailureKind::TooLarge);
    assert_eq!(read(&[extended.as_bytes()], false), Seen::Faulty(fault));
    let trailed = format!("{head}0\r\nx: {}", "t".repeat(TRAILERS_LIMIT));
    let fault = ProtocolError::TrailersTooLong(TRAILERS_LIMIT);
    assert_eq!(read(&[trailed.as_bytes()], false), Seen::Faulty(fault));
}

#[test]
fn the_coding_of_the_content_is_seen() {
    for (field, coding) in [
        ("x: y", Coding::Identity),
        ("content-encoding: identity", Coding::Identity),
        ("Content-Encoding: GZIP", Coding::Gzip),
        ("content-encoding: x-gzip", Coding::Gzip),
        ("content-encoding: deflate", Coding::Deflate),
        ("content-encoding: br", Coding::Brotli),
        ("content-encoding: zstd", Coding::Zstd),
        ("content-encoding: compress", Coding::Other),
        ("content-encoding: gzip, br", Coding::Other),
    ] {
        let answer = format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n");
        let head = head::parse(answer.as_bytes(), false).unwrap().unwrap();
        assert_eq!((head.coding, head.framing), (coding, Framing::UntilClose), "{field}");
    }
}

#[test]
fn a_cookie_that_is_set_is_seen() {
    for (field, sets) in [("Set-Cookie: a=b", true), ("connection: close", false)] {
        let answer = format!("HTTP/1.1 200 OK\r\nx: y\r\n{field}\r\n\r\n");
        let head = head::parse(answer.as_bytes(), false).unwrap().unwrap();
        assert_eq!((head.sets_cookie, head.keep_alive), (sets, false), "{field}");
    }
}
