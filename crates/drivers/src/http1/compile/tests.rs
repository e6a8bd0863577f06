//! Tables of the experiment file, and the bytes or the problems that come of them.

use std::sync::Arc;

use engine::driver::Call;
use plan::diagnostic::{Colour, render};
use plan::document::Table;
use plan::operation::{Operation, Request};

use super::operation;
use crate::http::request::{Payload, RenderContext};
use crate::http1::request::RenderBuffers;

fn planned(text: &str) -> Operation {
    crate::planned::planned("http", text)
}

fn call(place: u64) -> Call {
    let row = usize::try_from(place).unwrap();
    Call { sequence: place, row, trial: 1, seed: 1, ..Call::default() }
}

fn context(call: &Call) -> RenderContext<'_> {
    RenderContext { call, rows: None, authority: "[::1]:8080", is_secure: false, location: "" }
}

/// The bytes of the request for the call with this sequence and row.
fn bytes(planned: &Operation, place: u64) -> String {
    let operation = operation(planned).expect("it compiles");
    let call = call(place);
    let mut out = Vec::new();
    let request = &operation.requests[call.row.min(operation.requests.len() - 1)];
    request.encode(&context(&call), &mut RenderBuffers::default(), &mut out);
    out.extend_from_slice(request.tail());
    String::from_utf8(out).unwrap()
}

const DEFAULTS: &str = concat!(
    "host: [::1]:8080\r\nuser-agent: proofload/",
    env!("CARGO_PKG_VERSION"),
    "\r\naccept: */*\r\n"
);

#[track_caller]
fn check(http: &str, expected: &str) {
    let planned = planned(&format!("[http]\n{http}"));
    assert_eq!(bytes(&planned, 7), expected.replace("DEFAULTS\r\n", DEFAULTS), "{http}");
}

#[test]
fn a_request_without_settings_is_get() {
    check("", "GET / HTTP/1.1\r\nDEFAULTS\r\n\r\n");
    check("path = \"/a?b=c\"", "GET /a?b=c HTTP/1.1\r\nDEFAULTS\r\n\r\n");
    check("method = \"DELETE\"", "DELETE / HTTP/1.1\r\nDEFAULTS\r\n\r\n");
    check("method = \"PUT\"", "PUT / HTTP/1.1\r\nDEFAULTS\r\ncontent-length: 0\r\n\r\n");
}

#[test]
fn paths_are_templates_and_percent_encoded() {
    check("path = \"/p-{{sequence}}\"", "GET /p-7 HTTP/1.1\r\nDEFAULTS\r\n\r\n");
    check("path = \"/a b/ü\"", "GET /a%20b/%C3%BC HTTP/1.1\r\nDEFAULTS\r\n\r\n");
    check("path = \"/a#b\"", "GET /a%23b HTTP/1.1\r\nDEFAULTS\r\n\r\n");
    check("path = \"/{{sequence}}#b\"", "GET /7%23b HTTP/1.1\r\nDEFAULTS\r\n\r\n");
    check("path = \"/{{sequence}} x\"", "GET /7%20x HTTP/1.1\r\nDEFAULTS\r\n\r\n");
    check("path = \"{{sequence}}\"", "GET /7 HTTP/1.1\r\nDEFAULTS\r\n\r\n");
}

#[test]
fn headers_replace_the_defaults_and_may_be_repeated() {
    check(
        "header = { Host = \"other\", accept = \"text/html\", x = [\"1\", \"{{sequence}}\"] }",
        &format!(
            "GET / HTTP/1.1\r\nuser-agent: proofload/{}\r\nHost: other\r\naccept: text/html\r\n\
             x: 1\r\nx: 7\r\n\r\n",
            env!("CARGO_PKG_VERSION")
        ),
    );
}

#[test]
fn a_body_makes_it_post_and_its_length_is_computed() {
    check("body = \"hello\"", "POST / HTTP/1.1\r\nDEFAULTS\r\ncontent-length: 5\r\n\r\nhello");
    check(
        "method = \"PUT\"\nbody = \"n={{sequence}}\"",
        "PUT / HTTP/1.1\r\nDEFAULTS\r\ncontent-length: 3\r\n\r\nn=7",
    );
    check("body = \"\"", "POST / HTTP/1.1\r\nDEFAULTS\r\ncontent-length: 0\r\n\r\n");
}

#[test]
fn json_keeps_its_types_and_order_and_escapes_its_texts() {
    check(
        "json = { z = \"a\\\"b\\n{{sequence}}\", list = [1, 2.5, true], inner = { \"k\\\\\" = \"ü\" } }",
        "POST / HTTP/1.1\r\nDEFAULTS\r\ncontent-type: application/json\r\ncontent-length: 60\r\n\r\n\
         {\"z\":\"a\\\"b\\u000a7\",\"list\":[1,2.5,true],\"inner\":{\"k\\\\\":\"ü\"}}",
    );
    check(
        "json = []\nheader = { Content-Type = \"application/x+json\" }",
        "POST / HTTP/1.1\r\nDEFAULTS\r\nContent-Type: application/x+json\r\ncontent-length: 2\r\n\r\n[]",
    );
}

#[test]
fn a_query_is_percent_encoded_and_joins_that_of_the_path() {
    check(
        "query = { size = 20, q = \"a b&ü\", n = \"{{sequence}}\" }",
        "GET /?size=20&q=a%20b%26%C3%BC&n=7 HTTP/1.1\r\nDEFAULTS\r\n\r\n",
    );
    check(
        "path = \"/a?b=c\"\nquery = { tag = [\"x\", 1.5, true], \"k=\" = \"\" }",
        "GET /a?b=c&tag=x&tag=1.5&tag=true&k%3D= HTTP/1.1\r\nDEFAULTS\r\n\r\n",
    );
    check(
        "path = \"/p{{sequence}}\"\nquery = { a = \"{{sequence}}/\" }",
        "GET /p7?a=7%2F HTTP/1.1\r\nDEFAULTS\r\n\r\n",
    );
    check(
        "path = \"/{{sequence}}?x\"\nquery = { a = 1 }",
        "GET /7?x&a=1 HTTP/1.1\r\nDEFAULTS\r\n\r\n",
    );
}

#[test]
fn a_form_is_encoded_as_browsers_do() {
    check(
        "form = { user = \"ada l\", \"n&\" = \"{{sequence}}\", list = [1, \"ü*~\"] }",
        "POST / HTTP/1.1\r\nDEFAULTS\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         content-length: 40\r\n\r\nuser=ada+l&n%26=7&list=1&list=%C3%BC*%7E",
    );
}

#[test]
fn multipart_holds_texts_and_files() {
    check(
        "multipart = { title = \"x{{sequence}}\", n = [1, 2], \"f\\\"\" = \
         { content = \"AEZGCg==\", name = \"p.png\", type = \"image/png\" } }",
        "POST / HTTP/1.1\r\nDEFAULTS\r\ncontent-type: multipart/form-data; \
         boundary=proofload-7b1d3e9f52c84a06\r\ncontent-length: 394\r\n\r\n\
         --proofload-7b1d3e9f52c84a06\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nx7\r\n\
         --proofload-7b1d3e9f52c84a06\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n1\r\n\
         --proofload-7b1d3e9f52c84a06\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n2\r\n\
         --proofload-7b1d3e9f52c84a06\r\nContent-Disposition: form-data; name=\"f%22\"; \
         filename=\"p.png\"\r\nContent-Type: image/png\r\n\r\n\u{0}FF\n\r\n\
         --proofload-7b1d3e9f52c84a06--\r\n",
    );
}

#[test]
fn a_boundary_stands_in_no_content() {
    let planned = planned("[http]\nmultipart = { a = \"--proofload-7b1d3e9f52c84a06\" }");
    let request = bytes(&planned, 7);
    assert!(request.contains("boundary=proofload-7b1d3e9f52c84a06x\r\n"), "{request}");
    assert!(request.ends_with("\r\n--proofload-7b1d3e9f52c84a06x--\r\n"), "{request}");
}

#[test]
fn credentials_stand_in_one_field() {
    let field = |auth: &str, value: &str| {
        let expected = format!("GET / HTTP/1.1\r\nDEFAULTS\r\nauthorization: {value}\r\n\r\n");
        check(&format!("auth = {auth}"), &expected);
    };
    field("{ bearer = \"t0ken\" }", "Bearer t0ken");
    field("{ bearer = \"{{sequence}}-x\" }", "Bearer 7-x");
    let basic = "{ basic = { user = \"Aladdin\", password = \"open sesame\" } }";
    field(basic, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    field("{ basic = { user = \"u{{sequence}}\", password = \"p\" } }", "Basic dTc6cA==");
}

#[test]
fn a_redirected_request_keeps_or_drops_its_body() {
    let text = "[http]\npath = \"/old\"\nfollow = 3\nform = { a = \"{{sequence}}\" }\n\
        query = { b = 1 }\nheader = { content-language = \"en\", x = \"y\" }";
    let operation = operation(&planned(text)).expect("it compiles");
    assert_eq!(operation.check.continuation.follow, 3);
    let redirected = &operation.redirected[0];
    let call = call(7);
    let sent = |request: &crate::http1::request::Request| {
        let context = RenderContext { location: "/new?x", ..context(&call) };
        let mut out = Vec::new();
        request.encode(&context, &mut RenderBuffers::default(), &mut out);
        String::from_utf8(out).unwrap()
    };
    let same = format!(
        "POST /new?x HTTP/1.1\r\n{DEFAULTS}content-language: en\r\nx: y\r\ncontent-type: \
         application/x-www-form-urlencoded\r\ncontent-length: 3\r\n\r\na=7"
    );
    assert_eq!(sent(&redirected.within.same), same);
    let as_get = format!("GET /new?x HTTP/1.1\r\n{DEFAULTS}x: y\r\n\r\n");
    assert_eq!(sent(&redirected.within.as_get), as_get);
}

#[test]
fn steps_of_journeys_carry_cookies_unless_told_otherwise() {
    let carries = |text: &str, is_step: bool| {
        let planned = Operation { is_step, ..planned(&format!("[http]\n{text}")) };
        let operation = operation(&planned).expect("it compiles");
        let head = &operation.requests[0].head;
        let sent = head.contains(&crate::http::request::Piece::Cookies);
        (sent, operation.check.continuation.cookies)
    };
    assert_eq!(carries("", true), (true, true));
    assert_eq!(carries("", false), (false, false));
    assert_eq!(carries("cookies = false", true), (false, false));
    assert_eq!(carries("header = { Cookie = \"a=b\" }", true), (false, true));
}

#[test]
fn what_is_shown_of_credentials_is_their_scheme() {
    let request = b"POST / HTTP/1.1\r\nauthorization: Bearer abc\r\nx: y\r\n\r\nauthorization: z";
    let shown = crate::http::request::without_credentials(request);
    let expected =
        b"POST / HTTP/1.1\r\nauthorization: Bearer (hidden)\r\nx: y\r\n\r\nauthorization: z";
    assert_eq!(shown, expected);
}

#[test]
fn every_problem_of_the_new_tables_is_found() {
    for (text, expected) in [
        (
            "form = { a = 1 }\nmultipart = { b = 1 }",
            "an operation has either `form` or `multipart`",
        ),
        ("body = \"x\"\nform = { a = 1 }", "an operation has either `body` or `form`"),
        ("form = \"a=b\"", "expected a table, got \"a=b\""),
        ("form = { a = { b = 1 } }", "expected text, a number or true or false, got a table"),
        ("query = 5", "expected a table, got 5"),
        ("query = { a = \"{{rwo.x}}\" }", "unknown placeholder `rwo`"),
        ("multipart = { f = { type = \"a\" } }", "missing key `file`"),
        ("multipart = { f = { content = \"%\" } }", "the content of a file is not base64"),
        ("multipart = { f = { content = \"\", typ = \"a\" } }", "unknown key `typ`"),
        ("auth = {}", "`auth` needs either `bearer` or `basic`"),
        (
            "auth = { bearer = \"x\", basic = { user = \"u\", password = \"p\" } }",
            "`auth` needs either",
        ),
        ("auth = { basic = { user = \"u\" } }", "missing key `password`"),
        ("auth = { basic = { user = \"u:v\", password = \"p\" } }", "user \"u:v\" holds a colon"),
        ("auth = { bearer = \"x\\n\" }", "`bearer` holds a control character"),
        (
            "auth = { basic = { user = \"u\", password = \"p\\r\\nx: y\" } }",
            "`password` holds a control character",
        ),
        ("header = { x = \"1\\n2\" }", "header value \"1\\n2\" holds a control character"),
        (
            "auth = { bearer = \"x\" }\nheader = { Authorization = \"y\" }",
            "`auth` and header authorization exclude each other",
        ),
        ("follow = 101", "101"),
        ("cookies = 1", "expected true or false, got 1"),
    ] {
        let found = problems(&format!("[http]\n{text}"));
        assert!(found.iter().any(|message| message.contains(expected)), "{expected}\n{found:#?}");
    }
}

#[test]
fn a_long_literal_body_is_sent_from_where_it_lies() {
    let body = "x".repeat(70_000);
    let planned = planned(&format!("[http]\nbody = \"{body}\""));
    let operation = operation(&planned).unwrap();
    assert_eq!(operation.requests[0].tail().len(), 70_000);
    assert!(bytes(&planned, 0).ends_with(&format!("content-length: 70000\r\n\r\n{body}")));
}

#[test]
fn requests_of_a_target_file_take_from_the_table_what_they_leave_open() {
    let mut planned = planned("[http]\nheader = { x = \"1\", y = \"2\" }");
    planned.requests = Some(Arc::from([
        Request { method: "GET".into(), path: "/a".into(), headers: vec![], body: vec![] },
        Request {
            method: "POST".into(),
            path: "/b".into(),
            headers: vec![("X".into(), "3".into()), ("Content-Length".into(), "99".into())],
            body: b"two".to_vec(),
        },
    ]));
    let first = format!("GET /a HTTP/1.1\r\n{DEFAULTS}x: 1\r\ny: 2\r\n\r\n");
    let second =
        format!("POST /b HTTP/1.1\r\n{DEFAULTS}y: 2\r\nX: 3\r\ncontent-length: 3\r\n\r\ntwo");
    assert_eq!([bytes(&planned, 0), bytes(&planned, 1)], [first, second]);
    let compiled = operation(&planned).unwrap();
    assert!(matches!(&compiled.requests[0].body, Payload::Literal(bytes) if bytes.is_empty()));
}

/// Every problem as its message, in the order of the file.
fn problems(text: &str) -> Vec<String> {
    let mut problems = operation(&planned(text)).expect_err("it has problems");
    problems.sort_by_key(|problem| problem.span.start);
    problems.into_iter().map(|problem| problem.message).collect()
}

#[test]
fn every_problem_is_found_at_once() {
    let text = r#"
[http]
path = "home"
method = "GE T"
bdy = "x"
body = "{{sequnce}}"
json = { a = 1 }
[http.header]
"na me" = "x"
content-length = "5"
x = 5
y = "a\nb"
[expect]
status = [200, "4x", 99, true]
body_size = "2KiB..1KiB"
contains = 5
matches = "("
stauts = 1
[expect.header]
etag = 5
vary = { is = "x" }
[expect.json]
"results" = 1
"$.a" = "{{nonse}}"
[items]
total = "$.["
"#;
    let found = problems(text);
    for expected in [
        "path \"home\" does not begin with /",
        "method \"GE T\" is not a token",
        "unknown key `bdy`",
        "sequnce",
        "an operation has either `body` or `json`",
        "header name \"na me\" is not a token",
        "header content-length is computed from the body",
        "the value of a header is neither text nor a list of texts",
        "header value \"a\\nb\" holds a control character",
        "got \"4x\"",
        "got 99",
        "got true",
        "got \"2KiB..1KiB\"",
        "expected text, got 5",
        "regular expression \"(\"",
        "unknown key `stauts`",
        "expected text or { contains",
        "unknown key `is`",
        "JSON path \"results\"",
        "nonse",
        "JSON path \"$.[\"",
    ] {
        assert!(found.iter().any(|message| message.contains(expected)), "{expected}\n{found:#?}");
    }
}

#[test]
fn parts_lie_inside_each_other_and_those_of_the_last_list_side_by_side() {
    let planned =
        planned("[http]\nserver_timing = [\"front\", \"gateway\", [\"embed\", \"search\"]]");
    assert!(operation(&planned).is_ok());
    let parts = crate::http::compile::parts::named(&planned.table);
    let named: Vec<_> =
        parts.iter().map(|part| (part.name.as_str(), part.within.as_deref())).collect();
    let expected = [
        ("front", None),
        ("gateway", Some("front")),
        ("embed", Some("gateway")),
        ("search", Some("gateway")),
    ];
    assert_eq!(named, expected);
}

#[test]
fn parts_that_cannot_be_read_are_told_one_by_one() {
    let text = "[http]\nserver_timing = [[\"a b\", \"c\"], \"c\", 5, [], [\"\", 1]]";
    assert_eq!(
        problems(text),
        [
            "names after a list of parts that lie side by side",
            "expected the name of a metric, got 5",
            "expected the name of a metric, got a list",
            "name \"\" of a metric is not a token",
            "expected the name of a metric, got 1",
        ]
    );
    assert_eq!(
        problems("[http]\nserver_timing = [\"a b\", \"c\", [\"d\", \"c\"]]"),
        ["name \"a b\" of a metric is not a token", "`c` is named twice"]
    );
    let expected =
        "expected a list such as [\"front\", \"gateway\", [\"embed\", \"search\"]], got ";
    assert_eq!(problems("[http]\nserver_timing = []"), [format!("{expected}a list")]);
    assert_eq!(problems("[http]\nserver_timing = \"a\""), [format!("{expected}\"a\"")]);
}

#[test]
fn a_problem_points_at_its_place() {
    let text = "[http]\npath = \"/\"\nmethod = \"CONNECT\"\n";
    let problems = operation(&planned(text)).expect_err("it has a problem");
    let shown = render("x.toml", text, &problems, Colour::Off);
    assert!(shown.contains("--> x.toml:3:11"), "{shown}");
    assert!(shown.contains("method CONNECT is not supported"), "{shown}");
}

#[test]
fn an_empty_table_compiles() {
    let mut planned = planned("");
    planned.table = Table::default();
    assert!(operation(&planned).is_ok());
}
