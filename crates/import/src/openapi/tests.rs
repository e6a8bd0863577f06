use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::draft::{Auth, Body, Part, Status};
use crate::tests::processor_time;
use crate::{Format, write};

fn draft(source: &Value) -> Draft {
    read(&source.to_string(), &Options::default()).unwrap()
}

/// The body that is made for a schema, beside these components.
fn body(schema: Value, components: Value) -> Body {
    let content = json!({ "application/json": { "schema": schema } });
    let path = json!({ "post": { "requestBody": { "content": content } } });
    let source = json!({ "openapi": "3.1.0", "paths": { "/a": path }, "components": { "schemas": components } });
    draft(&source).operations.remove(0).body
}

#[track_caller]
fn check(schema: Value, expected: Value) {
    assert_eq!(body(schema.clone(), json!({})), Body::Json(expected), "{schema}");
}

#[test]
fn values_keep_to_their_schema() {
    for (schema, expected) in [
        (json!({ "type": "integer", "minimum": 5, "exclusiveMinimum": true }), json!(6)),
        (json!({ "type": "integer", "exclusiveMinimum": 5 }), json!(6)),
        (json!({ "type": "integer", "maximum": -3 }), json!(-3)),
        (json!({ "type": "integer", "minimum": 7, "multipleOf": 5 }), json!(10)),
        (json!({ "type": "number", "maximum": 0.25 }), json!(0.25)),
        (json!({ "type": "string", "minLength": 6 }), json!("textte")),
        (json!({ "type": "string", "maxLength": 2 }), json!("te")),
        (json!({ "type": "string", "format": "uuid" }), json!("{{uuid}}")),
        (json!({ "type": ["null", "boolean"] }), json!(true)),
        (json!({ "enum": [null, "b"] }), json!("b")),
        (json!({ "const": 3 }), json!(3)),
        (json!({ "example": { "a": null, "b": "{{x}}" } }), json!({ "b": "{{{{x}}" })),
        (json!({ "type": "array", "items": {}, "maxItems": 0 }), json!([])),
        (json!({ "required": ["a"] }), json!({ "a": "text" })),
        (json!({ "oneOf": [{ "type": "null" }, { "type": "integer" }] }), json!(1)),
        (json!({ "example": 18446744073709551615_u64 }), json!(18446744073709551615_f64)),
        (
            json!({ "required": ["secret", "id"], "properties": { "secret": { "type": "string" }, "id": { "readOnly": true } } }),
            json!({ "secret": "{{env.SECRET}}" }),
        ),
    ] {
        check(schema, expected);
    }
}

#[test]
fn forms_and_texts_are_sent_as_such() {
    let of = |kind: &str, schema: Value| {
        let operation = json!({ "requestBody": { "content": { kind: { "schema": schema } } } });
        draft(&json!({ "openapi": "3.0.0", "paths": { "/a": { "post": operation } } }))
    };
    let file = json!({ "required": ["a b"], "properties": { "a b": { "type": "string", "format": "binary" } } });
    let upload = of("multipart/form-data", file);
    let part = Part::File("a_b.bin".to_owned(), None);
    assert_eq!(upload.operations[0].body, Body::Multipart(vec![("a b".to_owned(), part)]));
    assert!(upload.notes.iter().any(|note| note.what.contains("put a file \"a_b.bin\"")));
    let list = json!({ "required": ["a"], "properties": { "a": { "type": "array", "items": {}, "minItems": 2 } } });
    let form = of("application/x-www-form-urlencoded", list);
    let pair = ("a".to_owned(), crate::text::Text::from("text"));
    assert_eq!(form.operations[0].body, Body::Form(vec![pair.clone(), pair]));
    let patch = of("application/merge-patch+json", json!({ "example": { "a": 1 } }));
    assert_eq!(patch.operations[0].headers[0].1.as_str(), "application/merge-patch+json");
    let other = of("application/octet-stream", json!({}));
    assert_eq!(other.operations[0].body, Body::Empty);
    assert!(other.notes.iter().any(|note| note.what.contains("octet-stream")));
}

#[test]
fn cycles_are_cut_at_the_second_visit() {
    let node = json!({ "required": ["next", "all", "n"], "properties": {
        "next": { "$ref": "#/components/schemas/Node" },
        "all": { "type": "array", "items": { "$ref": "#/components/schemas/Node" } },
        "n": { "type": "integer" } } });
    let made = body(json!({ "$ref": "#/components/schemas/Node" }), json!({ "Node": node }));
    assert_eq!(made, Body::Json(json!({ "all": [], "n": 1 })));
    let own = json!({ "A": { "$ref": "#/components/schemas/A" } });
    assert_eq!(body(json!({ "$ref": "#/components/schemas/A" }), own), Body::Empty);
}

#[test]
fn a_schema_that_doubles_at_each_level_ends() {
    let mut schemas = serde_json::Map::new();
    for level in 0..60 {
        let next = json!({ "$ref": format!("#/components/schemas/S{}", level + 1) });
        let properties = json!({ "a": next, "b": next });
        schemas.insert(
            format!("S{level}"),
            json!({ "required": ["a", "b"], "properties": properties }),
        );
    }
    let made = body(json!({ "$ref": "#/components/schemas/S0" }), Value::Object(schemas));
    assert!(matches!(made, Body::Json(_)));
}

#[test]
fn pointers_have_escapes() {
    let path =
        json!({ "get": { "parameters": [{ "$ref": "#/components/parameters/a~1b%20c~0" }] } });
    let parameter = json!({ "name": "q", "in": "query", "example": "x" });
    let source = json!({ "openapi": "3.0.0", "paths": { "/a": path, "/b": { "$ref": "#/paths/~1a" } },
        "components": { "parameters": { "a/b c~": parameter } } });
    let draft = draft(&source);
    assert_eq!(draft.operations.len(), 2);
    assert!(draft.operations.iter().all(|one| one.query.len() == 1));
}

#[test]
fn the_address_is_that_of_the_nearest_server() {
    let server = |url: &str| json!([{ "url": url }]);
    let source = json!({ "openapi": "3.0.0", "servers": server("https://a.example/v1"), "paths": {
        "/a": { "get": {}, "post": { "servers": server("http://b.example:81") } },
        "/b": { "servers": server("/v2"), "get": {} } } });
    let all = draft(&source);
    let places: Vec<_> =
        all.operations.iter().map(|one| format!("{}{}", one.origin, one.path.as_str())).collect();
    assert_eq!(
        places,
        ["https://a.example/v1/a", "http://b.example:81/a", "http://127.0.0.1:8080/v2/b"]
    );
    assert_eq!(all.notes.len(), 1);
    let wanted = Options { hosts: vec!["b.example".to_owned()] };
    assert_eq!(read(&source.to_string(), &wanted).unwrap().operations.len(), 1);
}

#[test]
fn credentials_are_variables() {
    let schemes = json!({ "b": { "type": "http", "scheme": "Bearer" }, "k": { "type": "apiKey", "in": "query", "name": "key" },
        "c": { "type": "apiKey", "in": "cookie", "name": "sid" }, "m": { "type": "mutualTLS" } });
    let with = |security: Value| json!({ "get": { "security": security } });
    let source = json!({ "openapi": "3.1.0", "components": { "securitySchemes": schemes }, "paths": {
        "/b": with(json!([{ "m": [] }, { "b": [] }])), "/k": with(json!([{}, { "k": [], "c": [] }])),
        "/m": with(json!([{ "m": [] }])), "/x": with(json!([{ "x": [] }])) } });
    let draft = draft(&source);
    let [b, k, ..] = draft.operations.as_slice() else { panic!("four") };
    assert_eq!(b.auth, Some(Auth::Bearer(crate::text::Text::template("{{env.TOKEN}}"))));
    assert_eq!(k.query[0].1.as_str(), "{{env.KEY}}");
    assert_eq!(k.headers[0].1.as_str(), "sid={{env.SID}}");
    // One of them is the address.
    assert_eq!(draft.notes.len(), 3);
}

#[test]
fn the_only_good_answer_is_expected() {
    for (answers, expected) in [
        (json!({ "201": {}, "404": {} }), Status::Code(201)),
        (json!({ "200": {}, "204": {} }), Status::Class(2)),
        (json!({ "2XX": {} }), Status::Class(2)),
        (json!({ "302": {}, "default": {} }), Status::Code(302)),
        (json!({}), Status::Class(2)),
    ] {
        let source =
            json!({ "openapi": "3.0.0", "paths": { "/a": { "get": { "responses": answers } } } });
        assert_eq!(draft(&source).operations[0].expect.status, [expected]);
    }
}

#[test]
fn other_versions_and_broken_texts_are_refused() {
    let error = |text: &str| read(text, &Options::default()).unwrap_err();
    let swagger = error("swagger: '2.0'\npaths: {}");
    assert_eq!(swagger.what, "Swagger \"2.0\" cannot be imported");
    assert!(swagger.hint.is_some());
    assert_eq!(error("{\"openapi\": \"3.0.0\",\n\"paths\": {").line, Some(2));
    assert!(error("openapi: 3.0.0\npaths:\n  /a: [1, 2\n").line.is_some());
    assert_eq!(error("[1]").line, Some(1));
    error("openapi: 4.0.0");
    for text in [
        "swagger: '2.0'",
        "{\"openapi\": \"3.0.0\", \"pa",
        "# x\n\"openapi\": 3.1.0\nx: |\n  curl y",
    ] {
        assert_eq!(Format::guess("x", text), Some(Format::OpenApi), "{text}");
    }
    assert_eq!(Format::guess("x", "{\"a\": \"openapi\"}"), None);
}

#[test]
fn texts_that_nest_or_unfold_without_end_are_refused() {
    let deep = 100_000;
    let json = format!("{{\"openapi\": \"3.0.0\", \"x\": {}", "[".repeat(deep));
    let flow = format!("openapi: 3.0.0\nx: {}", "[".repeat(deep));
    let block = format!("openapi: 3.0.0\nx:\n  {}1", "- ".repeat(deep));
    let mut laughs = String::from("openapi: 3.0.0\na0: &a0 [lol]\n");
    for level in 1..30 {
        let before = format!("*a{}", level - 1);
        laughs += &format!("a{level}: &a{level} [{}]\n", vec![before; 9].join(", "));
    }
    for text in [json, flow, block, laughs] {
        let (read, spent) = processor_time(|| read(&text, &Options::default()));
        read.unwrap_err();
        assert!(spent < Duration::from_secs(60), "{spent:?}");
    }
    let mut schema = json!({ "type": "integer" });
    for _ in 0..50 {
        schema = json!({ "type": "array", "items": schema });
    }
    assert!(matches!(body(schema, json!({})), Body::Json(_)));
}

#[test]
fn large_descriptions_are_read_in_time() {
    let names: Vec<String> = (0..50_000).map(|number| format!("value {number}")).collect();
    let mut paths = serde_json::Map::new();
    for number in 0..12_000 {
        let parameter = json!({ "name": "q", "in": "query", "required": true, "schema": { "$ref": "#/components/schemas/Q" } });
        let summary = "x".repeat(200);
        paths.insert(format!("/a/{number}"), json!({ "get": { "operationId": "same", "summary": summary, "parameters": [parameter] } }));
    }
    let source = json!({ "openapi": "3.0.0", "paths": paths, "components": { "schemas": { "Q": { "enum": names } } } });
    let ((draft, written), spent) = processor_time(|| {
        let draft = draft(&source);
        let written = write(&draft, "x");
        (draft, written)
    });
    assert_eq!(draft.operations.len(), MOST_OPERATIONS);
    assert!(written.len() > 1_000_000);
    assert!(spent < Duration::from_secs(100), "{spent:?}");
}

#[test]
fn hostile_names_stay_within_their_texts() {
    let path = "/a\n\"]\u{1}{x\"y}/é";
    let operation = json!({ "operationId": "\"\n[x]", "summary": "a\u{1}\nb = 1", "parameters": [
        { "name": "x\"y", "in": "path", "example": "../{{a}}\n" },
        { "name": "h\"", "in": "header", "example": "x" },
        { "name": "h", "in": "header", "example": "x\r\ny" },
        { "name": "q\n'\"", "in": "query", "example": "'\"\n" }] });
    let source = json!({ "openapi": "3.0.0", "info": { "title": "a\n[b]" }, "paths": { path: { "get": operation } } });
    let draft = draft(&source);
    let operation = &draft.operations[0];
    assert_eq!(operation.path.as_str(), "/a%0A%22%5D%01..%2F%7B%7Ba%7D%7D%0A/%C3%A9");
    assert_eq!(operation.name, "x");
    let written = write(&draft, "x");
    let lines = written.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    assert!(
        lines
            .clone()
            .all(|line| line.contains(" = ") || line.starts_with('[') || line.contains("url")),
        "{written}"
    );
}
