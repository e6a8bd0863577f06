//! Values of answers, and what becomes of answers without them.

use engine::driver::Call;
use plan::diagnostic::Span;
use plan::journey::{Capture, CaptureSource, Captured, Decode, Memory, VALUE_LIMIT, VALUES_LIMIT};

use super::{Captures, Reading};
use crate::expect::answer_view::AnswerView;
use crate::http::request::RenderContext;

const HEAD: &[u8] = b"HTTP/1.1 302 Found\r\nLocation: /next?id=17&t=a%2Fb\r\n\
    Set-Cookie: sid=old; Path=/\r\nx-id: 1\r\nX-Id: 2\r\nset-cookie: sid = new=1 ; HttpOnly\r\n\r\n";

fn capture(source: CaptureSource) -> Capture {
    Capture {
        name: "x".to_owned(),
        source,
        all: false,
        optional: false,
        decode: None,
        place: 3,
        span: Span::default(),
    }
}

fn json(path: &str) -> Capture {
    capture(CaptureSource::Json(path.to_owned()))
}

fn matches(pattern: &str) -> Capture {
    capture(CaptureSource::Matches(pattern.to_owned()))
}

fn header(name: &str, matches: Option<&str>) -> Capture {
    let matches = matches.map(str::to_owned);
    capture(CaptureSource::Header { name: name.to_owned(), matches })
}

/// What a journey remembers of this answer.
fn read_at(
    capture: Capture,
    body: &[u8],
    now: &dyn Fn() -> u64,
) -> Result<Option<Captured>, String> {
    let mut problems = Vec::new();
    let captures = Captures::compile(&[capture], &mut problems);
    assert_eq!(problems, []);
    let call = Call { trial: 1, seed: 1, ..Call::default() };
    let context =
        RenderContext { call: &call, rows: None, authority: "", is_secure: false, location: "" };
    let answer = AnswerView::new(HEAD, body.len() as u64, body, context);
    if let Some(too_long) = captures.too_long(answer.body) {
        return Err(too_long);
    }
    let memory = Memory::default();
    memory.keep(3, Captured::One("before".into())).expect("it fits");
    let reading = Reading { answer: &answer, now };
    captures.keep(reading, Some(&memory))?;
    assert_eq!(captures.keep(reading, None), Ok(()), "without a journey");
    assert!(captures.checks(reading)[0].holds);
    Ok(memory.look(3, |value| value.cloned()))
}

fn read(capture: Capture, body: &[u8]) -> Result<Option<Captured>, String> {
    read_at(capture, body, &|| 0)
}

#[track_caller]
fn check(capture: Capture, body: &str, expected: &str) {
    assert_eq!(read(capture, body.as_bytes()), Ok(Some(Captured::One(expected.into()))));
}

#[track_caller]
fn check_all(capture: Capture, body: &str, expected: &[&str]) {
    let list = expected.iter().map(|text| (*text).into()).collect();
    let seen = read(Capture { all: true, ..capture }, body.as_bytes());
    assert_eq!(seen, Ok(Some(Captured::All(list))));
}

const ORDERS: &str = r#"{"token": "a\"b", "n": 10, "price": 2.50, "ok": true, "none": null,
    "list": [{"id": 1}, {"id": "two"}, {"id": null}, {"id": 2.5}], "inner": {"k": [1]}}"#;

#[test]
fn json_values_are_texts_without_quotes_and_others_as_json_writes_them() {
    check(json("$.token"), ORDERS, "a\"b");
    check(json("$.n"), ORDERS, "10");
    check(json("$.price"), ORDERS, "2.5");
    check(json("$.ok"), ORDERS, "true");
    check(json("$.inner"), ORDERS, "{\"k\":[1]}");
    check(json("$.list[*].id"), ORDERS, "1");
    check(json("$.list.length()"), ORDERS, "4");
    check_all(json("$.list[*].id"), ORDERS, &["1", "two", "2.5"]);
}

#[test]
fn headers_and_cookies_are_found_by_name() {
    check(header("location", None), "", "/next?id=17&t=a%2Fb");
    check(header("Location", Some("id=([0-9]+)")), "", "17");
    check(header("location", Some("[0-9]+")), "", "17");
    check_all(header("x-id", None), "", &["1", "2"]);
    check(capture(CaptureSource::Cookie("sid".to_owned())), "", "new=1");
    let decoded = Capture { decode: Some(Decode::Url), ..header("location", Some("t=(.*)")) };
    check(decoded, "", "a/b");
}

#[test]
fn expressions_find_their_first_group_or_all_of_it() {
    let page = "<input name=\"csrf\" value=\"a&amp;b\"> <a href='/1'> <a href='/2'>";
    check(matches("name=\"csrf\" value=\"([^\"]*)\""), page, "a&amp;b");
    let decoded = matches("name=\"csrf\" value=\"([^\"]*)\"");
    check(Capture { decode: Some(Decode::Html), ..decoded }, page, "a&b");
    check(matches("href='..'"), page, "href='/1'");
    check_all(matches("href='([^']*)'"), page, &["/1", "/2"]);
    check(matches("(x)?csrf"), page, "");
    check(capture(CaptureSource::Body), "all of it", "all of it");
}

#[test]
fn what_is_absent_is_a_failure_unless_it_is_optional() {
    for (capture, body, why) in [
        (json("$.none"), ORDERS, "capture `x`: $.none is not in the answer"),
        (json("$.missing"), ORDERS, "capture `x`: $.missing is not in the answer"),
        (json("$.n.length()"), ORDERS, "capture `x`: $.n.length() is not in the answer"),
        (header("etag", None), "", "capture `x`: header etag is not in the answer"),
        (
            header("location", Some("q=(.)")),
            "",
            "capture `x`: \"q=(.)\" in header location is not in the answer",
        ),
        (matches("a(b)"), "ac", "capture `x`: \"a(b)\" in the body is not in the answer"),
    ] {
        assert_eq!(read(capture.clone(), body.as_bytes()), Err(why.to_owned()));
        let optional = Capture { optional: true, ..capture };
        assert_eq!(read(optional, body.as_bytes()), Ok(None), "the value before is forgotten");
    }
    let no_json = read(json("$.a"), b"<html>").unwrap_err();
    assert!(no_json.starts_with("capture `x`: no JSON: "), "{no_json}");
    assert_eq!(read(Capture { optional: true, ..json("$.a") }, b"<html>"), Ok(None));
}

#[test]
fn an_empty_list_is_a_list() {
    let body = r#"{"ids": [], "none": null, "text": "x", "a": {"b.*": []}}"#;
    for path in [
        "$.ids[*]",
        "$.ids.*",
        "$['ids'][*]",
        "$.ids[*].id",
        "$.ids[?@.price < 10].id",
        "$.ids[0:5]",
        "$.ids[0, 1]",
        "$.a['b.*'][*]",
        "$..id",
    ] {
        check_all(json(path), body, &[]);
    }
    check_all(json("$[*]"), "[]", &[]);
    let all = |capture: Capture| Capture { all: true, ..capture };
    for absent in [
        json("$.missing[*]"),
        json("$.none[*]"),
        json("$.text[*]"),
        json("$.missing"),
        json("$.a['c'][*]"),
        matches("y"),
        header("etag", None),
    ] {
        let why = read(all(absent.clone()), body.as_bytes()).unwrap_err();
        assert!(why.ends_with("is not in the answer"), "{why}");
        let optional = Capture { optional: true, ..all(absent) };
        assert_eq!(read(optional, body.as_bytes()), Ok(None));
    }
}

#[test]
fn json_that_nests_deep_is_a_failure() {
    let body = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    let why = read(json("$..a"), &body).unwrap_err();
    assert!(why.contains("recursion limit exceeded"), "{why}");
}

#[test]
fn a_value_beyond_the_limit_is_a_failure() {
    let long = "x".repeat(VALUE_LIMIT + 1);
    let why = format!(
        "capture `x`: a captured value of {} bytes; the limit is {VALUE_LIMIT}",
        VALUE_LIMIT + 1
    );
    assert_eq!(read(capture(CaptureSource::Body), long.as_bytes()), Err(why.clone()));
    let optional = Capture { optional: true, ..capture(CaptureSource::Body) };
    assert_eq!(read(optional, long.as_bytes()), Err(why), "it is there, but too long");
    let fits = &long[1..];
    check(capture(CaptureSource::Body), fits, fits);
}

#[test]
fn a_list_of_a_million_values_is_read_up_to_the_limit() {
    let body = format!("[{}1]", "1,".repeat(1_000_000));
    for (capture, each) in
        [(json("$[*]"), 1 + 16), (matches("[0-9]"), 1 + 16), (matches("()1"), 16)]
    {
        let read_bytes = VALUES_LIMIT / each * each + each;
        let why = format!(
            "capture `x`: captured values of {read_bytes} bytes together; the limit is {VALUES_LIMIT}"
        );
        assert_eq!(read(Capture { all: true, ..capture }, body.as_bytes()), Err(why));
    }
}

#[test]
fn searches_without_end_are_given_up() {
    // Each search reads to the end of the body, since no letter is followed by a dot.
    let body = "a".repeat(100_000);
    let ticks = std::cell::Cell::new(0);
    let now = || {
        ticks.set(ticks.get() + 1_000_000);
        ticks.get()
    };
    let slow = Capture { all: true, ..matches("a+\\.|a") };
    let why = "capture `x`: \"a+\\\\.|a\" in the body took longer than 500 ms to find";
    assert_eq!(read_at(slow, body.as_bytes(), &now), Err(why.to_owned()));
}

#[test]
fn a_body_longer_than_an_expression_reads_is_refused() {
    let body = vec![b'x'; (4 << 20) + 1];
    let why =
        "capture `x`: \"^ok$\" in the body reads at most 4194304 bytes, but the body has 4194305";
    assert_eq!(read(matches("^ok$"), &body), Err(why.to_owned()));
    let why = "capture `x`: $..id reads at most 4194304 bytes, but the body has 4194305";
    assert_eq!(read(json("$..id"), &body), Err(why.to_owned()));
}

#[test]
fn references_of_html_are_undone_once() {
    let html = |text: &str, expected: &str| {
        let body = Capture { decode: Some(Decode::Html), ..capture(CaptureSource::Body) };
        check(body, text, expected);
    };
    html("&lt;a href=&quot;?x&amp;amp;y&quot;&gt;&apos;", "<a href=\"?x&amp;y\">'");
    html("&#65;&#x42;&#X43;&nbsp;&#252;", "ABC\u{a0}ü");
    html("&#0;&#xd800;&#99999999;", "\u{fffd}\u{fffd}\u{fffd}");
    html(
        "&#99999999999;&hellip;&;&#;&#x;&#+1;&amp &",
        "&#99999999999;&hellip;&;&#;&#x;&#+1;&amp &",
    );
    html("ü&ü;&amp;ü", "ü&ü;&ü");
}

#[test]
fn percent_encoding_is_undone() {
    let url = |text: &str, expected: &str| {
        let body = Capture { decode: Some(Decode::Url), ..capture(CaptureSource::Body) };
        check(body, text, expected);
    };
    url("%2Fa%2fb+c%20d", "/a/b+c d");
    url("%C3%BC%", "ü%");
    url("100%25%zz%4", "100%%zz%4");
    url("%ff", "\u{fffd}");
}

#[test]
fn every_problem_has_the_place_of_its_capture() {
    let wrong = [json("$.["), matches("("), header("a b", None), header("a", Some("["))];
    let mut problems = Vec::new();
    assert!(Captures::compile(&wrong, &mut problems).is_empty());
    let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert!(messages[0].starts_with("JSON path \"$.[\""), "{messages:?}");
    assert!(messages[1].starts_with("regular expression \"(\""), "{messages:?}");
    assert_eq!(messages[2], "header name \"a b\" is not a token");
    assert!(messages[3].starts_with("regular expression \"[\""), "{messages:?}");
}
