//! Known bytes, cut everywhere.

use record::FailureKind;

use super::offers::{Extension, Offers};
use super::reply::{Class, REPLY_LIMIT, Reply, ReplyError, enhanced, parse};
use super::text::{Dots, LineEnds, body_of, lines};

/// What is found when the bytes come one after the other: the length at which there was a verdict, and the verdict.
fn in_pieces(bytes: &[u8]) -> (usize, Result<Option<Reply>, ReplyError>) {
    for length in 0..=bytes.len() {
        match parse(&bytes[..length]) {
            Ok(None) => {}
            verdict => return (length, verdict),
        }
    }
    (bytes.len(), Ok(None))
}

#[test]
fn a_reply_is_complete_at_its_last_byte_and_not_before() {
    for (text, code) in [
        ("220 mail.example ESMTP\r\n", 220),
        ("250\r\n", 250),
        ("250 \r\n", 250),
        ("250-mail.example\r\n250-SIZE 1\r\n250 HELP\r\n", 250),
        ("250-a\r\n250\r\n", 250),
        ("421-too\r\n421-many\r\n421 4.7.0 connections\r\n", 421),
        ("555 \u{fc}ber\r\n", 555),
    ] {
        let reply = Reply { code, length: text.len() };
        assert_eq!(in_pieces(text.as_bytes()), (text.len(), Ok(Some(reply))), "{text}");
        let more = format!("{text}250 next\r\n");
        assert_eq!(parse(more.as_bytes()), Ok(Some(reply)), "what follows is the next reply");
    }
}

#[test]
fn what_is_no_reply_is_told_as_soon_as_it_can_be_seen() {
    for (text, at) in [
        ("HTTP/1.1 400 Bad Request\r\n", 1),
        ("650 x\r\n", 1),
        ("190 x\r\n", 1),
        ("260 x\r\n", 2),
        ("25x ok\r\n", 3),
        ("25\r\n", 3),
        ("250ok\r\n", 4),
        ("250_ok\r\n", 4),
        ("\r\n", 1),
        ("250-a\r\nok\r\n", 8),
    ] {
        let (length, verdict) = in_pieces(text.as_bytes());
        let fault = verdict.expect_err(text);
        assert!(matches!(fault, ReplyError::Form(_)), "{text}: {fault}");
        assert_eq!((length, fault.kind()), (at, FailureKind::Malformed), "{text}");
    }
    let two = in_pieces(b"250-a\r\n550 b\r\n");
    assert_eq!(two, (14, Err(ReplyError::Codes(250, 550))));
    let bare = parse(b"250 ok\n").expect_err("a bare line feed");
    assert_eq!(bare.to_string(), "a line of the reply ends without a carriage return: 250 ok");
}

#[test]
fn a_reply_without_end_is_too_large() {
    let line = [b"250 ".to_vec(), vec![b'x'; REPLY_LIMIT]].concat();
    assert_eq!(parse(&line[..REPLY_LIMIT - 1]), Ok(None));
    assert_eq!(parse(&line[..REPLY_LIMIT]), Err(ReplyError::TooLong));
    assert_eq!(ReplyError::TooLong.kind(), FailureKind::TooLarge);
    let lines = b"250-more\r\n".repeat(REPLY_LIMIT / 10 + 1);
    assert_eq!(parse(&lines), Err(ReplyError::TooLong));
}

/// Every text of up to six of these bytes: there is a verdict or none, and what comes later never changes it.
#[test]
fn a_verdict_stands_whatever_comes_later() {
    const BYTES: &[u8] = b"205- \r\nx";
    let mut verdicts = 0;
    for length in 1..=6 {
        for number in 0..BYTES.len().pow(length) {
            let byte = |place| BYTES[number / BYTES.len().pow(place) % BYTES.len()];
            let text: Vec<u8> = (0..length).map(byte).collect();
            match (parse(&text[..text.len() - 1]), parse(&text)) {
                (Ok(None), verdict) => verdicts += usize::from(verdict != Ok(None)),
                (Ok(Some(reply)), verdict) => assert_eq!(verdict, Ok(Some(reply)), "{text:?}"),
                (Err(_), verdict) => assert!(verdict.is_err(), "{text:?}: {verdict:?}"),
            }
        }
    }
    assert!(verdicts > 500, "{verdicts} verdicts");
}

#[test]
fn the_first_digit_is_the_class() {
    let class = |code| Reply { code, length: 0 }.class();
    assert_eq!(
        [250, 354, 450, 550].map(class),
        [Class::Done, Class::GoOn, Class::Transient, Class::Permanent]
    );
}

#[test]
fn enhanced_codes_stand_at_the_beginning_or_not_at_all() {
    assert_eq!(enhanced(b"550 5.1.1 unknown\r\n"), Some((5, 1, 1)));
    assert_eq!(enhanced(b"452-4.3.123 full\r\n"), Some((4, 3, 123)));
    assert_eq!(enhanced(b"250 2.0.0\r\n"), Some((2, 0, 0)));
    for text in [
        "250 ok\r\n",
        "250 3.0.0 x\r\n",
        "250 2.0 x\r\n",
        "250 2.0.0.0 x\r\n",
        "250\r\n",
        "220 1.2.3.4 x\r\n",
        "550 5.+1.1 x\r\n",
        "550 5.1.1234 x\r\n",
    ] {
        assert_eq!(enhanced(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn offers_are_those_of_the_reply() {
    use Extension::{AuthLogin, AuthPlain, Chunking, EightBit, Pipelining, Size, StartTls, Utf8};
    let all = [Size, Pipelining, Chunking, StartTls, EightBit, Utf8, AuthPlain, AuthLogin];
    let of = |reply: &str| {
        let offers = Offers::parse(reply.as_bytes());
        all.into_iter().filter(|extension| offers.has(*extension)).collect::<Vec<_>>()
    };
    let everything = "250-mail.example Hello\r\n250-PIPELINING\r\n250-SIZE 10485760\r\n250-VRFY\r\n250-ETRN\r\n\
        250-STARTTLS\r\n250-AUTH PLAIN LOGIN\r\n250-ENHANCEDSTATUSCODES\r\n250-8BITMIME\r\n250-DSN\r\n\
        250-SMTPUTF8\r\n250-XSTRANGE=1 ?\r\n250 CHUNKING\r\n";
    assert_eq!(of(everything), all);
    assert_eq!(of("250 mail.example\r\n"), []);
    assert_eq!(
        of("250-smtp-sink\r\n250-PIPELINING\r\n250 \r\n"),
        [Pipelining],
        "as Postfix's sink ends it"
    );
    assert_eq!(of("250-mail.example\r\n250 size\r\n"), [Size]);
    assert_eq!(
        of("250-mail.example\r\n250-AUTH CRAM-MD5 LOGIN\r\n250 8bitmime\r\n"),
        [EightBit, AuthLogin]
    );
}

/// Lines as they are, and with their dots doubled.
const DOTTED: [(&str, &str); 8] = [
    ("", ""),
    (".\r\n", "..\r\n"),
    ("..\r\n", "...\r\n"),
    ("a.b\r\n", "a.b\r\n"),
    ("a\r\n.\r\n.b\r\n", "a\r\n..\r\n..b\r\n"),
    (".a\r\n\r\n.\r\nx", "..a\r\n\r\n..\r\nx"),
    ("\r\n.\r\n", "\r\n..\r\n"),
    ("no end.", "no end."),
];

#[test]
fn dots_are_doubled_wherever_the_text_is_cut() {
    for (plain, stuffed) in DOTTED {
        for first in 0..=plain.len() {
            for second in first..=plain.len() {
                let (mut dots, mut out) = (Dots::default(), Vec::new());
                for piece in [&plain[..first], &plain[first..second], &plain[second..]] {
                    dots.push(piece.as_bytes(), &mut out);
                }
                assert_eq!(out, stuffed.as_bytes(), "{plain:?} cut at {first} and {second}");
            }
        }
    }
}

/// Texts as people write them, and with the ends of lines that the protocol wants.
const ENDED: [(&str, &str); 10] = [
    ("", ""),
    ("a", "a\r\n"),
    ("a\n", "a\r\n"),
    ("a\r\n", "a\r\n"),
    ("a\r", "a\r\n"),
    ("a\n\nb", "a\r\n\r\nb\r\n"),
    ("a\r\rb", "a\r\n\r\nb\r\n"),
    ("a\n\r\nb\r\n", "a\r\n\r\nb\r\n"),
    ("\n.\n", "\r\n.\r\n"),
    ("\r\n\r", "\r\n\r\n"),
];

#[test]
fn every_line_ends_alike_wherever_the_text_is_cut() {
    for (text, ended) in ENDED {
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let (mut ends, mut out) = (LineEnds::default(), Vec::new());
                for piece in [&text[..first], &text[first..second], &text[second..]] {
                    ends.push(piece.as_bytes(), &mut out);
                }
                ends.finish(&mut out);
                assert_eq!(out, ended.as_bytes(), "{text:?} cut at {first} and {second}");
            }
        }
        let mut again = Vec::new();
        lines(ended.as_bytes(), &mut again);
        assert_eq!(again, ended.as_bytes(), "what is right stays as it is");
    }
}

#[test]
fn the_body_begins_after_the_first_empty_line() {
    assert_eq!(body_of(b"a: b\r\n\r\nbody\r\n\r\n"), Some(8));
    assert_eq!(body_of(b"\r\nbody"), Some(2));
    assert_eq!(body_of(b"a: b\r\n"), None);
    assert_eq!(body_of(b"a: b\r\n\r\n"), Some(8));
}
