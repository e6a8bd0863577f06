//! Tests of recordings: their entries, groups, redirects, captures and credentials.

mod captures;
mod plan_check;

use std::time::Duration;

use serde_json::{Value, json};

use self::plan_check::assert_plan;
use super::read;
use crate::draft::{Body, Capture, Draft, DraftOperation, DraftStep, Status};
use crate::tests::processor_time;
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
fn the_sample_is_a_plan() {
    let sample = include_str!("../../../samples/login.har");
    let draft = read(sample, &Options::default()).unwrap();
    assert_plan(&draft);
    let written = write(&draft, "login.har");
    for credential in
        ["analytical-engine", "s3ss10nq8w7e6r5t4y3u2i1o0p", "ckA1b2C3d4", "tok-71f3", "Qm1d7rK2"]
    {
        assert!(sample.contains(credential) && !written.contains(credential), "{credential}");
    }
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
fn recordings_of_firefox_are_read() {
    let head =
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\na=1&b=2";
    let nothing = json!({ "mimeType": "", "params": [], "text": "" });
    let no_parts =
        json!({ "mimeType": "multipart/form-data; boundary=x", "params": [], "text": "" });
    let cached = |path: &str, status: u16| {
        with(entry(1.0, "GET", path, status), "/cache", json!({ "afterRequest": null }))
    };
    let get = with(entry(0.0, "GET", "http://h/get", 200), "/request/postData", nothing);
    let entries = [
        with(get, "/startedDateTime", "2026-11-26T11:00:00.000+01:00"),
        posting(
            entry(0.5, "POST", "http://h/post", 200),
            "application/x-www-form-urlencoded",
            head,
        ),
        cached("http://h/cached", 200),
        cached("http://h/asked", 304),
        with(entry(2.0, "POST", "http://h/none", 200), "/request/postData", no_parts),
    ];
    let text = text(&entries).replace("WebInspector", "Firefox");
    let draft = read(&text, &Options::default()).unwrap();
    assert_plan(&draft);
    assert_eq!(paths(&draft), ["/get", "/post", "/asked", "/none"]);
    let form = ["a", "b"].map(str::to_owned).into_iter().zip(["1", "2"].map(Into::into));
    assert_eq!(draft.operations[1].body, Body::Form(form.collect()));
    assert_eq!(
        (&draft.operations[0].body, &draft.operations[3].body),
        (&Body::Empty, &Body::Empty)
    );
    assert_eq!(draft.operations[2].expect.status, []);
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
    let (draft, spent) = processor_time(|| read(&text, &Options::default()).unwrap());
    assert!(spent < Duration::from_secs(100), "{spent:?}");
    assert_plan(&draft);
    assert_eq!(draft.journeys[0].steps.len(), 100);
    let last = notes(&draft).pop().unwrap_or_default().to_owned();
    assert!(last.ends_with("requests are left out: a journey has 100 steps"), "{last}");
}

/// Pointers of everything within.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let mut within = |key: &str, value: &Value| {
        let pointer = format!("{at}/{key}");
        found.push(pointer.clone());
        pointers(value, &pointer, found);
    };
    match value {
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(at, one)| within(&at.to_string(), one));
        }
        Value::Object(values) => values.iter().for_each(|(key, one)| within(key, one)),
        _ => {}
    }
}

#[test]
fn whatever_stands_in_a_recording_it_becomes_a_plan_or_an_error() {
    let sample = include_str!("../../../samples/login.har");
    let sample: Value = serde_json::from_str(sample).unwrap();
    let mut found = Vec::new();
    pointers(&sample, "", &mut found);
    let odd = [
        json!(null),
        json!("\u{1}é{{'\"<\r\n\r\n=;"),
        json!(-1e300),
        json!([[]]),
        json!({ "name": {} }),
    ];
    for (number, pointer) in found.iter().enumerate() {
        let mut changed = sample.clone();
        *changed.pointer_mut(pointer).unwrap() = odd[number % odd.len()].clone();
        if let Ok(draft) = read(&changed.to_string(), &Options::default())
            && !draft.operations.is_empty()
        {
            assert_plan(&draft);
        }
    }
}
