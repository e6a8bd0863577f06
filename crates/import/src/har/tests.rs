use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::plan_check::assert_plan;
use super::read;
use crate::draft::{Body, Capture, Draft, DraftOperation, DraftStep, Status};
use crate::{Format, Options, write};

/// An entry of 50 ms that begins at this second.
fn entry(second: f64, method: &str, url: &str, status: u16) -> Value {
    json!({
        "startedDateTime": format!("2026-11-26T10:00:{second:06.3}Z"),
        "time": 50.0,
        "request": { "method": method, "url": url, "httpVersion": "HTTP/1.1", "headers": [] },
        "response": { "status": status, "headers": [], "content": {}, "redirectURL": "" },
    })
}

/// The value with what stands at this pointer replaced.
fn with(mut value: Value, pointer: &str, new: impl Into<Value>) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    value.pointer_mut(parent).unwrap()[key] = new.into();
    value
}

fn sending(value: Value, fields: &[(&str, &str)]) -> Value {
    with(value, "/request/headers", pairs(fields))
}

fn answering(value: Value, mime: &str, body: &str) -> Value {
    let value = with(value, "/response/content/mimeType", mime);
    with(value, "/response/content/text", body)
}

fn answering_with(value: Value, fields: &[(&str, &str)]) -> Value {
    with(value, "/response/headers", pairs(fields))
}

fn posting(value: Value, mime: &str, text: &str) -> Value {
    with(value, "/request/postData", json!({ "mimeType": mime, "text": text }))
}

fn pairs(fields: &[(&str, &str)]) -> Value {
    fields.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
}

fn text(entries: &[Value]) -> String {
    json!({ "log": { "version": "1.2", "creator": { "name": "WebInspector" }, "entries": entries } })
        .to_string()
}

#[track_caller]
fn draft(entries: &[Value]) -> Draft {
    let draft = read(&text(entries), &Options::default()).unwrap();
    assert_plan(&draft);
    draft
}

fn notes(draft: &Draft) -> Vec<&str> {
    draft.notes.iter().map(|note| note.what.as_str()).collect()
}

fn paths(draft: &Draft) -> Vec<&str> {
    draft.operations.iter().map(|one| one.path.as_str()).collect()
}

fn query(operation: &DraftOperation) -> Vec<&str> {
    operation.query.iter().map(|(_, value)| value.as_str()).collect()
}

#[test]
fn a_recording_is_known_by_its_name_or_its_beginning() {
    let whole = text(&[entry(0.0, "GET", "http://h/", 200)]);
    assert_eq!(Format::guess("stdin", &whole), Some(Format::Har));
    let pretty = "\u{feff}{\n  \"log\": {\n \"creator\": {},\n \"entries\": [";
    assert_eq!(Format::guess("x.json", pretty), Some(Format::Har));
    assert_eq!(Format::guess("Visit.HAR", "{"), Some(Format::Har));
    for other in ["{\"entries\": []}", "{\"log\": 5}", "", "é"] {
        assert_eq!(Format::guess("x.json", other), None, "{other}");
    }
}

#[test]
fn what_is_no_recording_is_named_with_its_line() {
    let whole = text(&[entry(0.0, "GET", "http://h/", 200)]);
    let cut = format!("\n\n{}", &whole[..whole.len() - 20]);
    let error = read(&cut, &Options::default()).unwrap_err();
    assert_eq!(error.line, Some(3));
    assert!(error.what.starts_with("the recording is no whole JSON: EOF"), "{}", error.what);
    for other in ["[]", "{}", "{\"log\":{\"entries\":{}}}", "5"] {
        let error = read(other, &Options::default()).unwrap_err();
        assert_eq!(error.what, "the recording has no list log.entries");
    }
}

#[test]
fn entries_that_lack_something_are_noted_with_their_number() {
    let entries = [
        answering(entry(1.0, "GET", "http://h/a", 200), "text/plain", "x"),
        json!({ "request": { "method": "GET" } }),
        json!(7),
        entry(2.0, "GET", "no address", 200),
        with(entry(0.0, "GET", "http://h/b", 200), "/startedDateTime", "yesterday"),
        with(entry(0.0, "GET", "http://h/c", 200), "/time", Value::Null),
        json!({ "startedDateTime": "2026-11-26T10:00:09Z", "request": { "url": "http://h/d" },
            "response": { "status": 200 } }),
    ];
    let draft = draft(&entries);
    assert_eq!(paths(&draft), ["/c", "/a", "/b", "/d"]);
    assert_eq!(
        notes(&draft),
        [
            "entry 2 is left out: it has no request.url",
            "entry 3 is left out: it has no request.url",
            "entry 4 is left out: its request.url is no address",
            "entry 5 has no valid startedDateTime; it follows the entry before it",
        ]
    );
}

#[test]
fn what_a_load_should_not_send_is_left_out() {
    let kind = |second: f64, path: &str, kind: &str| {
        let value = entry(second, "GET", &format!("http://h{path}"), 200);
        with(value, "/_resourceType", kind)
    };
    let page = answering(kind(0.0, "/page", "document"), "text/html", "<p>");
    let preflight = entry(0.4, "OPTIONS", "http://h/api", 204);
    let entries = [
        page,
        kind(0.1, "/a.png", "image"),
        answering(entry(0.2, "GET", "http://h/b", 200), "text/css; charset=utf-8", ""),
        kind(0.3, "/api", "xhr"),
        sending(preflight, &[("Access-Control-Request-Method", "PUT")]),
        with(kind(0.5, "/cached", "xhr"), "/_fromCache", "disk"),
        entry(0.6, "GET", "http://h/blocked", 0),
        entry(0.7, "GET", "data:text/plain,x", 200),
        entry(0.7, "GET", "chrome-extension://x/y", 200),
        entry(0.8, "GET", "wss://h/socket", 101),
        kind(0.9, "/events", "eventsource"),
        entry(1.0, "GET", "https://cdn.example/x", 200),
        entry(1.0, "GET", "https://cdn.example/y", 200),
        entry(1.0, "GET", "http://h:81/z", 200),
        answering_with(
            entry(1.0, "GET", "http://h/hsts", 307),
            &[("Non-Authoritative-Reason", "HSTS")],
        ),
    ];
    let all = draft(&entries);
    assert_eq!(paths(&all), ["/page", "/api"]);
    assert_eq!(
        notes(&all),
        [
            "1 WebSocket is left out",
            "2 requests to https://cdn.example are left out; add them with --host cdn.example",
            "1 request to http://h:81 is left out; add it with --host h:81",
            "1 request answered from the browser's cache is left out",
            "1 request without an answer (blocked or cancelled) is left out",
            "1 request of the browser about CORS (OPTIONS) is left out",
            "1 request for an endless stream of events is left out",
            "2 requests for images, styles, scripts, fonts and media are left out",
        ]
    );
    let options = Options { hosts: vec!["cdn.example".to_owned(), "h:81".to_owned()] };
    assert_eq!(paths(&read(&text(&entries), &options).unwrap()), ["/x", "/y", "/z"]);
    assert_eq!(paths(&draft(&entries[1..3])), ["/a.png", "/b"], "nothing else is left");
}

#[test]
fn fields_that_browsers_compute_are_left_out() {
    let fields = [
        (":authority", "h"),
        ("sec-fetch-mode", "cors"),
        ("Cookie", "a=1"),
        ("If-None-Match", "x"),
        ("Priority", "u=1"),
        ("Upgrade-Insecure-Requests", "1"),
        ("Cache-Control", "no-cache"),
        ("Origin", "http://h"),
        ("User-Agent", "Firefox"),
        ("Accept-Language", "en"),
        ("Content-Length", "4"),
    ];
    let value = sending(entry(0.0, "GET", "http://h/", 200), &fields);
    let draft = draft(&[with(value, "/request/httpVersion", "h3")]);
    let names: Vec<&str> =
        draft.operations[0].headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["origin", "user-agent", "accept-language"]);
    assert!(draft.operations[0].is_http2);
    assert_eq!(
        notes(&draft),
        [
            "no recorded answer sets these cookies: a; if the site needs them, record from the login on",
            "the recording has no bodies of answers, so nothing is captured from them",
        ]
    );
}

#[test]
fn a_chain_of_redirects_is_one_operation() {
    let to = |value: Value, target: &str| with(value, "/response/redirectURL", target);
    let entries = [
        to(entry(0.0, "POST", "http://h/a", 302), "/b?x=1"),
        to(entry(0.05, "GET", "http://h/b?x=1", 301), "http://h/c"),
        entry(0.1, "GET", "http://h/c", 503),
        to(entry(9.0, "GET", "http://h/d", 302), "http://h/e"),
        entry(15.0, "GET", "http://h/e", 200),
        to(entry(16.0, "GET", "http://h/f", 302), "https://login.example/"),
        to(entry(17.0, "PUT", "http://h/g", 307), "/i"),
        entry(17.05, "PUT", "http://h/i", 200),
    ];
    let draft = draft(&entries);
    let of = |one: &DraftOperation| {
        (one.path.as_str().to_owned(), one.follow, one.expect.status.clone())
    };
    let operations: Vec<_> = draft.operations.iter().map(of).collect();
    let expected = [
        ("/a", 2, vec![Status::Code(503)]),
        ("/d", 0, vec![Status::Code(302)]),
        ("/e", 0, vec![]),
        ("/f", 0, vec![Status::Code(302)]),
        ("/g", 1, vec![]),
    ];
    assert_eq!(
        operations,
        expected.map(|(path, follow, status)| (path.to_owned(), follow, status))
    );
}

#[test]
fn a_chain_stays_several_steps_where_a_value_is_on_its_way() {
    let redirect = answering_with(
        entry(0.0, "GET", "http://h/auth", 302),
        &[
            ("Location", "/back?code=k7%2Fx9q2&s=1"),
            ("Set-Cookie", "XSRF-TOKEN=q1w2e3r4%3D; Path=/"),
        ],
    );
    let exchange = posting(
        entry(1.0, "POST", "http://h/exchange", 200),
        "application/x-www-form-urlencoded",
        "code=k7%2Fx9q2&grant_type=authorization_code",
    );
    let entries = [
        redirect,
        entry(0.05, "GET", "http://h/back?code=k7%2Fx9q2&s=1", 200),
        sending(exchange, &[("X-XSRF-TOKEN", "q1w2e3r4=")]),
    ];
    let draft = draft(&entries);
    assert_eq!(paths(&draft), ["/auth", "/back", "/exchange"]);
    let auth = &draft.operations[0];
    assert_eq!((auth.follow, auth.expect.status.as_slice()), (0, [Status::Code(302)].as_slice()));
    let header = Capture::Header("location".to_owned(), Some("[?&]code=([^&#]+)".to_owned()));
    let cookie = Capture::Cookie("XSRF-TOKEN".to_owned());
    let decoded = |capture| Capture::Decoded(Box::new(capture), "url");
    assert_eq!(
        auth.captures,
        [("code".to_owned(), decoded(header)), ("csrf".to_owned(), decoded(cookie))]
    );
    assert_eq!(query(&draft.operations[1]), ["{{auth.code}}", "1"]);
    assert_eq!(draft.operations[2].headers[0].1.as_str(), "{{auth.csrf}}");
    assert_eq!(auth.comments[0], "captured: code, used by back, exchange");
    assert_eq!(draft.secrets.names().count(), 0);
}

#[test]
fn the_sample_is_a_plan() {
    let sample = include_str!("../../samples/login.har");
    assert_plan(&read(sample, &Options::default()).unwrap());
}

#[test]
fn a_page_that_a_request_was_sent_from_divides_no_chain() {
    let redirect = answering_with(
        entry(0.0, "POST", "http://h/add", 302),
        &[("Location", "/orders/100482/change/")],
    );
    let from = [("Referer", "http://h/orders/100482/change/")];
    let page = entry(0.05, "GET", "http://h/orders/100482/change/", 200);
    let entries =
        [redirect.clone(), page.clone(), sending(entry(1.0, "GET", "http://h/all", 200), &from)];
    let merged = draft(&entries);
    assert_eq!(paths(&merged), ["/add", "/all"]);
    assert_eq!(merged.operations[1].name, "all_2", "all operations together have the name `all`");
    let entries = [redirect, page, entry(1.0, "POST", "http://h/orders/100482/change/", 200)];
    let divided = draft(&entries);
    let change = "/orders/{{add.id}}/change/";
    assert_eq!(paths(&divided), ["/add", change, change]);
    let pattern = Some("/orders/([^/?#]+)".to_owned());
    let capture = Capture::Header("location".to_owned(), pattern);
    assert_eq!(divided.operations[0].captures, [("id".to_owned(), capture)]);
}

#[test]
fn values_of_answers_become_captures() {
    let list = r#"{"data":[{"id":"a1b2c3"},{"id":"d4e5f6","odd key":{"it's":"x9y8z7"}}],"n":123456,"token":"abcdefgh"}"#;
    let again = r#"{"id":"d4e5f6"}"#;
    let change = posting(
        entry(3.0, "POST", "http://h/change", 200),
        "application/json",
        r#"{"n":123456,"at":null,"text":"{{x}}"}"#,
    );
    let entries = [
        answering(entry(0.0, "GET", "http://h/list", 200), "application/json", list),
        answering(
            entry(1.0, "GET", "http://h/show/d4e5f6/more?k=x9y8z7", 200),
            "application/json",
            again,
        ),
        entry(2.0, "GET", "http://h/show?id=d4e5f6&other=a1b2c3", 200),
        sending(change, &[("Authorization", "Bearer abcdefgh")]),
    ];
    let draft = draft(&entries);
    let json = |name: &str, path: &str| (name.to_owned(), Capture::Json(path.to_owned()));
    let captures = [
        json("it_s", r"$.data[1]['odd key']['it\'s']"),
        json("id", "$.data[1].id"),
        json("id_2", "$.data[0].id"),
        json("token", "$.token"),
        json("n", "$.n"),
    ];
    assert_eq!(draft.operations[0].captures, captures);
    assert_eq!(draft.operations[1].captures, [json("id", "$.id")], "the latest answer");
    assert_eq!(paths(&draft)[1], "/show/{{list.id}}/more");
    assert_eq!(draft.operations[1].name, "show_more");
    assert_eq!(query(&draft.operations[2]), ["{{show_more.id}}", "{{list.id_2}}"]);
    let Body::Text(body) = &draft.operations[3].body else { panic!() };
    assert_eq!(body.as_str(), r#"{"at":null,"n":{{list.n}},"text":"{{{{x}}"}"#);
    let written = write(&draft, "x.har");
    assert!(written.contains(r#"auth = { bearer = "{{list.token}}" }"#), "{written}");
    assert_eq!(draft.secrets.names().count(), 0);
}

#[test]
fn what_a_person_types_and_what_is_common_is_no_capture() {
    let body = r#"{"echo":"green-tea-42","day":"2026-11-26T10:00","host":"shop1.example","word":"published",
        "price":100000,"short":"a1b2","flag":"false","url":"https://shop1.example/a1"}"#;
    let url = "http://shop1.example/search?q=green-tea-42";
    let later = "http://shop1.example/b?q=green-tea-42&d=2026-11-26T10:00&h=shop1.example&w=published&p=100000\
        &s=a1b2&f=false&u=https://shop1.example/a1";
    let entries = [
        answering(entry(0.0, "GET", url, 200), "application/json", body),
        entry(1.0, "GET", later, 200),
    ];
    let draft = draft(&entries);
    assert_eq!(draft.operations[0].captures, []);
    assert!(query(&draft.operations[1]).iter().all(|value| !value.contains("{{")));
}

#[test]
fn values_of_pages_are_found_where_they_stand() {
    let page = r#"<form action="/out"><input name="csrf" value="logout-1"></form>
        <input type="hidden" value='main&amp;2' name='csrf'><meta name="x-csrf-token" content="meta-token-3">
        <input name="pin" type="password">"#;
    let post = posting(
        entry(1.0, "POST", "http://h/in", 200),
        "application/x-www-form-urlencoded; charset=UTF-8",
        "csrf=main%262&pin=secret99&user=ada",
    );
    let base64 = "PGlucHV0IG5hbWU9InQiIHZhbHVlPSJiYXNlNjQtNCI+";
    let encoded = answering(entry(2.0, "GET", "http://h/next", 200), "text/html", base64);
    let entries = [
        answering(entry(0.0, "GET", "http://h/in", 200), "text/html", page),
        sending(post, &[("X-CSRF-Token", "meta-token-3")]),
        with(encoded, "/response/content/encoding", "base64"),
        posting(
            entry(3.0, "POST", "http://h/t", 200),
            "application/x-www-form-urlencoded",
            "t=base64-4",
        ),
    ];
    let draft = draft(&entries);
    let pattern = r"\svalue='([^']+)'[^>]*\sname='csrf'".to_owned();
    let form = Capture::Decoded(Box::new(Capture::Matches(pattern)), "html");
    let pattern = r#"\sname="x\-csrf\-token"[^>]*\scontent="([^"]+)""#.to_owned();
    let captures = &draft.operations[0].captures;
    assert!(captures.contains(&("csrf_2".to_owned(), form)), "{captures:?}");
    assert!(captures.contains(&("csrf".to_owned(), Capture::Matches(pattern))), "{captures:?}");
    let Body::Form(form) = &draft.operations[1].body else { panic!() };
    let values: Vec<&str> = form.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(values, ["{{in.csrf_2}}", "{{env.PIN}}", "ada"]);
    let Body::Form(form) = &draft.operations[3].body else { panic!() };
    assert_eq!(form[0].1.as_str(), "{{next.t}}");
}

#[test]
fn a_request_that_needs_an_answer_does_not_begin_beside_it() {
    let first =
        answering(entry(0.0, "GET", "http://h/a", 200), "application/json", r#"{"id":"a1b2c3"}"#);
    let entries = [
        first,
        entry(0.01, "GET", "http://h/b", 200),
        entry(0.02, "GET", "http://h/c?id=a1b2c3", 200),
    ];
    let steps = draft(&entries).journeys.remove(0).steps;
    assert_eq!(steps, [DraftStep::Do(vec![0, 1]), DraftStep::Do(vec![2])]);
}

#[test]
fn forms_of_parts_are_read_from_text_and_from_params() {
    let mime = "multipart/form-data; boundary=xyz";
    let body = "--xyz\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\ntwo\r\n--xyz\r\n\
        Content-Disposition: form-data; name=\"f\"; filename=\"C:\\\\p.png\"\r\nContent-Type: image/png\r\n\r\n\u{1}\r\n\
        --xyz\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nagain\r\n--xyz--\r\n";
    let params = json!({ "mimeType": mime, "params": [{ "name": "a", "value": "one" },
        { "name": "f", "fileName": "p.png", "contentType": "image/png" }] });
    let entries = [
        posting(entry(0.0, "POST", "http://h/up", 200), mime, body),
        with(entry(1.0, "POST", "http://h/up", 200), "/request/postData", params),
        with(entry(2.0, "POST", "http://h/lost", 200), "/request/bodySize", 10),
    ];
    let draft = draft(&entries);
    let written = write(&draft, "x.har");
    let file = "f = { file = \"p.png\", type = \"image/png\" }";
    assert!(
        written.contains(&format!("multipart = {{ a = \"one\\r\\ntwo\", {file} }}")),
        "{written}"
    );
    assert!(written.contains(&format!("multipart = {{ a = \"one\", {file} }}")), "{written}");
    for note in [
        "a further part a of up is left out: a name has one part",
        "up sends the file p.png; put it beside the experiment",
        "the body of lost was not recorded",
        "the recording has no cookies and no field authorization; if the site needs them, save it with sensitive data",
    ] {
        assert!(notes(&draft).contains(&note), "{:?}", notes(&draft));
    }
}

#[test]
fn no_credential_is_written() {
    let json = r#"{"a":null,"password":"s3cret-pw1","twice":"s3cret-pw1","note":"my cookie is s3cret-ck1"}"#;
    let fields = [
        ("Cookie", "sid=s3cret-ck1; other=s3cret-ck2"),
        ("Authorization", "Bearer s3cret-au1"),
        ("X-Csrf", "s3cret-ck2"),
        ("Referer", "http://h/reset/s3cret-ck1?access_token=s3cret-rf1&a=b"),
    ];
    let basic = [("Authorization", "Basic YWRhOnMzY3JldC1hdTI="), ("X-Api-Key", "s3cret-au3")];
    let form = posting(
        entry(1.0, "POST", "http://h/b/s3cret-ck1/c?api_key=s3cret-qu1", 200),
        "application/x-www-form-urlencoded",
        "pwd=s3cret-pw2&note=s3cret-pw1&also=s3cret-au1",
    );
    let text = posting(entry(2.0, "POST", "http://h/c", 200), "text/plain", "sid is s3cret-ck1");
    let entries = [
        sending(posting(entry(0.0, "POST", "http://h/a", 200), "application/json", json), &fields),
        sending(form, &basic),
        sending(text, &[("Authorization", "Digest s3cret-au4")]),
        answering_with(entry(3.0, "GET", "http://h/d", 200), &[("Set-Cookie", "sid=s3cret-ck3")]),
    ];
    let draft = draft(&entries);
    let written = write(&draft, "x.har");
    assert!(!written.contains("s3cret"), "{written}");
    let debug = format!("{draft:?}");
    assert!(!debug.contains("s3cret"), "{debug}");
}

#[test]
fn long_recordings_are_read_fast_and_cut_to_a_journey() {
    let leaves: Vec<Value> =
        (0..60).map(|n| json!({ "id": format!("item-{n:04}"), "state": "item-9999" })).collect();
    let body = Value::from(leaves).to_string();
    let page = format!(
        "{}<input name=\"t\" value=\"token-12345\">",
        "<input name=x value=y> <".repeat(200_000)
    );
    let mut entries =
        vec![answering(entry(0.0, "GET", "http://h/page", 200), "text/html", &page[..])];
    for n in 0..2000_u32 {
        let second = 1.0 + f64::from(n) / 40.0;
        let url = format!("http://h/x?id=item-{:04}&t=token-12345&s=item-9999", n % 60);
        let value = entry(second, "GET", &url, 200);
        entries.push(answering(value, "application/json", &body));
    }
    let text = text(&entries);
    let begin = Instant::now();
    let draft = read(&text, &Options::default()).unwrap();
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    assert_plan(&draft);
    assert_eq!(draft.journeys[0].steps.len(), 100);
    let last = notes(&draft).pop().unwrap_or_default().to_owned();
    assert!(last.ends_with("requests are left out: a journey has 100 steps"), "{last}");
}
