use record::FailureKind;

use super::reply::{Kind, Progress, REPLY_LIMIT, ReplyError};
use super::{command, text};

/// Examples of the specifications of RESP2 and RESP3, their kinds, and how redis-cli shows them.
const REPLIES: [(&[u8], Kind, &str); 28] = [
    (b"+OK\r\n", Kind::Value, "OK"),
    (b"-ERR unknown command 'asdf'\r\n", Kind::Error, "(error) ERR unknown command 'asdf'"),
    (b":1000\r\n", Kind::Value, "(integer) 1000"),
    (b":-9223372036854775808\r\n", Kind::Value, "(integer) -9223372036854775808"),
    (b"$5\r\nhello\r\n", Kind::Value, "\"hello\""),
    (b"$0\r\n\r\n", Kind::Value, "\"\""),
    (b"$4\r\n\r\n\xff\"\r\n", Kind::Value, "\"\\r\\n\\xff\\\"\""),
    (b"$-1\r\n", Kind::Value, "(nil)"),
    (b"*-1\r\n", Kind::Value, "(nil)"),
    (b"*0\r\n", Kind::Value, "(empty array)"),
    (b"*2\r\n$5\r\nhello\r\n$-1\r\n", Kind::Value, "1) \"hello\"\n2) (nil)"),
    (b"*2\r\n*2\r\n:1\r\n:2\r\n+x\r\n", Kind::Value, "1) 1) (integer) 1\n   2) (integer) 2\n2) x"),
    (b"_\r\n", Kind::Value, "(nil)"),
    (b"#t\r\n", Kind::Value, "(true)"),
    (b"#f\r\n", Kind::Value, "(false)"),
    (b",1.23\r\n", Kind::Value, "(double) 1.23"),
    (b",-inf\r\n", Kind::Value, "(double) -inf"),
    (b",nan\r\n", Kind::Value, "(double) nan"),
    (
        b"(3492890328409238509324850943850943825024385\r\n",
        Kind::Value,
        "(integer) 3492890328409238509324850943850943825024385",
    ),
    (b"!21\r\nSYNTAX invalid syntax\r\n", Kind::Error, "(error) SYNTAX invalid syntax"),
    (b"=15\r\ntxt:Some string\r\n", Kind::Value, "Some string"),
    (b"%2\r\n+first\r\n:1\r\n+second\r\n:2\r\n", Kind::Value, "1# first => (integer) 1\n2# second => (integer) 2"),
    (b"%0\r\n", Kind::Value, "(empty hash)"),
    (b"~3\r\n+orange\r\n+apple\r\n#t\r\n", Kind::Value, "1~ orange\n2~ apple\n3~ (true)"),
    (b">3\r\n+message\r\n+somechannel\r\n+this is the message\r\n", Kind::Push, "1) message\n2) somechannel\n3) this is the message"),
    (
        b"|1\r\n+key-popularity\r\n%2\r\n$1\r\na\r\n,0.1923\r\n$1\r\nb\r\n,0.0012\r\n*2\r\n:2039123\r\n:9543892\r\n",
        Kind::Value,
        "1) (integer) 2039123\n2) (integer) 9543892",
    ),
    (b"*3\r\n:1\r\n|1\r\n+ttl\r\n:3600\r\n:2\r\n*0\r\n", Kind::Value, "1) (integer) 1\n2) (integer) 2\n3) (empty array)"),
    (b"*2\r\n-ERR inside\r\n|0\r\n%1\r\n+a\r\n~1\r\n:1\r\n", Kind::Value, "1) (error) ERR inside\n2) 1# a => 1~ (integer) 1"),
];

#[test]
fn a_reply_ends_where_it_ends_however_it_was_split() {
    for (reply, kind, shown) in REPLIES {
        let bytes = [reply, b"+next\r\n"].concat();
        for split in 0..reply.len() {
            let mut progress = Progress::default();
            assert_eq!(progress.read(&bytes[..split]), Ok(None), "{shown} at {split}");
            for end in [split, reply.len() - 1] {
                assert_eq!(progress.read(&bytes[..end]), Ok(None), "{shown} at {split} and {end}");
            }
            assert_eq!(progress.read(&bytes), Ok(Some((kind, reply.len()))), "{shown} at {split}");
            assert_eq!(progress.read(b"+next\r\n"), Ok(Some((Kind::Value, 7))), "{shown}");
        }
        let mut progress = Progress::default();
        let ends = (0..=reply.len()).map(|end| progress.read(&reply[..end]).unwrap());
        assert_eq!(ends.flatten().collect::<Vec<_>>(), [(kind, reply.len())], "{shown}");
        assert_eq!(text::shown(reply), shown);
    }
}

#[test]
fn what_breaks_a_rule_is_malformed_and_what_is_long_is_too_large() {
    let deep = b"*1\r\n".repeat(17);
    let wide = [&b"*3000000\r\n"[..], &b"$9\r\n123456789\r\n".repeat(1_200_000)].concat();
    let line = [&b"+"[..], &b"x".repeat(70_000)].concat();
    let cases: [(&[u8], ReplyError); 22] = [
        (b"HTTP/1.1 400 Bad Request\r\n", ReplyError::Mark(b'H')),
        (b"\0", ReplyError::Mark(0)),
        (b"+OK\n", ReplyError::LineEnd),
        (b"+a\rb\r\n", ReplyError::LineEnd),
        (b"$2\r\nabc\r\n", ReplyError::LineEnd),
        (b"$-2\r\n", ReplyError::Length),
        (b"$+2\r\n", ReplyError::Length),
        (b"$\r\n", ReplyError::Length),
        (b"*-2\r\n", ReplyError::Length),
        (b"%-1\r\n", ReplyError::Length),
        (b"*9223372036854775808\r\n", ReplyError::Length),
        (b"*18446744073709551616\r\n", ReplyError::Length),
        (b"$?\r\n", ReplyError::Length),
        (b"#x\r\n", ReplyError::Value(b'#')),
        (b":1.5\r\n", ReplyError::Value(b':')),
        (b":9223372036854775808\r\n", ReplyError::Value(b':')),
        (b"=2\r\nab\r\n", ReplyError::Value(b'=')),
        (&deep, ReplyError::Nesting),
        (b"*1\r\n>1\r\n+x\r\n", ReplyError::Push),
        (b"$16777217\r\n", ReplyError::Long),
        (b"*9223372036854775807\r\n", ReplyError::Long),
        (&line, ReplyError::Long),
    ];
    for (bytes, error) in cases {
        let seen = Progress::default().read(bytes);
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(20)]);
        assert_eq!(seen, Err(error), "{start:?}");
        let kind =
            if error == ReplyError::Long { FailureKind::TooLarge } else { FailureKind::Malformed };
        assert_eq!(error.kind(), kind);
    }
    assert!(wide.len() > REPLY_LIMIT);
    assert_eq!(Progress::default().read(&wide), Err(ReplyError::Long));
}

#[test]
fn sixteen_levels_are_read() {
    let nested = [&b"*1\r\n".repeat(16)[..], b":1\r\n"].concat();
    assert_eq!(Progress::default().read(&nested), Ok(Some((Kind::Value, nested.len()))));
}

#[test]
fn the_plain_text_has_one_element_a_line() {
    for (reply, expected) in [
        (&b"$7\r\n{\"a\":1}\r\n"[..], "{\"a\":1}"),
        (b":7\r\n", "7"),
        (b"#f\r\n", "false"),
        (b"$-1\r\n", ""),
        (b"=7\r\ntxt:abc\r\n", "abc"),
        (b"*3\r\n+a\r\n_\r\n*2\r\n:1\r\n:2\r\n", "a\n\n1\n2"),
        (b"|1\r\n+k\r\n*2\r\n:1\r\n:2\r\n%1\r\n+a\r\n:1\r\n", "a\n1"),
    ] {
        let mut out = Vec::new();
        text::plain(reply, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}

#[test]
fn an_error_has_a_first_word_and_a_line_that_steers_no_terminal() {
    let (word, line) = text::error(b"-WRONGTYPE Operation \x1b[2J\xff\r\n");
    assert_eq!((&word[..], line.as_str()), (&b"WRONGTYPE"[..], "WRONGTYPE Operation ?[2J?"));
    let long = [&b"-E "[..], &b"x".repeat(500), b"\r\n"].concat();
    let (word, line) = text::error(&long);
    assert_eq!((&word[..], line.chars().count()), (&b"E"[..], 201));
    assert_eq!(text::error(b"-\r\n"), (Vec::new(), String::new()));
}

#[test]
fn a_command_is_an_array_of_words_and_is_shown_as_it_is_typed() {
    let bytes = command::command(&[b"SET", b"a b", b"", b"12345678901", b"\xff'"]);
    let expected =
        b"*5\r\n$3\r\nSET\r\n$3\r\na b\r\n$0\r\n\r\n$11\r\n12345678901\r\n$2\r\n\xff'\r\n";
    assert_eq!(bytes, expected);
    assert_eq!(text::typed(&bytes), "SET \"a b\" \"\" 12345678901 \"\\xff'\"");
}
