use super::verb::Mechanism;
use super::*;
use crate::envelope::Content;
use proptest::prelude::*;

fn read(text: &str) -> Result<String, CommandError> {
    let line = format!("{text}\r\n");
    parse(line.as_bytes(), OfferedExtensions { auth: true }).map(|command| format!("{command:?}"))
}

fn mail(text: &str) -> Result<(String, Parameters), CommandError> {
    let line = format!("{text}\r\n");
    match parse(line.as_bytes(), OfferedExtensions { auth: true })? {
        Command::Mail(path, parameters) => Ok((path.to_owned(), parameters)),
        other => panic!("{other:?}"),
    }
}

fn rcpt(path: &str) -> Result<String, CommandError> {
    let line = format!("RCPT TO:{path}\r\n");
    match parse(line.as_bytes(), OfferedExtensions::default())? {
        Command::Rcpt(path) => Ok(path.to_owned()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn commands_are_read_whatever_their_case() {
    for (text, expect) in [
        ("data", "Data"),
        ("DaTa  ", "Data"),
        ("rset", "Rset"),
        ("NOOP", "Noop"),
        ("noop at all", "Noop"),
        ("HELP", "Help"),
        ("help me", "Help"),
        ("quit", "Quit"),
        ("StartTLS", "StartTls"),
        ("vrfy x", "Lookup"),
        ("EXPN list", "Lookup"),
        ("HELO a.example", "Helo(\"a.example\")"),
        ("ehlo [127.0.0.1]", "Ehlo(\"[127.0.0.1]\")"),
        ("EHLO [IPv6:::1]", "Ehlo(\"[IPv6:::1]\")"),
        ("EHLO my_host", "Ehlo(\"my_host\")"),
        ("BDAT 0 LAST", "Bdat { size: 0, is_last: true }"),
        ("bdat 86 last", "Bdat { size: 86, is_last: true }"),
        ("BDAT 86", "Bdat { size: 86, is_last: false }"),
        ("RCPT TO:<a@b>", "Rcpt(\"a@b\")"),
    ] {
        assert_eq!(read(text).as_deref(), Ok(expect), "{text}");
    }
    let auth = |mechanism, initial| Ok(Command::Auth { mechanism, initial });
    for (line, expect) in [
        (&b"AUTH PLAIN\r\n"[..], auth(Mechanism::Plain, None)),
        (b"auth plain AGEAYg==\r\n", auth(Mechanism::Plain, Some("AGEAYg=="))),
        (b"AUTH LOGIN =\r\n", auth(Mechanism::Login, Some("="))),
        (b"AUTH CRAM-MD5\r\n", auth(Mechanism::Unknown, None)),
        (b"AUTH PLAIN a b\r\n", Err(CommandError::Syntax)),
        (b"AUTH\r\n", Err(CommandError::Syntax)),
    ] {
        assert_eq!(parse(line, OfferedExtensions::default()), expect);
    }
}

#[test]
fn what_the_library_lets_pass_is_refused() {
    for (text, fault) in [
        // Arguments to commands without arguments.
        ("DATA now", CommandError::Argument),
        ("RSET x", CommandError::Argument),
        ("QUIT x", CommandError::Argument),
        ("STARTTLS tls", CommandError::Argument),
        // Spaces before a verb, and within one.
        (" NOOP", CommandError::Unknown),
        ("", CommandError::Unknown),
        (" ", CommandError::Unknown),
        ("NO OP", CommandError::Unknown),
        ("NOOPS", CommandError::Unknown),
        ("LHLO a", CommandError::Unknown),
        ("ETRN a", CommandError::Unknown),
        ("BURL imap://a LAST", CommandError::Unknown),
        ("ATRN a", CommandError::Unknown),
        ("Subject: x", CommandError::Unknown),
        // Several hosts, none, or something else.
        ("EHLO a b", CommandError::Syntax),
        ("EHLO  a", CommandError::Syntax),
        ("EHLO", CommandError::Syntax),
        ("HELO", CommandError::Syntax),
        ("HELO a\"b", CommandError::Syntax),
        ("EHLO [1.2.3]", CommandError::Syntax),
        // Chunks.
        ("BDAT", CommandError::Chunk),
        ("BDAT x", CommandError::Chunk),
        ("BDAT 1 2", CommandError::Chunk),
        ("BDAT 1  LAST", CommandError::Chunk),
        ("BDAT 1 LAST x", CommandError::Chunk),
        ("BDAT -1", CommandError::Chunk),
        ("BDAT 1 LASTLY", CommandError::Chunk),
        // Spaces around the colon.
        ("MAIL FROM: <a@b>", CommandError::Path),
        ("MAIL FROM :<a@b>", CommandError::Syntax),
        ("MAIL  FROM:<a@b>", CommandError::Syntax),
        ("MAIL", CommandError::Syntax),
        ("MAIL TO:<a@b>", CommandError::Syntax),
        ("RCPT FROM:<a@b>", CommandError::Syntax),
        ("RCPT TO:a@b", CommandError::Path),
        ("RCPT TO:<>", CommandError::Path),
        ("MAIL FROM:<postmaster>", CommandError::Path),
        ("MAIL FROM:<a>", CommandError::Path),
        ("RCPT TO:<a@b> NOTIFY=NEVER", CommandError::UnknownParameter),
        ("RCPT TO:<a@b>x", CommandError::Syntax),
        ("RCPT TO:<a@b> >", CommandError::Syntax),
    ] {
        assert_eq!(read(text), Err(fault), "{text}");
    }
}

#[test]
fn octets_that_no_command_has_are_refused() {
    let lines =
        [&b"NO\0OP\r\n"[..], b"NOOP\r\r\n", b"NOOP\tx\r\n", b"NOOP \xff\r\n", b"\x7fNOOP\r\n"];
    for line in lines {
        assert_eq!(
            parse(line, OfferedExtensions::default()),
            Err(CommandError::Octets),
            "{line:?}"
        );
    }
    assert_eq!(parse("NOOP é\r\n".as_bytes(), OfferedExtensions::default()), Ok(Command::Noop));
}

#[test]
fn paths_are_kept_as_written_and_routes_are_dropped() {
    for (path, expect) in [
        ("<a@b>", "a@b"),
        ("<A.b+c@D-e.example>", "A.b+c@D-e.example"),
        ("<\"a b\"@c>", "\"a b\"@c"),
        ("<\"a\\\"b>\"@c>", "\"a\\\"b>\"@c"),
        ("<\"\"@c>", "\"\"@c"),
        ("<a@[127.0.0.1]>", "a@[127.0.0.1]"),
        ("<a@[IPv6:fe80::1]>", "a@[IPv6:fe80::1]"),
        ("<@x.example,@y:a@b>", "a@b"),
        ("<Postmaster>", "Postmaster"),
        ("<ä@ö.example>", "ä@ö.example"),
    ] {
        assert_eq!(rcpt(path).as_deref(), Ok(expect));
    }
    for path in [
        "<a@b",
        "a@b>",
        "<@b>",
        "<a@>",
        "<.a@b>",
        "<a.@b>",
        "<a..b@c>",
        "<a@-b>",
        "<a@b->",
        "<a@b..c>",
        "<a@.b>",
        "<a@b.>",
        "<a@b_c>",
        "<a b@c>",
        "<a@b c>",
        "<\"a@b>",
        "<a\"b\"@c>",
        "<a@[1.2.3]>",
        "<a@[IPv6:g]>",
        "<a@[x:y]>",
        "<a@[127.0.0.1>",
        "<a@b@c>",
        "<a(b)@c>",
        "<a@b;c>",
        "<<a@b>>",
        "<@x:>",
        "<@x,a@b>",
        "<someone>",
        "<\"a\tb\"@c>",
    ] {
        assert!(rcpt(path).is_err(), "{path}");
    }
}

#[test]
fn parts_of_a_path_are_as_long_as_they_may_be() {
    let local = |octets: usize| rcpt(&format!("<{}@b>", "a".repeat(octets))).is_ok();
    assert_eq!((local(64), local(65)), (true, false));
    let label = |octets: usize| rcpt(&format!("<a@{}>", "b".repeat(octets))).is_ok();
    assert_eq!((label(63), label(64)), (true, false));
    // Labels of 63, 63, 63 and n, their dots, `a@` and the brackets.
    let path = |octets: usize| {
        let label = "b".repeat(63);
        rcpt(&format!("<a@{label}.{label}.{label}.{}>", "c".repeat(octets))).is_ok()
    };
    assert_eq!((path(60), path(61)), (true, false));
}

#[test]
fn parameters_of_mail_are_no_part_of_the_address() {
    let (path, parameters) =
        mail("MAIL FROM:<a@b> SIZE=1024 BODY=8BITMIME SMTPUTF8 AUTH=e+3Dmc2@example.com").unwrap();
    assert_eq!(path, "a@b");
    let expect = Parameters { size: Some(1024), content: Content::EightBit, is_utf8: true };
    assert_eq!(parameters, expect);
    assert_eq!(mail("mail from:<>").unwrap(), (String::new(), Parameters::default()));
    assert_eq!(mail("MAIL FROM:<> size=0 ").unwrap().1.size, Some(0));
    assert_eq!(mail("MAIL FROM:<> BODY=binarymime").unwrap().1.content, Content::Binary);
    assert_eq!(mail("MAIL FROM:<> BODY=7BIT AUTH=<>").unwrap().1.content, Content::SevenBit);
}

#[test]
fn parameters_that_are_none_are_refused() {
    for (parameters, fault) in [
        (" SIZE", CommandError::Parameter),
        (" SIZE=", CommandError::Parameter),
        (" SIZE=-1", CommandError::Parameter),
        (" SIZE=1x", CommandError::Parameter),
        (" SIZE=123456789012345678901", CommandError::Parameter),
        (" SIZE=18446744073709551615", CommandError::Size),
        (" SIZE=99999999999999999999", CommandError::Size),
        (" SIZE=1 SIZE=1", CommandError::Parameter),
        (" BODY=7BIT BODY=8BITMIME", CommandError::Parameter),
        (" BODY=9BIT", CommandError::Parameter),
        (" BODY", CommandError::Parameter),
        (" SMTPUTF8=yes", CommandError::Parameter),
        (" AUTH=a+zz", CommandError::Parameter),
        (" RET=HDRS", CommandError::UnknownParameter),
        (" ENVID=x", CommandError::UnknownParameter),
        (" REQUIRETLS", CommandError::UnknownParameter),
        (" HOLDFOR=1", CommandError::UnknownParameter),
        (" X-MINE=1", CommandError::UnknownParameter),
        ("  SIZE=1", CommandError::Syntax),
        (" SIZE=1  BODY=7BIT", CommandError::Syntax),
        (" =1", CommandError::Syntax),
        (" >", CommandError::Syntax),
        ("SIZE=1", CommandError::Syntax),
    ] {
        assert_eq!(mail(&format!("MAIL FROM:<a@b>{parameters}")), Err(fault), "{parameters}");
    }
    let parsed = parse(b"MAIL FROM:<a@b> AUTH=<>\r\n", OfferedExtensions { auth: false });
    assert_eq!(parsed, Err(CommandError::UnknownParameter));
}

proptest! {
    #[test]
    fn any_line_is_read_without_panic(line in proptest::collection::vec(any::<u8>(), 0..80)) {
        let line = [&line[..], b"\r\n"].concat();
        let _ = parse(&line, OfferedExtensions { auth: true });
    }

    #[test]
    fn any_line_of_the_right_letters_is_read_without_panic(
        verb in "(MAIL FROM:|RCPT TO:|BDAT |AUTH |EHLO )",
        rest in "[<>@,:\\[\\]\"\\\\ a-c.=+0-9é-]{0,40}",
    ) {
        let line = format!("{verb}{rest}\r\n");
        let _ = parse(line.as_bytes(), OfferedExtensions { auth: true });
    }
}
