//! Operations as steps of a journey: cookies, redirects and captured values.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use drivers::http2::driver::Http2;
use drivers::http2::operation::Operation;
use engine::driver::{Call, CompileContext, Driver, Exchange};
use http::Response;
use plan::diagnostic::Span;
use plan::journey::{Capture, CaptureSource, Captured, Memory};
use record::{FailureKind, Outcome};

use crate::http2::stand::{Asked, beside, body_of, call, planned, serve_plain};

fn step(text: &str, capture: Option<CaptureSource>) -> Operation {
    let capture = capture.map(|source| Capture {
        name: "x".to_owned(),
        source,
        all: false,
        optional: false,
        decode: None,
        place: 0,
        span: Span::default(),
    });
    let captures = capture.into_iter().collect();
    let planned = plan::operation::Operation { captures, is_step: true, ..planned(text) };
    let compile = CompileContext { operation: &planned, targets: &[], wall_clock: "" };
    Http2.compile(compile).expect("it compiles")
}

/// What a site answers for a path: status, one field, body.
fn page(path: &str) -> (u16, Option<(&'static str, &'static str)>, &'static str) {
    match path {
        "/login" => (302, Some(("location", "/set?x=1")), "moved"),
        "/set?x=1" => (303, Some(("location", "/home")), ""),
        "/cookie" => (200, Some(("set-cookie", "sid=7; Path=/")), ""),
        "/loop" => (307, Some(("location", "loop")), ""),
        "/away" => (301, Some(("location", "http://elsewhere.test/")), ""),
        "/nowhere" => (301, None, ""),
        _ => (200, None, "{\"token\":\"t1\"}"),
    }
}

/// Outcome, status and detail of an operation.
type Seen = (Outcome, u16, Option<String>);

/// Performs each operation in one journey; gives what was seen of each, and what was asked.
fn journey(operations: &[Operation], memory: &Rc<Memory>) -> (Vec<Seen>, Vec<String>) {
    let asked = Rc::new(RefCell::new(Vec::new()));
    let told = Rc::clone(&asked);
    let serve = |_, stream| {
        serve_plain(stream, move |(request, mut respond): Asked| {
            let told = Rc::clone(&told);
            async move {
                let path = request.uri().path_and_query().expect("a path").as_str().to_owned();
                let (status, field, body) = page(&path);
                let cookie = request.headers().get("cookie").cloned();
                let cookie = cookie.map_or(String::new(), |cookie| format!(" {cookie:?}"));
                let method = request.method().clone();
                let sent = String::from_utf8(body_of(request).await).expect("text");
                told.borrow_mut().push(format!("{method} {path}{cookie} {sent}"));
                let mut head = Response::builder().status(status);
                if let Some((name, value)) = field {
                    head = head.header(name, value);
                }
                let head = head.body(()).expect("a head");
                let mut send = respond.send_response(head, body.is_empty()).expect("it listens");
                if !body.is_empty() {
                    send.send_data(Bytes::from_static(body.as_bytes()), true).expect("it listens");
                }
            }
        })
    };
    let outcomes = beside(serve, async |mut client| {
        let mut outcomes = Vec::new();
        let mut line = client.line();
        for operation in operations {
            let mut exchange = Exchange::new(client.clock.clone());
            exchange.clear(0);
            let call = Call { memory: Some(Rc::clone(memory)), ..call(0) };
            Http2.encode(operation, &mut line, &call);
            exchange.started_at = 0;
            let outcome = Http2.perform(operation, &mut line, &mut exchange).await;
            outcomes.push((outcome, exchange.status.code(), exchange.detail.take()));
        }
        outcomes
    });
    (outcomes, asked.take())
}

#[test]
fn cookies_and_captured_values_belong_to_the_journey() {
    let memory = Rc::new(Memory::default());
    let json = CaptureSource::Json("$.token".to_owned());
    let operations = [
        step("http2 = { path = \"/cookie\" }", None),
        step("http2 = { path = \"/home\" }", Some(json)),
        step("http2 = { path = \"/home\", cookies = false }", None),
    ];
    let (outcomes, asked) = journey(&operations, &memory);
    assert!(outcomes.iter().all(|one| one.0 == Outcome::Succeeded), "{outcomes:?}");
    assert_eq!(asked, ["GET /cookie ", "GET /home \"sid=7\" ", "GET /home "]);
    assert_eq!(memory.look(0, |value| value.cloned()), Some(Captured::One("t1".into())));
    let (_, asked) = journey(&operations[1..2], &Rc::default());
    assert_eq!(asked, ["GET /home "]);
}

#[test]
fn redirects_are_followed_up_to_the_limit() {
    let operations = [
        step("http2 = { path = \"/login\", follow = 2, form = { a = \"{{sequence}}\" } }", None),
        step("http2 = { path = \"/login\", form = { a = 1 } }", None),
        step("http2 = { path = \"/loop\", follow = 2, method = \"PUT\", body = \"b\" }", None),
        step("http2 = { path = \"/away\", follow = 2 }", None),
        step("http2 = { path = \"/nowhere\", follow = 2 }", None),
    ];
    let (outcomes, asked) = journey(&operations, &Rc::default());
    let failed = |status: u16, detail: &str| {
        (Outcome::Failed(FailureKind::Redirect), status, Some(detail.to_owned()))
    };
    assert_eq!(
        outcomes,
        [
            (Outcome::Succeeded, 200, None),
            (Outcome::Succeeded, 302, None),
            failed(307, "more than 2 redirects; the next leads to loop"),
            failed(
                301,
                "http://elsewhere.test is no target of this run: add it to `also` of [target]"
            ),
            failed(301, "status 301 without a location"),
        ]
    );
    assert_eq!(
        asked,
        [
            "POST /login a=0",
            "GET /set?x=1 ",
            "GET /home ",
            "POST /login a=1",
            "PUT /loop b",
            "PUT /loop b",
            "PUT /loop b",
            "GET /away ",
            "GET /nowhere ",
        ]
    );
}
