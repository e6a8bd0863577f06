//! Published defects of another server, found in its source: this server has none of them; each test names one.
//! Defects of connections (the connection limit, idle sessions that starve others, time-outs within content) are
//! tested with the connections.

use super::*;

fn begin(test: &mut TestSession<'_>) {
    test.holds(&[
        ("EHLO c", "250"),
        ("MAIL FROM:<a@b>", "250"),
        ("RCPT TO:<a@b>", "250"),
        ("DATA", "354"),
    ]);
}

#[test]
fn size_advertised_is_the_configured_limit_and_enforced() {
    let settings = Settings { max_message: 100, ..Settings::default() };
    with(&settings, |test, _| {
        assert!(test.lines(&["EHLO c"]).ends_with("250 SIZE 100\r\n"));
        test.holds(&[
            ("MAIL FROM:<a@b> SIZE=101", "552 5.3.4"),
            ("MAIL FROM:<a@b> SIZE=100", "250"),
        ]);
        test.holds(&[("RCPT TO:<a@b>", "250"), ("DATA", "354")]);
        // 98 octets and CRLF are 100; one more is too long, whatever size was announced. Stuffed dots do not count.
        test.feed(format!(".{}\r\n", ".".repeat(98)).as_bytes());
        test.holds(&[(".", "250")]);
        assert_eq!(test.kept[0].1.len(), 100);
    });
    with(&settings, |test, _| {
        begin(test);
        test.feed(format!("{}\r\n", "x".repeat(99)).as_bytes());
        test.holds(&[(".", "552 5.3.4")]);
        assert!(test.kept.is_empty());
    });
}

#[test]
fn esmtp_parameters_are_no_part_of_the_address() {
    with(&Settings::default(), |test, _| {
        test.holds(&[
            ("EHLO c", "250"),
            ("MAIL FROM:<a@b> SIZE=1024", "250 2.1.0 Sender <a@b> OK"),
            ("RCPT TO:<c@d>", "250"),
            ("DATA", "354"),
            (".", "250"),
        ]);
        assert_eq!((test.kept[0].0.from.as_str(), test.kept[0].0.announced), ("a@b", Some(1024)));
    });
}

#[test]
fn rset_before_helo_greets_nobody() {
    with(&Settings::default(), |test, _| {
        test.holds(&[("RSET", "250"), ("MAIL FROM:<a@b>", "503 5.5.1 Send HELO or EHLO first")]);
    });
}

#[test]
fn starttls_forgets_what_was_said_in_the_clear() {
    let settings = Settings {
        tls: Policy::Optional,
        auth: Policy::Optional,
        auth_in_clear: true,
        users: [("tim".to_owned(), "secret".to_owned())].into(),
        ..Settings::default()
    };
    with(&settings, |test, _| {
        test.holds(&[
            ("EHLO clear", "250"),
            ("AUTH PLAIN AHRpbQBzZWNyZXQ=", "235"),
            ("MAIL FROM:<a@b>", "250"),
            ("RCPT TO:<a@b>", "250"),
            ("STARTTLS", "220"),
            ("RCPT TO:<a@b>", "503 5.5.1 Send MAIL first"),
            ("DATA", "503"),
            ("MAIL FROM:<a@b>", "503 5.5.1 Send HELO or EHLO first"),
            ("EHLO covered", "250"),
            ("MAIL FROM:<a@b>", "250"),
            ("RCPT TO:<a@b>", "250"),
            ("DATA", "354"),
            (".", "250"),
        ]);
        let envelope = &test.kept[0].0;
        assert_eq!((envelope.client.as_str(), &envelope.user), ("covered", &None));
    });
}

#[test]
fn a_message_over_the_limit_is_read_to_its_end_and_the_session_goes_on() {
    let settings = Settings { max_message: 10, ..Settings::default() };
    with(&settings, |test, counts| {
        begin(test);
        for _ in 0..1_000 {
            assert_eq!(test.feed(b"QUIT\r\nMAIL FROM:<x@y>\r\n"), "");
        }
        assert!(test.draft.is_none(), "what is refused is not kept until the end");
        test.holds(&[(".", "552 5.3.4"), ("MAIL FROM:<a@b>", "250"), ("RCPT TO:<a@b>", "250")]);
        test.holds(&[("DATA", "354"), ("12345678", ""), (".", "250")]);
        assert_eq!((counts.refused.get(), counts.accepted.get()), (1, 1));
    });
}

#[test]
fn nothing_is_accepted_before_the_store_has_it() {
    let settings = Settings::default();
    let counts = Counts::default();
    let mut session = Session::new(&settings, &counts, Origin { peer: peer(), tls: None });
    let begin = b"EHLO c\r\nMAIL FROM:<a@b>\r\nRCPT TO:<a@b>\r\nDATA\r\n";
    assert_eq!(session.take(begin).action, Action::Begin);
    session.begun(Ok(()));
    session.replies().clear();
    assert_eq!(session.take(b"x\r\n.\r\n").action, Action::Content(b"x\r\n"));
    assert_eq!(session.take(b"\r\n").action, Action::End);
    // The session says nothing before the store has answered, however often it is called.
    assert_eq!(session.take(b"QUIT\r\n"), Step { used: 0, action: Action::End });
    assert_eq!(session.replies().bytes(), b"");
    session.ended(Ok("name".to_owned()));
    assert!(
        session.replies().bytes().starts_with(b"250 2.0.0 Message accepted for delivery: name")
    );
}
