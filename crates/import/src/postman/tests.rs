use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::draft::{Auth, Body, Capture, Status};
use crate::tests::processor_time;
use crate::{Format, write};

fn collection(items: Value) -> Value {
    json!({ "info": { "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" }, "item": items })
}

fn draft(source: &Value) -> Draft {
    read(&source.to_string(), &Options::default()).unwrap()
}

/// The draft of one request.
fn only(request: Value) -> Draft {
    draft(&collection(json!([{ "name": "a", "request": request }])))
}

fn script(lines: &[&str]) -> script::Script {
    script::read(&json!({ "listen": "test", "script": { "exec": lines } }))
}

#[test]
fn scripts_set_what_they_take_from_the_answer() {
    for (line, expected) in [
        ("pm.environment.set(\"a\", pm.response.json().b.c)", Some(Capture::Json("$.b.c".into()))),
        (
            "pm.globals.set('a', JSON.parse(responseBody)[0].id);",
            Some(Capture::Json("$[0].id".into())),
        ),
        (
            "pm.environment.set('a', pm.response.json()['x y']);",
            Some(Capture::Json("$['x y']".into())),
        ),
        (
            "pm.environment.set('a', pm.response.headers.get('Location'));",
            Some(Capture::Header("location".into(), None)),
        ),
        (
            "postman.setEnvironmentVariable('a', pm.cookies.get('sid'));",
            Some(Capture::Cookie("sid".into())),
        ),
        ("pm.environment.set('a', pm.response.text());", Some(Capture::Body)),
        (
            "const j = pm.response.json(); pm.environment.set('a', j.b);",
            Some(Capture::Json("$.b".into())),
        ),
        ("const { b } = pm.response.json();", None),
        ("pm.environment.set('a', 5);", None),
        ("pm.environment.set('a', pm.response.json().b.toString());", None),
        ("pm.environment.set(name, pm.response.json().b);", None),
    ] {
        let script = script(&[line]);
        assert_eq!(script.sets.first().map(|(_, capture)| capture), expected.as_ref(), "{line}");
        if expected.is_none() {
            assert_eq!(script.left, usize::from(!line.starts_with("const {")), "{line}");
        }
    }
}

#[test]
fn scripts_expect_a_status() {
    for (line, expected) in [
        ("pm.response.to.have.status(204);", vec![Status::Code(204)]),
        ("pm.test('x', () => pm.expect(pm.response.code).to.eql(201));", vec![Status::Code(201)]),
        (
            "pm.expect(pm.response.code).to.be.oneOf([200, 201]);",
            vec![Status::Code(200), Status::Code(201)],
        ),
        ("tests['x'] = responseCode.code === 200;", vec![Status::Code(200)]),
        ("pm.response.to.be.ok;", vec![Status::Class(2)]),
        ("pm.response.to.have.status('OK');", vec![]),
    ] {
        let script = script(&["// a comment", "pm.test('x', function () {", line, "});"]);
        assert_eq!(script.left, usize::from(expected.is_empty()), "{line}");
        assert_eq!(script.status, expected, "{line}");
    }
}

#[test]
fn credentials_are_inherited() {
    let bearer =
        |token: &str| json!({ "type": "bearer", "bearer": [{ "key": "token", "value": token }] });
    let request =
        |auth: Value| json!({ "name": "r", "request": { "url": "http://h/", "auth": auth } });
    let items = json!([request(Value::Null), { "name": "f", "auth": bearer("of-the-folder"), "item": [
        request(Value::Null), request(json!({ "type": "noauth" })), { "name": "g", "item": [request(Value::Null)] }] }]);
    let mut source = collection(items);
    source["auth"] = bearer("of-the-collection");
    let draft = draft(&source);
    let names: Vec<&str> = draft.operations.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["r", "f_r", "f_r_2", "f_g_r"]);
    let tokens = draft.operations.iter().map(|one| match &one.auth {
        Some(Auth::Bearer(token)) => token.as_str(),
        _ => "",
    });
    let tokens: Vec<&str> = tokens.collect();
    assert_eq!(tokens, ["{{env.TOKEN}}", "{{env.TOKEN_2}}", "", "{{env.TOKEN_2}}"]);
}

#[test]
fn variables_of_variables_end() {
    let mut source = collection(json!([{ "name": "a", "request": "http://h/{{a}}" }]));
    source["variable"] =
        json!([{ "key": "a", "value": "{{b}}{{b}}" }, { "key": "b", "value": "{{a}}{{a}}" }]);
    assert_eq!(draft(&source).operations.len(), 1);
    source["variable"] = json!([{ "key": "a", "value": "{{b}}".repeat(100_000) }, { "key": "b", "value": "x".repeat(1_000_000) }]);
    assert_eq!(draft(&source).operations.len(), 1);
}

#[test]
fn bodies_keep_what_toml_cannot_hold() {
    let body = |raw: &str| {
        let body =
            json!({ "mode": "raw", "raw": raw, "options": { "raw": { "language": "json" } } });
        only(json!({ "url": "h", "method": "POST", "body": body })).operations.remove(0).body
    };
    assert_eq!(body("{\"a\": \"{{x}}\"}"), Body::Json(json!({ "a": "{{env.X}}" })));
    assert_eq!(
        body("{\"a\": {{x}}}"),
        Body::Text(crate::text::Text::template("{\"a\":{{env.X}}}"))
    );
    assert_eq!(body("[null]"), Body::Text("[null]".into()));
    assert_eq!(
        body("{\"password\": \"abc\", // why\n \"a\": {{x}}}"),
        Body::Text(crate::text::Text::template(
            "{\"password\": \"{{env.PASSWORD}}\", // why\n \"a\": {{env.X}}}"
        ))
    );
}

#[test]
fn addresses_are_texts_or_tables() {
    let place = |url: Value| {
        let draft = only(json!({ "url": url }));
        let one = &draft.operations[0];
        let query = one.query.iter().map(|(name, value)| format!(" {name}={}", value.as_str()));
        format!("{}{}{}", one.origin, one.path.as_str(), query.collect::<String>())
    };
    for (url, expected) in [
        (json!("h:81/a b?x=1&y#z"), "http://h:81/a%20b x=1 y="),
        (json!("{{base}}/a/{{id}}?q={{q?}}"), "http://127.0.0.1:8080/a/{{env.ID}} q={{env.Q}}"),
        (json!("https://h"), "https://h/"),
        (
            json!({ "raw": "http://h/:id/x", "variable": [{ "key": "id", "value": "a/b" }] }),
            "http://h/a%2Fb/x",
        ),
        (json!({ "raw": "http://h/:id" }), "http://h/{{env.ID}}"),
        (
            json!({ "host": ["a", "b"], "port": "8", "path": ["c", { "value": "d" }] }),
            "http://a.b:8/c/d",
        ),
        (
            json!({ "raw": "http://h/?a=1", "query": [{ "key": "a", "value": null }] }),
            "http://h/ a=",
        ),
    ] {
        assert_eq!(place(url.clone()), expected, "{url}");
    }
}

#[test]
fn a_variable_is_a_capture_only_after_the_script_that_sets_it() {
    let exec = json!(["pm.environment.set('order id', pm.response.json().id);"]);
    let event = json!([{ "listen": "test", "script": { "exec": exec } }]);
    let source = collection(json!([
        { "name": "before", "request": "http://h/{{order id}}" },
        { "name": "make", "request": "http://h/", "event": event },
        { "name": "after", "request": "http://h/{{order id}}" },
    ]));
    let draft = draft(&source);
    let paths: Vec<&str> = draft.operations.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(paths, ["/{{env.ORDER_ID}}", "/", "/{{make.order_id}}"]);
    let capture = ("order_id".to_owned(), Capture::Json("$.id".to_owned()));
    assert_eq!(draft.operations[1].captures, [capture]);
    assert_eq!(draft.journeys.len(), 1);
}

#[test]
fn what_cannot_be_sent_is_noted() {
    let draft =
        only(json!({ "url": "http://h/", "method": "POST", "body": { "mode": "file", "file": {} },
        "auth": { "type": "awsv4" }, "header": [{ "key": "a b", "value": "x" }] }));
    assert_eq!(draft.notes.len(), 3);
    assert_eq!(only(json!({ "url": "ftp://h/" })).notes.len(), 1);
    assert_eq!(only(json!({ "url": "http://h/", "method": "A B" })).operations.len(), 0);
}

#[test]
fn broken_and_deep_texts_are_refused() {
    let whole = collection(json!([{ "name": "a", "request": "h" }])).to_string();
    let error = read(&whole[..whole.len() - 3], &Options::default()).unwrap_err();
    assert_eq!(error.line, Some(1));
    assert_eq!(Format::guess("x", &whole), Some(Format::Postman));
    assert!(seems(&whole[..whole.len() - 3]));
    let deep = format!("{{\"item\": {}", "[{\"item\": ".repeat(100_000));
    read(&deep, &Options::default()).unwrap_err();
    read("{\"requests\": []}", &Options::default()).unwrap_err();
    assert!(read("{\"item\": [1, null, {\"request\": 5}, {}]}", &Options::default()).is_ok());
}

#[test]
fn large_collections_are_read_in_time() {
    let item = |number: u32| {
        json!({ "name": "same", "request": { "url": "{{base}}/a?token=x", "method": "POST",
        "header": [{ "key": "authorization", "value": format!("Bearer token-{number}") }],
        "body": { "mode": "raw", "raw": "x".repeat(300) } } })
    };
    let source = collection((0..8_000).map(item).collect());
    let (draft, spent) = processor_time(|| {
        let draft = draft(&source);
        write(&draft, "x");
        draft
    });
    assert_eq!(draft.operations.len(), 8_000);
    assert!(spent < Duration::from_secs(100), "{spent:?}");
}

proptest! {
    #[test]
    fn no_credential_is_written(secret in "[a-z0-9]{12,20}", place in 0..12_usize) {
        let raw = |text: String| json!({ "mode": "raw", "raw": text });
        let mut request = json!({ "url": "http://h/", "method": "POST" });
        let mut variables = json!([]);
        match place {
            0 => request["url"] = format!("http://h/?api_key={secret}").into(),
            1 => request["url"] = format!("http://ada:{secret}@h/{secret}").into(),
            2 => request["header"] = json!([{ "key": "Authorization", "value": format!("Bearer {secret}") }]),
            3 => request["header"] = json!([{ "key": "x-api-key", "value": format!("{secret}{{{{x}}}}") }]),
            4 => request["body"] = raw(format!("{{\"password\": \"{secret}\", \"n\": {{{{n}}}}}}")),
            5 => request["body"] = raw(format!("<a><password>{secret}</password></a>")),
            6 => request["auth"] = json!({ "type": "basic", "basic": { "username": "ada", "password": secret } }),
            7 => {
                variables = json!([{ "key": "plain", "value": secret }]);
                request["auth"] = json!({ "type": "bearer", "bearer": { "token": "{{plain}}" } });
                request["body"] = raw("see {{plain}}".to_owned());
            }
            8 => {
                variables = json!([{ "key": "s", "value": secret, "type": "secret" }]);
                request["url"] = "http://h/{{s}}?a={{s}}".into();
            }
            9 => request["body"] = json!({ "mode": "urlencoded", "urlencoded": [{ "key": "client_secret", "value": secret }] }),
            10 => request["url"] = format!("http://ada:{secret}@{{{{host}}}}/").into(),
            _ => request["auth"] = json!({ "type": "apikey", "apikey": [{ "key": "key", "value": "k" }, { "key": "value", "value": secret }] }),
        }
        let mut source = collection(json!([{ "name": "a", "request": request }]));
        source["variable"] = variables;
        let written = write(&draft(&source), "x");
        prop_assert!(!written.contains(&secret), "{written}");
    }
}
