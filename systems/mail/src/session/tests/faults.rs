//! Bad input and faults: bounded and answered, and the next message works.

use super::*;
use crate::faults::Faults;

const BEGIN: [(&str, &str); 4] =
    [("EHLO c", "250"), ("MAIL FROM:<a@b>", "250"), ("RCPT TO:<a@b>", "250"), ("DATA", "354")];

#[test]
fn what_a_store_refuses_is_said_and_the_session_goes_on() {
    let full = || Some(Refusal::new(452, (4, 3, 1), "Disk full"));
    for (at, during) in [(0, 452), (1, 354), (2, 354)] {
        with(&Settings::default(), |test, counts| {
            test.refusals[at] = full();
            test.holds(&BEGIN[..3]);
            assert_eq!(codes(&test.lines(&["DATA"])), [during]);
            if at > 0 {
                test.holds(&[("a", ""), ("b", ""), (".", "452 4.3.1 Disk full")]);
            }
            assert!(test.draft.is_none() && test.kept.is_empty());
            test.holds(&BEGIN[1..]);
            test.holds(&[(".", "250")]);
            assert_eq!((counts.accepted.get(), counts.refused.get()), (1, 1));
        });
    }
}

#[test]
fn what_a_store_refuses_of_a_chunk_is_said_after_the_chunk() {
    for at in 0..3 {
        with(&Settings::default(), |test, _| {
            test.refusals[at] = Some(Refusal::new(452, (4, 3, 1), "Disk full"));
            test.holds(&BEGIN[..3]);
            assert_eq!(codes(&test.feed(b"BDAT 6 LAST\r\nQUIT\r\nNOOP\r\n")), [452, 250]);
            assert!(test.draft.is_none() && test.kept.is_empty());
        });
    }
}

#[test]
fn a_bare_line_feed_ends_the_conversation_and_never_a_message() {
    for trick in
        ["\n.\n", "\n.\r\n", "\r.\r", "\r.\r\n", "\r\n.\r", "\r\n.\n", "\r.\n", "\r\r\n.\r\n"]
    {
        with(&Settings::default(), |test, counts| {
            test.holds(&BEGIN);
            let smuggled =
                format!("a{trick}MAIL FROM:<x@y>\r\nRCPT TO:<x@y>\r\nDATA\r\nb\r\n.\r\n");
            let said = test.feed(smuggled.as_bytes());
            assert_eq!(said, "554 5.6.0 Lines end with CRLF, closing connection\r\n", "{trick:?}");
            assert!(test.is_over && test.kept.is_empty());
            assert_eq!(counts.refused.get(), 1);
        });
    }
    with(&Settings::default(), |test, _| {
        assert_eq!(codes(&test.feed(b"EHLO c\nMAIL FROM:<a@b>\r\n")), [500]);
        assert!(test.is_over);
    });
}

#[test]
fn a_nul_and_a_long_line_make_a_message_unfit_and_do_not_end_it() {
    for (content, code) in
        [("a\0b", 554), ("\0", 554), (&*"x".repeat(999), 500), (&*"x".repeat(998), 250)]
    {
        with(&Settings::default(), |test, _| {
            test.holds(&BEGIN);
            let said = test.feed(format!("{content}\r\nQUIT\r\n.\r\nNOOP\r\n").as_bytes());
            assert_eq!(codes(&said), [code, 250]);
            assert_eq!(test.kept.len(), usize::from(code == 250));
        });
    }
    // Bytes of eight bits pass unchanged.
    with(&Settings::default(), |test, _| {
        test.holds(&BEGIN);
        assert_eq!(codes(&test.feed(b"\xff\xfe\r\n.\r\n")), [250]);
        assert_eq!(test.kept[0].1, b"\xff\xfe\r\n");
    });
}

#[test]
fn a_line_of_a_million_bytes_is_thrown_away_as_it_comes() {
    let settings = Settings { max_errors: 3, ..Settings::default() };
    with(&settings, |test, _| {
        for _ in 0..1_000 {
            assert_eq!(test.feed(&[b'x'; 1_000]), "");
            assert!(test.input.len() < 512);
        }
        assert_eq!(test.feed(b"\r\nNOOP\r\n"), "500 5.5.2 Line too long\r\n250 2.0.0 OK\r\n");
        let line = [&[b'x'; 1_000_000][..], b"\r\n"].concat();
        assert_eq!(codes(&test.feed(&line)), [500]);
        assert_eq!(codes(&test.feed(&line)), [421]);
        assert!(test.is_over);
    });
}

#[test]
fn lines_may_be_as_long_as_the_rfcs_say() {
    let users = [("tim".to_owned(), "secret".to_owned())].into();
    let settings =
        Settings { auth: Policy::Optional, auth_in_clear: true, users, ..Settings::default() };
    with(&settings, |test, _| {
        let padded = |text: &str, octets: usize| {
            format!("{text}{}\r\n", " ".repeat(octets - text.len() - 2))
        };
        assert_eq!(codes(&test.feed(padded("EHLO c", 512).as_bytes())), [250]);
        assert_eq!(codes(&test.feed(padded("EHLO c", 513).as_bytes())), [500]);
        // 512, plus what SIZE=, BODY=, SMTPUTF8 and AUTH= add.
        let most = 512 + 26 + 17 + 10 + 500;
        assert_eq!(codes(&test.feed(padded("MAIL FROM:<a@b>", most).as_bytes())), [250]);
        test.lines(&["RSET"]);
        assert_eq!(codes(&test.feed(padded("MAIL FROM:<a@b>", most + 1).as_bytes())), [500]);
        let auth = |octets: usize| format!("AUTH PLAIN {}\r\n", "A".repeat(octets - 13));
        assert_eq!(codes(&test.feed(auth(12_288).as_bytes())), [501]);
        assert_eq!(codes(&test.feed(auth(12_289).as_bytes())), [500]);
        test.lines(&["AUTH LOGIN"]);
        assert_eq!(codes(&test.feed(format!("{}\r\n", "A".repeat(12_287)).as_bytes())), [500]);
    });
}

#[test]
fn a_million_recipients_are_answered_and_not_kept() {
    let settings = Settings { max_recipients: 100, ..Settings::default() };
    with(&settings, |test, counts| {
        test.holds(&BEGIN[..2]);
        let many = "RCPT TO:<someone@somewhere.example>\r\n".repeat(1_000);
        let mut answers = 0;
        for _ in 0..1_000 {
            answers += codes(&test.feed(many.as_bytes())).len();
            test.said.clear();
            assert!(test.session.held() < 16_384 && test.most_waiting < 8_192);
        }
        assert_eq!(answers, 1_000_000);
        assert_eq!((counts.recipients.get(), counts.recipients_refused.get()), (100, 999_900));
        test.holds(&[("RCPT TO:<a@b>", "452 4.5.3"), ("DATA", "354"), (".", "250")]);
        assert_eq!(test.kept[0].0.recipients.len(), 100);
    });
}

#[test]
fn errors_are_counted_and_end_the_session() {
    let settings = Settings { max_errors: 3, ..Settings::default() };
    with(&settings, |test, _| {
        test.holds(&[("A", "500"), ("NOOP", "250"), ("DATA", "503")]);
        test.holds(&[("HELO", "421 4.7.0 mail.example Too many errors, closing connection")]);
        assert!(test.is_over && !test.session.has_quit());
    });
    with(&settings, |test, _| {
        assert_eq!(codes(&test.feed(&b"BDAT 1 LAST\r\nx".repeat(9))), [503, 503, 421]);
    });
}

#[test]
fn what_comes_behind_starttls_is_never_executed() {
    let settings = Settings { tls: Policy::Optional, ..Settings::default() };
    for behind in ["NOOP\r\n", "\r\n", "x", "EHLO evil\r\nMAIL FROM:<x@y>\r\n"] {
        with(&settings, |test, _| {
            test.holds(&[("EHLO c", "250")]);
            let said = test.feed(format!("STARTTLS\r\n{behind}").as_bytes());
            assert!(said.starts_with("554 5.5.0") && codes(&said).len() == 1, "{said}");
            assert!(test.is_over && test.session.origin.tls.is_none());
        });
    }
}

#[test]
fn chunks_of_any_size_are_bounded_and_skipped() {
    let settings = Settings { max_message: 10, ..Settings::default() };
    with(&settings, |test, _| {
        test.holds(&BEGIN[..3]);
        // The announced size is too large: the store begins nothing, and the chunk is still read.
        assert_eq!(codes(&test.feed(b"BDAT 11\r\nQUIT\r\nQUIT\nNOOP\r\n")), [552, 250]);
        test.holds(&BEGIN[1..3]);
        assert_eq!(
            codes(&test.feed(b"BDAT 6\r\n123456BDAT 5 LAST\r\nxxxxxNOOP\r\n")),
            [250, 552, 250]
        );
        assert!(test.draft.is_none() && test.kept.is_empty());
        test.holds(&BEGIN[1..3]);
        assert_eq!(test.feed(b"BDAT 9999999999999999999\r\n"), "");
        assert_eq!(test.feed(&[b'x'; 10_000]), "");
        assert!(test.input.is_empty());
    });
}

/// The bytes after it would be read as commands, although the client means content.
#[test]
fn a_chunk_of_unknown_size_ends_the_conversation() {
    for line in ["BDAT", "BDAT x", "BDAT 1 LAST x", "BDAT 99999999999999999999", "BDAT -1 LAST"] {
        with(&Settings::default(), |test, _| {
            test.holds(&BEGIN[..3]);
            let said = test.feed(format!("{line}\r\nMAIL FROM:<x@y>\r\n").as_bytes());
            assert!(said.starts_with("501 5.5.4") && codes(&said).len() == 1, "{line}: {said}");
            assert!(test.is_over);
        });
    }
}

#[test]
fn injected_faults_hit_known_ones() {
    let count = |faults: Faults| {
        let settings = Settings { faults, ..Settings::default() };
        with(&settings, |test, counts| {
            test.lines(&["EHLO c"]);
            for _ in 0..200 {
                let lines = ["RSET", "MAIL FROM:<a@b>", "RCPT TO:<a@b>", "DATA"];
                if codes(&test.lines(&lines)) == [354] {
                    test.lines(&["."]);
                }
            }
            (
                test.kept.len(),
                codes(&test.said).iter().filter(|code| **code == 451).count(),
                counts.refused.get(),
            )
        })
    };
    let share = 0.1;
    let plain = Faults::default();
    assert_eq!(count(plain.clone()), (200, 0, 0));
    let mail = count(Faults { refuse_mail: share, ..plain.clone() });
    let rcpt = count(Faults { refuse_rcpt: share, ..plain.clone() });
    let data = count(Faults { refuse_data: share, ..plain.clone() });
    let accept = count(Faults { refuse_accept: share, ..plain.clone() });
    assert_eq!([mail, rcpt, data, accept], KNOWN, "the first two hundred of the seed 1");
    assert_ne!(count(Faults { refuse_mail: share, seed: 2, ..plain }), mail);
}

/// Accepted, refused with 451, counted as refused messages; about twenty of two hundred are
/// expected.
const KNOWN: [(usize, usize, u64); 4] = [(174, 26, 0), (177, 23, 0), (186, 14, 14), (185, 15, 15)];

#[test]
fn delays_come_once_each_and_before_the_reply() {
    let faults = Faults {
        greeting_delay_ns: 1,
        delay_mail_ns: 2,
        delay_rcpt_ns: 3,
        delay_data_ns: 4,
        delay_accept_ns: 5,
        ..Faults::default()
    };
    with(&Settings { faults, ..Settings::default() }, |test, _| {
        test.holds(&BEGIN);
        test.holds(&[("x", ""), (".", "250")]);
        let pauses: Vec<u128> = test.pauses.iter().map(std::time::Duration::as_nanos).collect();
        assert_eq!(pauses, [1, 2, 3, 4, 5]);
    });
}

#[test]
fn a_refused_greeting_and_a_dropped_message_end_the_connection() {
    let faults = Faults { refuse_greeting: 1.0, refuse_with: 554, ..Faults::default() };
    let (settings, counts) = (Settings { faults, ..Settings::default() }, Counts::default());
    let mut test = TestSession::new(&settings, &counts);
    assert_eq!(test.feed(b""), "554 5.3.0 Refused by an injected fault\r\n");
    assert!(test.is_over);
    let faults = Faults { drop_in_data: 1.0, ..Faults::default() };
    with(&Settings { faults, ..Settings::default() }, |test, _| {
        test.holds(&BEGIN);
        assert_eq!(test.feed(b"Subject"), "");
        assert!(test.is_over && test.session.is_receiving());
    });
    let faults = Faults { refuse_rcpt: 1.0, refuse_with: 421, ..Faults::default() };
    with(&Settings { faults, ..Settings::default() }, |test, _| {
        test.holds(&BEGIN[..2]);
        test.holds(&[("RCPT TO:<a@b>", "421 4.3.0")]);
        assert!(test.is_over);
    });
}
