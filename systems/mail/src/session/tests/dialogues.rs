//! Dialogues from the RFCs: the right reply for each command.

use super::*;
use crate::envelope::Content;

fn secured() -> Settings {
    Settings {
        tls: Policy::Optional,
        auth: Policy::Optional,
        users: [("tim".to_owned(), "secret".to_owned())].into(),
        ..Settings::default()
    }
}

#[test]
fn whoever_comes_is_greeted_by_name_and_in_the_words_that_are_set() {
    let named = Settings { hostname: "sink.example".to_owned(), ..Settings::default() };
    let worded = Settings { greeting: "no ESMTP today".to_owned(), ..Settings::default() };
    for (settings, greeting) in [
        (named, "220 sink.example ESMTP Service ready\r\n"),
        (worded, "220 mail.example no ESMTP today\r\n"),
    ] {
        let counts = Counts::default();
        assert_eq!(TestSession::new(&settings, &counts).feed(b""), greeting);
    }
}

#[test]
fn the_ordinary_message() {
    with(&Settings::default(), |test, counts| {
        test.holds(&[
            ("HELO client.example", "250 mail.example Hello client.example\r\n"),
            ("MAIL FROM:<a@b.example>", "250 2.1.0 Sender <a@b.example> OK\r\n"),
            ("RCPT TO:<c@d.example>", "250 2.1.5 Recipient <c@d.example> OK\r\n"),
            ("DATA", "354 Start mail input; end with <CRLF>.<CRLF>\r\n"),
            ("Subject: x\r\n\r\n..dot", ""),
            (".", "250 2.0.0 Message accepted for delivery: 1\r\n"),
            ("NOOP", "250 2.0.0 OK\r\n"),
            ("RSET", "250 2.0.0 Reset OK\r\n"),
            ("QUIT", "221 2.0.0 mail.example closing connection\r\n"),
        ]);
        assert!(test.is_over && test.session.has_quit());
        let (envelope, content) = &test.kept[0];
        assert_eq!(content, b"Subject: x\r\n\r\n.dot\r\n");
        assert_eq!(
            (envelope.from.as_str(), envelope.client.as_str()),
            ("a@b.example", "client.example")
        );
        assert_eq!(envelope.recipients, ["c@d.example"]);
        assert_eq!(
            (counts.accepted.get(), counts.errors.get(), counts.recipients.get()),
            (1, 0, 1)
        );
        assert_eq!(counts.content_bytes.get(), content.len() as u64);
    });
}

#[test]
fn every_reply_of_the_table() {
    with(&Settings::default(), |test, _| {
        test.holds(&[
            // 503: out of order, with a hint.
            ("MAIL FROM:<a@b>", "503 5.5.1 Send HELO or EHLO first"),
            ("RCPT TO:<a@b>", "503 5.5.1 Send MAIL first"),
            ("DATA", "503 5.5.1 Send MAIL first"),
            ("AUTH PLAIN", "502 5.5.1"),
            // 500 and 502.
            ("WHAT", "500 5.5.1 Unknown command"),
            ("VRFY tim", "502 5.5.1"),
            ("EXPN list", "502 5.5.1"),
            ("STARTTLS", "502 5.5.1"),
            ("NOOP \u{7f}", "500 5.5.2"),
            // 501 and 555.
            ("EHLO", "501 5.5.4"),
            ("HELP", "214 2.0.0"),
            ("EHLO client.example", "250-mail.example Hello client.example\r\n250-PIPELINING"),
            ("MAIL FROM:a@b", "501 5.1.3"),
            ("MAIL FROM:<a@b> SIZE=x", "501 5.5.4"),
            ("MAIL FROM:<a@b> RET=FULL", "555 5.5.4"),
            // 552 before any content was sent.
            ("MAIL FROM:<a@b> SIZE=10485761", "552 5.3.4"),
            ("MAIL FROM:<a@b> SIZE=10485760 BODY=8BITMIME", "250 2.1.0 Sender <a@b> OK"),
            ("MAIL FROM:<a@b>", "503 5.5.1 Sender already given"),
            ("DATA", "503 5.5.1 Send RCPT first"),
            ("RCPT TO:<>", "501 5.1.3"),
            ("RCPT TO:<ä@b>", "553 5.6.7"),
            ("DATA", "554 5.5.1 No valid recipients"),
            ("RCPT TO:<postmaster>", "250 2.1.5"),
            ("STARTTLS now", "501 5.5.4"),
        ]);
        assert!(!test.is_over);
    });
}

#[test]
fn extensions_are_announced_as_they_are_in_force() {
    let settings = Settings { max_message: 1_234, ..secured() };
    with(&settings, |test, _| {
        let said = test.lines(&["EHLO c"]);
        assert_eq!(
            said,
            "250-mail.example Hello c\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250-CHUNKING\r\n\
             250-BINARYMIME\r\n250-ENHANCEDSTATUSCODES\r\n250-STARTTLS\r\n250 SIZE 1234\r\n"
        );
        test.holds(&[("STARTTLS", "220 2.0.0 Ready to start TLS")]);
        let said = test.lines(&["EHLO c"]);
        assert!(said.contains("250-AUTH PLAIN LOGIN\r\n") && !said.contains("STARTTLS"), "{said}");
        test.holds(&[("STARTTLS", "502 5.5.1 TLS already active")]);
    });
}

#[test]
fn what_the_envelope_says() {
    with(&Settings::default(), |test, _| {
        test.holds(&[
            ("EHLO [127.0.0.1]", "250-"),
            ("MAIL FROM:<ä@b> SMTPUTF8 BODY=8BITMIME SIZE=5", "250 2.1.0 Sender <ä@b> OK"),
            ("RCPT TO:<ö@c>", "250"),
            ("RCPT TO:<\"d e\"@f>", "250"),
            ("DATA", "354"),
            (".", "250"),
            ("MAIL FROM:<>", "250 2.1.0 Sender <> OK"),
            ("RCPT TO:<@x.example:a@b>", "250 2.1.5 Recipient <a@b> OK"),
            ("DATA", "354"),
            (".", "250 2.0.0 Message accepted for delivery: 2"),
        ]);
        let (first, content) = &test.kept[0];
        assert!(content.is_empty());
        assert_eq!(first.recipients, ["ö@c", "\"d e\"@f"]);
        assert_eq!(
            (first.content, first.is_utf8, first.announced),
            (Content::EightBit, true, Some(5))
        );
        assert_eq!((first.peer, first.tls, &first.user), (peer(), None, &None));
        let (second, _) = &test.kept[1];
        assert_eq!((second.from.as_str(), second.is_utf8, second.announced), ("", false, None));
    });
}

#[test]
fn a_greeting_begins_anew() {
    with(&Settings::default(), |test, _| {
        test.holds(&[
            ("HELO c", "250"),
            ("MAIL FROM:<a@b> BODY=8BITMIME", "555 5.5.4"),
            ("MAIL FROM:<a@b>", "250"),
            ("BDAT 0 LAST", "503 5.5.1 Send EHLO first"),
            ("EHLO c", "250"),
            ("RCPT TO:<a@b>", "503"),
            ("MAIL FROM:<a@b>", "250"),
            ("RCPT TO:<a@b>", "250"),
            ("RSET", "250"),
            ("DATA", "503"),
            ("MAIL FROM:<a@b>", "250"),
        ]);
    });
}

#[test]
fn chunks_make_a_message() {
    with(&Settings::default(), |test, counts| {
        test.holds(&[
            ("EHLO c", "250"),
            ("MAIL FROM:<a@b> BODY=BINARYMIME", "250"),
            ("RCPT TO:<a@b>", "250"),
        ]);
        test.holds(&[("DATA", "503 5.5.1 Use BDAT")]);
        assert_eq!(
            test.feed(b"BDAT 6\r\n.\r\n\0\n.BDAT 0\r\n"),
            "250 2.0.0 6 octets received\r\n250 2.0.0 0 octets received\r\n"
        );
        test.holds(&[
            ("RCPT TO:<c@d>", "503"),
            ("DATA", "503"),
            ("MAIL FROM:<a@b>", "503"),
            ("NOOP", "250"),
        ]);
        assert_eq!(codes(&test.feed(b"BDAT 2 LAST\r\nxyNOOP\r\n")), [250, 250]);
        assert_eq!(test.kept[0].1, b".\r\n\0\n.xy");
        assert_eq!(test.kept[0].0.content, Content::Binary);
        // RSET between chunks drops the earlier chunks.
        test.holds(&[("MAIL FROM:<a@b>", "250"), ("RCPT TO:<a@b>", "250")]);
        assert_eq!(codes(&test.feed(b"BDAT 3\r\nabcRSET\r\nBDAT 1 LAST\r\nx")), [250, 250, 503]);
        assert_eq!((test.kept.len(), counts.accepted.get()), (1, 1));
        assert!(test.draft.is_none());
    });
}

#[test]
fn who_may_is_asked_only_under_tls() {
    with(&secured(), |test, counts| {
        test.holds(&[
            ("AUTH PLAIN", "503 5.5.1 Send EHLO first"),
            ("EHLO c", "250"),
            ("AUTH PLAIN AHRpbQBzZWNyZXQ=", "538 5.7.11"),
            ("STARTTLS", "220"),
            ("AUTH PLAIN AHRpbQBzZWNyZXQ=", "503"),
            ("EHLO c", "250"),
            ("AUTH CRAM-MD5", "504 5.5.4"),
            ("AUTH PLAIN ?", "501 5.5.2"),
            ("AUTH PLAIN", "334 \r\n"),
            ("*", "501 5.7.0"),
            ("AUTH PLAIN AHRpbQB3cm9uZw==", "535 5.7.8"),
            ("AUTH LOGIN", "334 VXNlcm5hbWU6\r\n"),
            ("dGlt", "334 UGFzc3dvcmQ6\r\n"),
            ("c2VjcmV0", "235 2.7.0"),
            ("AUTH LOGIN", "503"),
            ("MAIL FROM:<a@b> AUTH=<>", "250"),
            ("RCPT TO:<a@b>", "250"),
            ("DATA", "354"),
            (".", "250"),
        ]);
        let envelope = &test.kept[0].0;
        assert_eq!((envelope.user.as_deref(), envelope.tls), (Some("tim"), Some("TLSv1.3")));
        assert_eq!((counts.authenticated.get(), counts.authentication_failed.get()), (1, 1));
    });
    let in_clear = Settings { auth_in_clear: true, auth: Policy::Required, ..secured() };
    with(&in_clear, |test, _| {
        test.holds(&[
            ("EHLO c", "250"),
            ("MAIL FROM:<a@b>", "530 5.7.0 Authentication required"),
            ("AUTH LOGIN dGlt", "334 UGFzc3dvcmQ6"),
            ("c2VjcmV0", "235"),
            ("MAIL FROM:<a@b>", "250"),
            ("AUTH LOGIN", "503"),
        ]);
    });
}

#[test]
fn nothing_works_without_tls_where_it_is_required() {
    let settings = Settings { tls: Policy::Required, ..Settings::default() };
    with(&settings, |test, _| {
        test.holds(&[
            ("HELO c", "530 5.7.0 Send STARTTLS first"),
            ("EHLO c", "250"),
            ("NOOP", "250"),
            ("MAIL FROM:<a@b>", "530 5.7.0"),
            ("RSET", "530 5.7.0"),
            ("STARTTLS", "220"),
            ("EHLO c", "250"),
            ("MAIL FROM:<a@b>", "250"),
        ]);
    });
    with(&settings, |test, _| {
        test.holds(&[("EHLO c", "250")]);
        // The chunk is read as content, not as commands.
        assert_eq!(codes(&test.feed(b"BDAT 6\r\nQUIT\r\nNOOP\r\n")), [530, 250]);
    });
}

#[test]
fn pipelined_commands_are_answered_in_order_and_together() {
    with(&Settings::default(), |test, _| {
        let group = b"EHLO c\r\nMAIL FROM:<a@b>\r\nRCPT TO:<a@b>\r\nRCPT TO:<>\r\nDATA\r\n";
        assert_eq!(codes(&test.feed(group)), [250, 250, 250, 501, 354]);
        let group =
            b"x\r\n.\r\nRSET\r\nMAIL FROM:<c@d>\r\nRCPT TO:<c@d>\r\nBDAT 2 LAST\r\nhiQUIT\r\n";
        assert_eq!(codes(&test.feed(group)), [250, 250, 250, 250, 250, 221]);
        assert_eq!(
            (test.kept[0].1.as_slice(), test.kept[1].1.as_slice()),
            (&b"x\r\n"[..], &b"hi"[..])
        );
    });
}
