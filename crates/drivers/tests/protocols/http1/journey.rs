//! Operations as steps of a journey: cookies, redirects, captured values, compressed bodies.

use std::rc::Rc;

use drivers::http1::compile;
use drivers::http1::driver::Operation;
use drivers::http1::probe::probe;
use engine::driver::{Call, Exchange, Onward};
use plan::diagnostic::Span;
use plan::journey::{Capture, CaptureSource, Captured, Memory};
use record::{FailureKind, Outcome};

use crate::http1::peer::memory;
use crate::http1::stand::{Ticks, call, exchange, planned, run};

/// A step with one capture.
fn capturing(text: &str, source: CaptureSource) -> Operation {
    let span = Span::default();
    let name = "x".to_owned();
    let capture =
        Capture { name, source, all: false, optional: false, decode: None, place: 0, span };
    step_with(text, vec![capture])
}

fn step_with(text: &str, captures: Vec<Capture>) -> Operation {
    let planned = plan::operation::Operation { captures, is_step: true, ..planned(text) };
    compile::operation(&planned).expect("it compiles")
}

fn step(text: &str) -> Operation {
    step_with(text, Vec::new())
}

fn step_of(memory: &Rc<Memory>) -> Call {
    Call { memory: Some(Rc::clone(memory)), ..call(0) }
}

/// Performs the operation against a peer that gives one answer to each request.
///
/// Shape:  → outcome, exchange, and the requests
fn performed(
    operation: &Operation,
    call: &Call,
    answers: &[&[u8]],
) -> (Outcome, Exchange<Ticks>, Vec<String>) {
    run(async {
        let (mut conversation, mut peer) = memory(64 * 1024);
        let mut exchange = exchange(operation);
        let serve = async {
            let mut requests = Vec::new();
            for answer in answers {
                let request = peer.read_head().await;
                requests.push(String::from_utf8(request).expect("text"));
                peer.send(&[answer]).await;
            }
            requests
        };
        let ask = async {
            operation.encode(&mut conversation, call);
            exchange.started_at = exchange.now();
            operation.perform(&mut conversation, &mut exchange).await
        };
        let (outcome, requests) = tokio::join!(ask, serve);
        (outcome, exchange, requests)
    })
}

fn answer(fields: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{fields}content-length: 0\r\n\r\n").into_bytes()
}

fn redirect(status: u16, location: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} X\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n").into_bytes()
}

fn captured(memory: &Memory) -> Option<String> {
    memory.look(0, |value| match value {
        Some(Captured::One(text)) => Some(text.to_string()),
        _ => None,
    })
}

#[test]
fn cookies_of_an_answer_go_with_the_next_request_of_the_journey() {
    let memory = Rc::new(Memory::default());
    let (login, next) = (step("http = { path = \"/login\" }"), step("http = { path = \"/a\" }"));
    let set = answer("Set-Cookie: sid=1; Path=/\r\nset-cookie: b=2; Path=/a\r\n");
    let (outcome, _, requests) = performed(&login, &step_of(&memory), &[&set]);
    assert_eq!(outcome, Outcome::Succeeded);
    assert!(!requests[0].contains("cookie"), "{requests:?}");
    let (_, _, requests) = performed(&next, &step_of(&memory), &[&answer("")]);
    assert!(requests[0].ends_with("\r\naccept: */*\r\ncookie: b=2; sid=1\r\n\r\n"), "{requests:?}");
    let (_, _, requests) = performed(&login, &step_of(&memory), &[&answer("")]);
    assert!(requests[0].ends_with("\r\naccept: */*\r\ncookie: sid=1\r\n\r\n"), "{requests:?}");
    for (operation, call) in [
        (&next, step_of(&Rc::default())),
        (&next, call(0)),
        (&step("http = { path = \"/a\", cookies = false }"), step_of(&memory)),
    ] {
        let (_, _, requests) = performed(operation, &call, &[&answer("")]);
        assert!(!requests[0].contains("cookie"), "{requests:?}");
    }
}

#[test]
fn cookies_of_a_failed_answer_are_kept() {
    let memory = Rc::new(Memory::default());
    let step = step("http = {}");
    let forbidden = b"HTTP/1.1 403 X\r\nset-cookie: a=1\r\ncontent-length: 0\r\n\r\n";
    let (outcome, ..) = performed(&step, &step_of(&memory), &[forbidden]);
    assert_eq!(outcome, Outcome::Failed(FailureKind::Status));
    let (_, _, requests) = performed(&step, &step_of(&memory), &[&answer("")]);
    assert!(requests[0].contains("cookie: a=1\r\n"), "{requests:?}");
}

#[test]
fn an_operation_on_its_own_has_no_cookies() {
    let operation = crate::http1::stand::operation("http = { follow = 1 }");
    let set = b"HTTP/1.1 302 X\r\nset-cookie: a=1\r\nlocation: /\r\ncontent-length: 0\r\n\r\n";
    let (outcome, _, requests) = performed(&operation, &call(0), &[set, &answer("")]);
    assert_eq!(outcome, Outcome::Succeeded);
    assert!(!requests[1].contains("cookie"), "{requests:?}");
}

#[test]
fn redirects_are_followed_with_their_cookies() {
    let memory = Rc::new(Memory::default());
    let login = step("http = { method = \"POST\", path = \"/login\", follow = 2 }");
    let first = b"HTTP/1.1 302 X\r\nset-cookie: sid=1\r\nlocation: /home?x\r\n\
        content-length: 4\r\n\r\ngone";
    let answers: [&[u8]; 3] = [first, &redirect(307, "./new"), &answer("")];
    let (outcome, exchange, requests) = performed(&login, &step_of(&memory), &answers);
    assert_eq!(
        (outcome, exchange.status.code()),
        (Outcome::Succeeded, 200),
        "{:?}",
        exchange.detail
    );
    let lines: Vec<&str> = requests.iter().filter_map(|request| request.lines().next()).collect();
    assert_eq!(lines, ["POST /login HTTP/1.1", "GET /home?x HTTP/1.1", "GET /new HTTP/1.1"]);
    assert!(!requests[0].contains("cookie") && requests[2].contains("cookie: sid=1\r\n"));
    assert!(!requests[1].contains("content-length"), "{requests:?}");
    let sent: usize = requests.iter().map(String::len).sum();
    assert_eq!(exchange.bytes_sent, sent as u64);
    assert!(exchange.reusable);
}

#[test]
fn redirects_without_end_or_location_are_failures() {
    let twice = step("http = { follow = 2 }");
    let detail = |answers: &[&[u8]]| {
        let (outcome, exchange, _) = performed(&twice, &call(0), answers);
        assert_eq!(outcome, Outcome::Failed(FailureKind::Redirect));
        assert!(exchange.reusable, "each answer was complete");
        exchange.detail.expect("a detail")
    };
    let again = redirect(301, "/");
    let many = "more than 2 redirects; the next leads to /";
    assert_eq!(detail(&[&again, &again, &again]), many);
    let nowhere = b"HTTP/1.1 302 X\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(detail(&[nowhere]), "status 302 without a location");
    let other = redirect(301, "http://user:word@b.example/");
    let many = "more than 2 redirects; the next leads to http://…@b.example/";
    assert_eq!(detail(&[&again, &again, &other]), many);
}

/// Performs an operation that goes on over a second connection: its outcome there, both requests, and where it went.
fn performed_onward(operation: &Operation, first: &[u8]) -> (Outcome, [String; 2], String) {
    let call = call(0);
    run(async {
        let (mut conversation, mut peer) = memory(64 * 1024);
        let (mut second, mut other) = memory(64 * 1024);
        let mut exchange = exchange(operation);
        let serve = async {
            let left = peer.read_head().await;
            peer.send(&[first]).await;
            let right = other.read_head().await;
            other.send(&[&answer("")]).await;
            [left, right].map(|request| String::from_utf8(request).expect("text"))
        };
        let ask = async {
            operation.encode(&mut conversation, &call);
            let failed = operation.perform(&mut conversation, &mut exchange).await;
            assert_eq!(failed, Outcome::Failed(FailureKind::Redirect), "if nobody goes on");
            let Onward { origin, state } = exchange.onward.take().expect("it goes on");
            operation.resume(&mut second, &call, state);
            (operation.perform(&mut second, &mut exchange).await, origin)
        };
        let ((outcome, origin), requests) = tokio::join!(ask, serve);
        assert!(exchange.spans.get(Exchange::<Ticks>::FIRST_SPAN + 1).is_some());
        (outcome, requests, origin)
    })
}

#[test]
fn a_redirect_to_another_origin_goes_on_there_without_credentials() {
    let operation = step(
        "http = { path = \"/a\", follow = 1, auth = { bearer = \"t\" }, body = \"b\", \
         header = { x-own = \"1\", cookie = \"c=1\", host = \"h.test\" } }",
    );
    let elsewhere = redirect(307, "https://user:word@other.test/b?c");
    let (outcome, [first, second], origin) = performed_onward(&operation, &elsewhere);
    assert_eq!((outcome, origin.as_str()), (Outcome::Succeeded, "https://other.test"));
    assert!(first.contains("authorization: Bearer t\r\n") && first.contains("host: h.test\r\n"));
    assert!(second.starts_with("POST /b?c HTTP/1.1\r\nhost: example.test:8080\r\n"), "{second}");
    assert!(second.contains("x-own: 1\r\n") && second.contains("content-length: 1\r\n"));
    assert!(!second.contains("authorization") && !second.contains("cookie"), "{second}");
}

#[test]
fn a_redirect_on_a_connection_that_ends_goes_on_over_another() {
    let operation = step("http = { path = \"/a\", follow = 1, auth = { bearer = \"t\" } }");
    let closing =
        b"HTTP/1.1 302 X\r\nlocation: /b\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let (outcome, [_, second], origin) = performed_onward(&operation, closing);
    assert_eq!((outcome, origin.as_str()), (Outcome::Succeeded, "http://example.test:8080"));
    assert!(second.starts_with("GET /b ") && second.contains("Bearer t\r\n"), "{second}");
}

#[test]
fn an_address_of_the_call_is_asked_for_path_and_query() {
    let operation = step("http = { url = \"{{token}}/x?y\", query = { z = 1 } }");
    let (outcome, _, requests) = performed(&operation, &call(0), &[&answer("")]);
    assert_eq!(outcome, Outcome::Succeeded);
    let line = requests[0].lines().next().expect("a line");
    let path = line.strip_prefix("GET /").and_then(|line| line.strip_suffix("/x?y&z=1 HTTP/1.1"));
    assert_eq!(path.map(str::len), Some(16), "{line}");
    for literal in ["http://example.test:8080?a", "http://example.test:8080/?a#b?c"] {
        let literal = step(&format!("http = {{ url = \"{literal}\" }}"));
        let (_, _, requests) = performed(&literal, &call(0), &[&answer("")]);
        assert!(requests[0].starts_with("GET /?a HTTP/1.1\r\n"), "{}", requests[0]);
    }
}

#[test]
fn the_status_and_the_expectations_are_those_of_the_last_answer() {
    let operation = step("http = { follow = 1 }\nexpect = { status = 200, contains = \"second\" }");
    let first = b"HTTP/1.1 302 X\r\nlocation: /a\r\ncontent-length: 5\r\n\r\nfirst";
    let second = b"HTTP/1.1 200 X\r\ncontent-length: 6\r\n\r\nsecond";
    let (outcome, exchange, _) = performed(&operation, &call(0), &[first, second]);
    assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
    let not_followed = step("http = {}\nexpect = { status = 302 }");
    let (outcome, ..) = performed(&not_followed, &call(0), &[&redirect(302, "/a")]);
    assert_eq!(outcome, Outcome::Succeeded);
}

#[test]
fn values_are_captured_from_good_answers_alone() {
    let memory = Rc::new(Memory::default());
    let source = || CaptureSource::Json("$.token".to_owned());
    let token = capturing("http = {}\nexpect = { json = { \"$.ok\" = true } }", source());
    let body = |ok: bool, token: &str| {
        let body = format!("{{\"ok\":{ok},\"token\":\"{token}\"}}");
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    };
    let (outcome, ..) = performed(&token, &step_of(&memory), &[&body(true, "t1")]);
    assert_eq!((outcome, captured(&memory).as_deref()), (Outcome::Succeeded, Some("t1")));
    let (outcome, ..) = performed(&token, &step_of(&memory), &[&body(false, "t2")]);
    assert_eq!(outcome, Outcome::Failed(FailureKind::WrongContent));
    assert_eq!(captured(&memory).as_deref(), Some("t1"));
    let without = b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{\"ok\":true}";
    for call in [step_of(&memory), call(0)] {
        let (outcome, exchange, _) = performed(&token, &call, &[without]);
        assert_eq!(outcome, Outcome::Failed(FailureKind::Capture));
        let detail = "capture `x`: $.token is not in the answer";
        assert_eq!(exchange.detail.as_deref(), Some(detail));
        assert!(exchange.reusable, "the answer was complete");
    }
}

#[test]
fn a_value_of_the_head_is_captured_without_the_body() {
    let memory = Rc::new(Memory::default());
    let header = CaptureSource::Header { name: "etag".to_owned(), matches: None };
    let etag = capturing("http = {}", header);
    let body = "x".repeat(100);
    let answer = format!("HTTP/1.1 200 OK\r\nETag: \"7\"\r\ncontent-length: 100\r\n\r\n{body}");
    let (outcome, ..) = performed(&etag, &step_of(&memory), &[answer.as_bytes()]);
    assert_eq!((outcome, captured(&memory).as_deref()), (Outcome::Succeeded, Some("\"7\"")));
}

#[test]
fn values_are_read_from_compressed_bodies() {
    let memory = Rc::new(Memory::default());
    let word = capturing("http = {}", CaptureSource::Matches("hello (w[a-z]+)".to_owned()));
    // "hello, hello, hello world", compressed by Node.js.
    let body = [
        27, 24, 0, 248, 141, 212, 78, 249, 195, 80, 84, 101, 104, 13, 194, 194, 246, 166, 22, 137,
        167, 18, 56, 97, 213, 2, 1,
    ];
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let answer = [head.as_bytes(), &body].concat();
    let (outcome, exchange, _) = performed(&word, &step_of(&memory), &[&answer]);
    assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
    assert_eq!(captured(&memory).as_deref(), Some("world"));
    let unknown = b"HTTP/1.1 200 OK\r\ncontent-encoding: compress\r\ncontent-length: 1\r\n\r\nx";
    let (outcome, ..) = performed(&word, &step_of(&memory), &[unknown]);
    assert_eq!(outcome, Outcome::Failed(FailureKind::WrongContent));
}

#[test]
fn an_answer_of_100_mb_is_refused() {
    let body = capturing("http = {}", CaptureSource::Body);
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n";
    let answer = [head.as_slice(), &vec![b'x'; 20_000_000]].concat();
    run(async {
        let (mut conversation, mut peer) = memory(64 * 1024);
        let mut exchange = exchange(&body);
        let serve = async {
            peer.read_head().await;
            peer.send(&[&answer]).await;
        };
        let ask = async {
            body.encode(&mut conversation, &call(0));
            let outcome = body.perform(&mut conversation, &mut exchange).await;
            drop(conversation);
            outcome
        };
        let (outcome, ()) = tokio::join!(ask, serve);
        assert_eq!(outcome, Outcome::Failed(FailureKind::TooLarge));
    });
}

#[test]
fn what_a_step_did_is_shown() {
    let span = Span::default();
    let source = CaptureSource::Cookie("sid".to_owned());
    let name = "sid".to_owned();
    let capture =
        Capture { name, source, all: false, optional: false, decode: None, place: 0, span };
    let operation = step_with(
        "http = { path = \"/login\", follow = 1, auth = { bearer = \"t-{{sequence}}\" } }",
        vec![capture],
    );
    let set = answer("set-cookie: sid=7\r\n");
    run(async {
        let (mut conversation, mut peer) = memory(64 * 1024);
        let mut exchange = exchange(&operation);
        let serve = async {
            peer.read_head().await;
            peer.send(&[&redirect(302, "/home")]).await;
            let second = peer.read_head().await;
            peer.send(&[&set]).await;
            second
        };
        operation.encode(&mut conversation, &call(5));
        let (seen, second) =
            tokio::join!(probe(&operation, &mut conversation, &mut exchange), serve);
        assert_eq!(seen.outcome, Outcome::Succeeded);
        let sent = String::from_utf8(second).expect("text");
        assert!(sent.contains("authorization: Bearer t-5\r\n"), "{sent}");
        let shown = String::from_utf8(seen.request).expect("text");
        assert_eq!(shown, sent.replace("t-5", "(hidden)"));
        assert_eq!(seen.head, set);
        let checks: Vec<(&str, &str)> =
            seen.checks.iter().map(|check| (check.text.as_str(), check.seen.as_str())).collect();
        assert_eq!(
            checks,
            [
                ("status is 2xx, 3xx", "200"),
                ("capture `sid` from cookie sid", "7"),
                ("1 redirect followed", "http://example.test:8080/home"),
            ]
        );
    });
}

#[test]
fn a_redirect_that_leads_to_no_target_is_not_shown_as_followed() {
    let operation = step("http = { follow = 2 }");
    run(async {
        let (mut conversation, mut peer) = memory(64 * 1024);
        let mut exchange = exchange(&operation);
        let serve = async {
            peer.read_head().await;
            peer.send(&[&redirect(302, "/a?b")]).await;
            peer.read_head().await;
            peer.send(&[&redirect(302, "ftp://b.example/")]).await;
        };
        operation.encode(&mut conversation, &call(0));
        let (seen, ()) = tokio::join!(probe(&operation, &mut conversation, &mut exchange), serve);
        assert_eq!(seen.outcome, Outcome::Failed(FailureKind::Redirect));
        let detail = "ftp: is not a valid http:// or https:// address";
        assert_eq!(seen.detail.as_deref(), Some(detail));
        let checks: Vec<_> = seen.checks.into_iter().map(|one| (one.text, one.seen)).collect();
        let url = "http://example.test:8080/a?b".to_owned();
        assert_eq!(checks, [("1 redirect followed".to_owned(), url)]);
    });
}
