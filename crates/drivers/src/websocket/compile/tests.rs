use plan::diagnostic::{Colour, render};

use super::*;

fn planned(text: &str) -> Planned {
    crate::planned::planned("websocket", text)
}

fn compiled(text: &str) -> Operation {
    operation(&planned(text)).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

#[track_caller]
fn check(text: &str, message: &str) {
    let problems = operation(&planned(text)).expect_err("it is wrong");
    let seen = render("test.toml", text, &problems, Colour::Off);
    assert!(seen.contains(message), "{text}: {seen}");
}

/// The handshake as it is sent, without its key.
fn handshake(operation: &Operation) -> String {
    let call = plan::template::Call::default();
    let request = operation.handshake.request(&call, None, "a.example:81", false);
    let text = String::from_utf8(request.bytes).expect("text");
    let lines = text.split("\r\n").filter(|line| !line.starts_with("sec-websocket-key: "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn without_a_message_an_operation_opens_a_socket() {
    let text = "websocket = { path = \"/a b\", query = { c = 1 }, header = { x = \"y\" }, \
                subprotocol = [\"v2\", \"v1\"], auth = { bearer = \"t\" } }";
    let operation = compiled(text);
    assert!(operation.ask.is_none());
    let seen = handshake(&operation);
    assert!(seen.starts_with("GET /a%20b?c=1 HTTP/1.1\nhost: a.example:81\n"), "{seen}");
    for line in [
        "x: y\n",
        "authorization: Bearer t\n",
        "upgrade: websocket\n",
        "connection: Upgrade\n",
        "sec-websocket-version: 13\n",
        "sec-websocket-protocol: v2, v1\n",
    ] {
        assert!(seen.contains(line), "{line}: {seen}");
    }
    assert!(seen.ends_with("\n\n"), "{seen}");
}

#[test]
fn a_message_is_rendered_for_each_call_and_its_answer_told_from_others() {
    let text = "websocket = { path = \"/chat\", json = { id = \"{{sequence}}\" }, \
                answer = { \"$.id\" = \"{{sequence}}\", \"$.kind\" = 7 }, binary = true }\n\
                expect = { contains = \"ok\" }\nitems = { n = \"$.n\" }";
    let ask = compiled(text).ask.expect("a message");
    assert!(ask.is_binary && ask.rules.len() == 1 && ask.items.len() == 1);
    let call = plan::template::Call { sequence: 4, ..Default::default() };
    let mut wanted = super::super::correlation::Wanted::default();
    ask.correlation.render(&call, None, &mut wanted);
    let is_answer =
        |text: &str| ask.correlation.is_answer(&ask.correlation.read(text.as_bytes()), &wanted);
    assert!(is_answer(r#"{"kind":7,"id":"4"}"#) && is_answer(r#"{"kind":"7","id":4}"#));
    assert!(!is_answer(r#"{"kind":7,"id":"5"}"#) && !is_answer(r#"{"id":"4"}"#));
    assert!(!is_answer("4 7") && !is_answer(""));
}

#[test]
fn an_answer_is_the_next_message_or_one_that_contains_a_text() {
    assert!(compiled("websocket = { body = \"hello\" }").ask.unwrap().correlation.is_next());
    let ask =
        compiled("websocket = { body = \"x\", answer = \"pong {{sequence}};\" }").ask.unwrap();
    let call = plan::template::Call { sequence: 12, ..Default::default() };
    let mut wanted = super::super::correlation::Wanted::default();
    ask.correlation.render(&call, None, &mut wanted);
    assert!(ask.correlation.is_answer(&ask.correlation.read(b"<pong 12;>"), &wanted));
    assert!(!ask.correlation.is_answer(&ask.correlation.read(b"<pong 1;>"), &wanted));
}

#[test]
fn every_problem_points_at_its_place() {
    check("websocket = { path = \"x\" }", "does not begin with /");
    check("websocket = { header = { upgrade = \"h2c\" } }", "belongs to the handshake");
    check("websocket = { answer = \"x\" }", "is for an operation that sends a message");
    check("websocket = { binary = true }", "is for an operation that sends a message");
    check("websocket = {}\nexpect = { contains = \"x\" }", "has no answer to look into");
    check("websocket = { body = \"x\", answer = 3 }", "expected text, or a table");
    check("websocket = { body = \"x\", answer = \"\" }", "expected text, or a table");
    check("websocket = { body = \"x\", answer = { a = 1 } }", "JSON path");
    check("websocket = { body = \"x\", json = {} }", "either `body` or `json`");
    check("websocket = { path = \"/{{sequence}}\", body = \"x\" }", "it belongs to a whole socket");
    check("websocket = { subprotocol = \"a b\" }", "the name of a subprotocol");
    check("websocket = { url = \"{{sequence}}\" }", "the host of a socket cannot be captured");
    check("websocket = { method = \"POST\" }", "unknown key `method`");
    compiled("websocket = { path = \"/{{sequence}}\" }");
}
