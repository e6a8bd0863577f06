//! Tables of the experiment file, and what comes of them.

use std::sync::Arc;

use engine::driver::{Call, CompileContext};
use plan::diagnostic::{Colour, render};
use plan::document::Table;
use plan::operation::{Operation, RowOrder, TargetOf};
use plan::rows::Rows;
use plan::target::Target;

use super::operation;
use crate::smtp::content::{LEAD, MessageContext, Rendered};

fn planned(text: &str) -> Operation {
    crate::planned::planned("smtp", text)
}

fn compile<'a>(operation: &'a Operation, targets: &'a [Target]) -> CompileContext<'a> {
    CompileContext { operation, targets, wall_clock: "2026-11-21T12:00:00.123456Z" }
}

/// The message of the call with this sequence and row, dots doubled.
fn message(planned: &Operation, place: u64) -> String {
    let operation = operation(&compile(planned, &[])).expect("it compiles");
    let row = usize::try_from(place).unwrap();
    let call = Call { sequence: place, row, trial: 1, seed: 1, now: 5, ..Call::default() };
    let context = MessageContext { call: &call, rows: operation.rows.as_deref(), dots: true };
    let mut out = Rendered::default();
    operation.content.render(&context, &mut out).expect("it has its size");
    String::from_utf8(out.bytes[LEAD..].to_vec()).unwrap()
}

#[test]
fn a_message_has_the_header_of_a_message() {
    let text = message(
        &planned(
            "[smtp]\nto = [\"a@b.example\", \"c@d.example\"]\nsubject = \"n {{sequence}}\"\nheader = { x-test = \"{{trial}}\" }",
        ),
        3,
    );
    let (header, _) = text.split_once("\r\n\r\n").expect("header and body");
    let fixed = |line: &&str| !line.starts_with("X-Proofload-Digest");
    let nonce = "000000010000000000";
    assert!(header.contains(nonce), "{header}");
    let lines: Vec<&str> = header.split("\r\n").filter(fixed).collect();
    let [mark, ref rest @ ..] = lines[..] else { panic!("{header}") };
    let nonce = mark.strip_prefix("X-Proofload-Nonce: ").expect("the nonce");
    let id = format!("Message-ID: <{nonce}@client.example>");
    assert_eq!(
        rest,
        [
            "From: <load@client.example>",
            "To: <a@b.example>,",
            " <c@d.example>",
            "Date: Sat, 21 Nov 2026 12:00:00 -0000",
            id.as_str(),
            "Subject: n 3",
            "x-test: 1",
        ]
    );
}

#[test]
fn a_field_of_the_experiment_stands_in_the_place_of_ours() {
    let table = "[smtp]\nto = \"a@b\"\nheader = { from = \"me\", to = \"you\", date = \"now\", \
                 message-id = \"1\", subject = \"s\" }\nbody = \"x\"";
    let text = message(&planned(table), 0);
    for ours in ["From:", "To:", "Date:", "Message-ID:", "Subject:"] {
        assert!(!text.contains(ours), "{ours} {text}");
    }
    assert!(text.ends_with(
        "\r\nfrom: me\r\nto: you\r\ndate: now\r\nmessage-id: 1\r\nsubject: s\r\n\r\nx\r\n.\r\n"
    ));
}

#[test]
fn rows_cannot_end_a_line() {
    let object = serde_json::json!({ "who": "a@b>\r\nRCPT TO:<c@d", "what": "x\r\ny: z" });
    let mut planned = planned("[smtp]\nto = \"{{row.who}}\"\nsubject = \"{{row.what}}\"");
    planned.rows = Some(Arc::new(Rows::from_objects("rows", [(1, object)]).unwrap()));
    planned.order = RowOrder::RoundRobin;
    let text = message(&planned, 0);
    assert!(text.contains("\r\nSubject: x  y: z\r\n"), "{text}");
    let operation = operation(&compile(&planned, &[])).expect("it compiles");
    let call = Call { trial: 1, seed: 1, now: 5, ..Call::default() };
    let mut command = Vec::new();
    operation.envelope.rcpt(0, &call, operation.rows.as_deref(), &mut command);
    assert_eq!(String::from_utf8(command).unwrap(), "RCPT TO:<a@b>??RCPT TO:<c@d>\r\n");
}

/// What is wrong, line by line without the frames.
fn problems(text: &str, url: &str) -> String {
    let planned = planned(text);
    let targets = [Target { url: url.to_owned(), ..Target::default() }];
    let planned = Operation { target: TargetOf::Fixed(0), ..planned };
    let problems = operation(&compile(&planned, &targets)).expect_err("it is wrong");
    render("test.toml", text, &problems, Colour::Off)
}

#[track_caller]
fn check(table: &str, message: &str) {
    let text = format!("[smtp]\n{table}\n");
    let seen = problems(&text, "smtp://mail.example");
    assert!(seen.contains(message), "{table}: {seen}");
}

#[test]
fn every_problem_points_at_its_place() {
    check("size = \"1KiB\"", "missing key `to`");
    check("to = []", "at least one address");
    check("to = [5]", "an address such as sink@mail.example");
    check("to = \"<a@b>\"", "has brackets");
    check("to = \"\\u00e4@b\"", "utf8 = true");
    check("to = \"a\\r\\nb\"", "holds a control character");
    check("to = \"{{nonsense}}\"", "nonsense");
    check("to = \"a@b\"\nsize = 5", "a size such as 1KiB");
    check("to = \"a@b\"\nsize = \"100B\"", "a message of 100 bytes, whose header");
    check("to = \"a@b\"\nsize = \"1KiB\"\nbody = \"x\"", "one of `size`, `body` and `message`");
    check("to = \"a@b\"\nmessage = \"no header\"", "no empty line after its header");
    check("to = \"a@b\"\nmessage = []", "at least one message");
    check("to = \"a@b\"\nsizes = \"1KiB\"", "did you mean `size`?");
    check("to = \"a@b\"\nheader = { \"a b\" = \"x\" }", "header name \"a b\"");
    check("to = \"a@b\"\nheader = { x-proofload-nonce = \"x\" }", "identifies messages");
    check("to = \"a@b\"\nheader = { x = 5 }", "expected text");
    check("to = \"a@b\"\nhelo = \"two words\"", "a name such as client.example");
    check("to = \"a@b\"\ntls = \"yes\"", "\"never\", \"starttls\" or \"if_offered\"");
    check("to = \"a@b\"\nauth = { mechanism = \"cram-md5\" }", "\"plain\" or \"login\"");
    check("to = \"a@b\"\nauth = { user = \"u\" }", "missing key `password`");
    check(
        "to = \"a@b\"\nauth = { user = \"{{sequence}}\", password = \"p\" }",
        "differs from message to message",
    );
    for key in ["user", "password"] {
        let other = if key == "user" { "password" } else { "user" };
        let auth = format!("auth = {{ {key} = \"a\\u0000b\", {other} = \"c\" }}");
        check(&format!("to = \"a@b\"\n{auth}"), &format!("`{key}` holds a NUL"));
    }
    for beside in ["subject = \"x\"", "header = { x = \"y\" }", "eight_bit = true"] {
        let table = format!("to = \"a@b\"\nmessage = \"a: b\\n\\nc\"\n{beside}");
        check(&table, "beside `message`, which is sent as it is");
    }
    let line = "x".repeat(999);
    check(&format!("to = \"a@b\"\nbody = \"a\\n{line}\""), "line 2 of the text has 999 bytes");
    let seen = problems(
        "[smtp]\nto = \"a@b\"\n[expect]\nbody = \"x\"\n[items]\nn = \"sise\"\n",
        "smtp://x",
    );
    assert!(seen.contains("unknown key `body`") && seen.contains("did you mean `size`?"), "{seen}");
    let seen = problems("[smtp]\nto = \"a@b\"\ntls = \"starttls\"\n", "smtps://mail.example");
    assert!(seen.contains("TLS is there from the first byte"), "{seen}");
}

#[test]
fn all_problems_are_found_at_once() {
    let seen = problems(
        "[smtp]\nfrom = \"<x>\"\nto = 5\ntls = 1\nreset = 2\nsize = 3\nwhat = 4\n",
        "smtp://x",
    );
    assert_eq!(seen.matches("error: ").count(), 6, "{seen}");
    assert_eq!(Table::default(), planned("").table);
}
