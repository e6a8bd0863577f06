use std::fmt::Write;
use std::sync::OnceLock;

use hyper::body::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::store::retained::StoredContent;

fn show(content: &str) -> Value {
    let message = RetainedMessage {
        number: 1,
        id: "1".into(),
        received_at: 0,
        summary: MessageSummary::default(),
        size: content.len() as u64,
        content: StoredContent::Memory(Bytes::copy_from_slice(content.as_bytes())),
        subject: OnceLock::new(),
    };
    serde_json::to_value(whole(&message).unwrap()).unwrap()
}

#[test]
fn a_message_of_several_parts_is_taken_apart_and_decoded() {
    let shown = show(
        "From: =?utf-8?q?J=C3=BCrgen?= <j@x>\r\nTo: a@y, \"B, C\" <b@y>\r\nCc: c@y\r\nReply-To: r@x\r\n\
         Subject: =?iso-8859-1?q?gr=FC=DFe?=\r\nDate: Fri, 21 Nov 2025 13:40:00 +0100\r\n\
         Message-ID: <1@x>\r\nX-Odd: a\r\n b\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=m\r\n\r\n--m\r\n\
         Content-Type: multipart/alternative; boundary=a\r\n\r\n--a\r\n\
         Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
         gr=C3=BC=C3=9Fe\r\n--a\r\nContent-Type: text/html; charset=iso-8859-1\r\n\
         Content-Transfer-Encoding: base64\r\n\r\nPGI+Z3L832U8L2I+\r\n--a--\r\n--m\r\n\
         Content-Type: application/pdf; name=\"a b.pdf\"\r\nContent-Transfer-Encoding: base64\r\n\
         Content-Disposition: attachment; filename*=utf-8''r%C3%A9sum%C3%A9.pdf\r\n\r\n\
         AAECAwQF\r\n--m\r\nContent-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\ninside\r\n--m--\r\n",
    );
    assert_eq!(shown["subject"], "grüße");
    assert_eq!(shown["from"], json!([{ "name": "Jürgen", "address": "j@x" }]));
    assert_eq!(shown["to"][1], json!({ "name": "B, C", "address": "b@y" }));
    assert_eq!(
        (&shown["cc"][0]["address"], &shown["reply_to"][0]["address"]),
        (&json!("c@y"), &json!("r@x"))
    );
    assert_eq!(shown["date"], "2025-11-21T13:40:00+01:00");
    assert_eq!(shown["message_id"], "1@x");
    assert_eq!(shown["text"], "grüße");
    assert_eq!(shown["html"], "<b>grüße</b>");
    assert_eq!(
        shown["attachments"][0],
        json!({ "name": "résumé.pdf", "type": "application/pdf", "size": 6 })
    );
    assert_eq!(shown["attachments"][1]["type"], "message/rfc822");
    assert_eq!(shown["attachments"].as_array().unwrap().len(), 2);
    let odd = shown["headers"].as_array().unwrap().iter().find(|field| field["name"] == "X-Odd");
    assert_eq!(odd.unwrap()["value"], "a b");
    assert_eq!(shown["is_whole"], true);
}

#[test]
fn plain_broken_and_empty_messages_are_shown_as_far_as_they_go() {
    let plain = show("Subject: x\r\n\r\nhello\r\n");
    assert_eq!((&plain["text"], &plain["html"]), (&json!("hello\r\n"), &Value::Null));
    let html = show("Content-Type: text/html\r\n\r\n<p>hello</p>");
    assert_eq!((&html["text"], &html["html"]), (&Value::Null, &json!("<p>hello</p>")));
    for broken in [
        "",
        "\r\n",
        "no header at all",
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b",
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n--b\r\n",
        "Content-Type: multipart/mixed\r\n\r\n--b\r\n",
        "Content-Type: text/plain; charset=nonsense\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!!",
        "From: <<<>>>,,,\r\nDate: yesterday\r\n\r\n",
    ] {
        show(broken);
    }
}

/// Each level contains the next, so a recursive parser runs out of stack.
#[test]
fn messages_within_messages_do_not_go_deep() {
    let level = "Content-Type: message/rfc822\r\n\r\n";
    let deep = level.repeat(PARTS + 1);
    assert_eq!(show(&deep)["is_whole"], false);
    assert_eq!(show(&level.repeat(300_000))["is_whole"], false);
    // The library treats these names alike.
    for name in
        ["C ontent-Type", "Content\t-Type", ":Content-Type", "content\r-TYPE", "\x0cContent-Type"]
    {
        let odd = format!("{name}: message/rfc822\r\n\r\n");
        assert_eq!(show(&odd.repeat(100_000))["is_whole"], false, "{name:?}");
    }
    let joined = format!("--b{}", level.replace('-', " - "));
    assert_eq!(
        show(
            &(level.replace("message/rfc822", "multipart/digest; boundary=b")
                + &joined.repeat(100_000))
        )["is_whole"],
        false
    );
    assert_eq!(show(&level.repeat(PARTS))["is_whole"], true);
    let mut digest = String::new();
    for number in 0..PARTS - 1 {
        let _ = write!(
            digest,
            "Content-Type: multipart/digest; boundary=b{number}\r\n\r\n--b{number}\r\n"
        );
    }
    assert_eq!(show(&digest)["is_whole"], true);
}

#[test]
fn a_header_without_end_is_read_as_far_as_its_bound() {
    let field = |number: usize| format!("X-{number:06}: value\r\n");
    let header = |fields: usize| (0..fields).map(field).collect::<String>();
    let fields = |shown: &Value| shown["headers"].as_array().unwrap().len();
    // Seventeen bytes each.
    let most = HEADER / field(0).len();
    let fits = show(&format!("{}\r\nhello", header(most - 1)));
    assert_eq!((fields(&fits), &fits["is_whole"]), (most - 1, &json!(true)));
    assert_eq!(fits["text"], "hello");
    let more = show(&format!("Subject: x\r\n{}\r\nhello", header(100_000)));
    assert!((most - 1..=most + 1).contains(&fields(&more)), "{}", fields(&more));
    assert_eq!((&more["subject"], &more["is_whole"]), (&json!("x"), &json!(false)));
    assert_eq!((&more["text"], more["size"].as_u64()), (&Value::Null, Some(1_700_019)));
}

/// Each is cheap to send but expensive to parse.
#[test]
fn parts_and_parameters_without_number_are_not_taken_apart() {
    let digest = |parts: usize| {
        let parts = "--b\r\n\r\nA: b\r\n\r\nx\r\n".repeat(parts);
        show(&format!("Content-Type: multipart/digest; boundary=b\r\n\r\n{parts}--b--\r\n"))
    };
    assert_eq!(digest(100)["attachments"].as_array().unwrap().len(), 100);
    assert_eq!(digest(DASHES - 1)["is_whole"], true);
    assert_eq!(digest(DASHES)["is_whole"], false);
    let parameters = |name: &str, most: usize| {
        let words: String = (0..most).map(|number| format!(" n*{number:06}=b;\r\n")).collect();
        let inner = format!("--b\r\n{name}: text/plain;\r\n{words}\r\nhello\r\n--b--\r\n");
        show(&format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{inner}"))
    };
    for name in ["Content-Type", "content-disposition", " Con tent-Type"] {
        assert_eq!(parameters(name, 1_000)["is_whole"], true);
        assert_eq!(parameters(name, 100_000)["is_whole"], false);
    }
    // A long text is not a parameter.
    let text = "Content-Type: text/plain\r\n\r\n".to_owned() + &"a -- b\r\n".repeat(DASHES);
    assert_eq!(show(&text)["is_whole"], true);
    let fields = "a:\r\n".repeat(FIELDS - 2);
    let odd = show(&format!(
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: a/x\r\n{fields}\r\nx\r\n--b--\r\n"
    ));
    assert_eq!(show(&"a\r\n\r\nb:\r\n".repeat(FIELDS))["is_whole"], true);
    assert_eq!(show(&"a\r\n\r\nb:\r\n".repeat(FIELDS + 1))["is_whole"], false);
    assert_eq!(odd["attachments"][0], json!({ "name": null, "type": "a/x", "size": 1 }));
}

#[test]
fn encoded_messages_within_a_message_are_not_followed() {
    use base64::Engine;
    let inner = "Content-Type: message/rfc822\r\n\r\n".repeat(100_000);
    let inner = base64::engine::general_purpose::STANDARD.encode(inner);
    let encoded = format!(
        "Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n\r\n{inner}\r\n"
    );
    for outer in [
        encoded.clone(),
        format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n{encoded}--b--\r\n"),
        format!(
            "Content-Type: multipart/digest; boundary=b\r\n\r\n--b\r\n\
             Content-Transfer-Encoding: base64\r\n\r\n{inner}\r\n--b--\r\n"
        ),
    ] {
        let shown = show(&outer);
        assert_eq!(shown["attachments"].as_array().unwrap().len(), 1, "{}", shown["attachments"]);
    }
}

/// Words with a meaning for parsers of messages.
const WORDS: [&str; 16] = [
    "\r\n",
    "\r\n\r\n",
    "--b",
    "--b--",
    "Content-Type: ",
    "multipart/mixed; boundary=b",
    "message/rfc822",
    "text/html",
    "multipart/digest; boundary=\"b\"",
    "Content-Transfer-Encoding: base64\r\n",
    "quoted-printable",
    "=?utf-8?b?",
    "?=",
    "; charset=utf-7",
    "Subject: ",
    "\u{e9}",
];

proptest::proptest! {
    #[test]
    fn whatever_it_is_it_is_shown(
        picks in proptest::collection::vec((0..WORDS.len(), "[ -~\\r\\n]{0,8}"), 0..60)
    ) {
        let content: String = picks.iter().map(|(word, rest)| WORDS[*word].to_owned() + rest).collect();
        show(&content);
    }
}
