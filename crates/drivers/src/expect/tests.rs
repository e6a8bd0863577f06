//! Rules against answers: what holds, what was seen, and how both read.

use engine::driver::Call;
use plan::diagnostic::Span;
use plan::template::{Scope, Template};
use serde_json::json;

use super::answer_view::AnswerView;
use super::json::{Path, same};
use super::pattern::Pattern;
use super::rule::AnswerRule;
use crate::http::answer::BODY_LIMIT;
use crate::http::request::RenderContext;
use crate::statuses::{Allowed, Statuses};

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nvary: a\r\nVary: b\r\n\r\n";
const BODY: &[u8] =
    br#"{"total": 10, "price": 2.5, "results": [{"id": 1}, {"id": 2}], "name": "x7"}"#;

#[track_caller]
fn check(rule: &AnswerRule, text: &str, seen: Result<&str, &str>) {
    let call = Call { sequence: 7, trial: 1, seed: 1, ..Call::default() };
    let context =
        RenderContext { call: &call, rows: None, authority: "", is_secure: false, location: "" };
    let evidence = AnswerView::new(HEAD, 77, BODY, context);
    assert_eq!(rule.to_string(), text);
    let expected = seen.map(str::to_owned).map_err(str::to_owned);
    assert_eq!(rule.check(&evidence), expected, "{text}");
}

fn json_rule(path: &str, value: serde_json::Value) -> AnswerRule {
    AnswerRule::Json(Path::compile(path).unwrap(), value)
}

#[test]
fn fields_are_compared_by_name_and_whole_value_or_part() {
    let html = "text/html; charset=utf-8";
    let is = |name: &str, value: &str| AnswerRule::FieldIs(name.into(), value.into());
    let contains = |name: &str, value: &str| AnswerRule::FieldContains(name.into(), value.into());
    check(&is("content-type", html), &format!("header content-type is {html:?}"), Ok(html));
    check(&is("content-type", "text/html"), "header content-type is \"text/html\"", Err(html));
    check(&contains("content-type", "html"), "header content-type contains \"html\"", Ok(html));
    check(&is("vary", "b"), "header vary is \"b\"", Ok("a, b"));
    check(&is("etag", "x"), "header etag is \"x\"", Err("absent"));
}

#[test]
fn sizes_lie_in_a_range() {
    check(&AnswerRule::Size(77..=77), "body of 77 bytes", Ok("77 bytes"));
    check(&AnswerRule::Size(0..=76), "body of 0 to 76 bytes", Err("77 bytes"));
    check(&AnswerRule::Size(78..=u64::MAX), "body of at least 78 bytes", Err("77 bytes"));
}

#[test]
fn texts_are_found_templates_included() {
    let shown = String::from_utf8(BODY.to_vec()).unwrap();
    let contains = |text: &str| {
        AnswerRule::Contains(
            text.to_owned(),
            Template::compile(text, Span::default(), Scope::default()).unwrap(),
        )
    };
    check(&contains("results"), "body contains \"results\"", Ok(&shown));
    check(&contains("x{{sequence}}"), "body contains \"x{{sequence}}\"", Ok(&shown));
    check(&contains("x8"), "body contains \"x8\"", Err(&shown));
    check(
        &AnswerRule::Matches(Pattern::compile("\"id\": [0-9]").unwrap()),
        "body matches \"\\\"id\\\": [0-9]\"",
        Ok(&shown),
    );
    check(
        &AnswerRule::Matches(Pattern::compile("^x").unwrap()),
        "body matches \"^x\"",
        Err(&shown),
    );
}

#[test]
fn json_values_read_like_a_template() {
    let reads = |path: &str, text: &str| {
        let template = Template::compile(text, Span::default(), Scope::default()).unwrap();
        AnswerRule::JsonReads(Path::compile(path).unwrap(), text.to_owned(), template)
    };
    check(&reads("$.name", "x{{sequence}}"), "$.name is \"x{{sequence}}\"", Ok("\"x7\""));
    check(&reads("$.name", "{{sequence}}"), "$.name is \"{{sequence}}\"", Err("\"x7\""));
    check(&reads("$.total", "1{{random 0..0}}"), "$.total is \"1{{random 0..0}}\"", Ok("10"));
    check(
        &reads("$.results", "{{sequence}}"),
        "$.results is \"{{sequence}}\"",
        Err(r#"[{"id":1},{"id":2}]"#),
    );
    check(&reads("$.none", "{{sequence}}"), "$.none is \"{{sequence}}\"", Err("absent"));
}

#[test]
fn json_values_are_found_by_path() {
    check(&json_rule("$.total", json!(10)), "$.total is 10", Ok("10"));
    check(&json_rule("$.total", json!(10.0)), "$.total is 10.0", Ok("10"));
    check(&json_rule("$.total", json!("10")), "$.total is \"10\"", Err("10"));
    check(&json_rule("$.results.length()", json!(2)), "$.results.length() is 2", Ok("2"));
    check(&json_rule("$.name.length()", json!(3)), "$.name.length() is 3", Err("2"));
    check(
        &json_rule("$.total.length()", json!(3)),
        "$.total.length() is 3",
        Err("10, which has no length"),
    );
    check(
        &json_rule("$.results[1]", json!({"id": 2})),
        "$.results[1] is {\"id\":2}",
        Ok("{\"id\":2}"),
    );
    check(&json_rule("$.missing", json!(1)), "$.missing is 1", Err("absent"));
    check(&json_rule("$.results[*].id", json!(1)), "$.results[*].id is 1", Err("2 values"));
}

#[test]
fn a_path_without_end_is_refused_before_it_is_parsed() {
    let refused = |path: &str| Path::compile(path).expect_err("it has no end");
    let deep = |open: &str, close: &str, levels: usize| {
        format!("$[?{}@.a{}]", open.repeat(levels), close.repeat(levels))
    };
    assert!(Path::compile(&deep("(", ")", 7)).is_ok());
    assert_eq!(refused(&deep("(", ")", 8)), "it nests deeper than 8 brackets");
    for (open, close) in [("(", ")"), ("@[?", "]"), ("!(", ")"), ("length(@[?", "])")] {
        refused(&deep(open, close, 50_000));
        // The deepest that is parsed does not take long.
        let _ = Path::compile(&deep(open, close, 7));
    }
    assert_eq!(refused(&format!("$.{}", "a".repeat(1_023))), "1025 bytes are more than 1024");
    assert_eq!(refused("$..a..b..c"), "it has `..` 3 times; the limit is 2");
    assert!(Path::compile("$['[[[[[[[[[['][\"((((((((((\"]").is_ok(), "quoted ones are names");
}

#[test]
fn what_searches_much_reads_less() {
    let reads = |path: &str| Path::compile(path).expect("a path").reads();
    for (path, most) in [
        ("$.results[*].id", BODY_LIMIT),
        ("$['..']['$..']", BODY_LIMIT),
        ("$.items[?@.id == $.wanted].x", BODY_LIMIT),
        ("$..id", 4 << 20),
        ("$..[?@..id]", 64 << 10),
        ("$.items[?$.all[*]]", 64 << 10),
        ("$[?$..a]", 64 << 10),
    ] {
        assert_eq!(reads(path), most, "{path}");
    }
    let call = Call { sequence: 7, trial: 1, seed: 1, ..Call::default() };
    let body = vec![b' '; (64 << 10) + 1];
    let context =
        RenderContext { call: &call, rows: None, authority: "", is_secure: false, location: "" };
    let evidence = AnswerView::new(&[], 0, &body, context);
    let rule = json_rule("$..[?@..id]", json!(1));
    let says = "`$..[?@..id] is 1` reads at most 65536 bytes, but the body has 65537";
    assert_eq!(evidence.too_long(std::slice::from_ref(&rule), &[]).as_deref(), Some(says));
    assert_eq!(evidence.too_long(&[json_rule("$..id", json!(1))], &[]), None);
    let path = Path::compile("$..[?@..id]").expect("a path");
    let says = "item $..[?@..id] reads at most 65536 bytes, but the body has 65537";
    assert_eq!(evidence.too_long(&[], std::slice::from_ref(&path)).as_deref(), Some(says));
    let checks = evidence.checks(&[rule], &[path]);
    assert!(checks.len() == 1 && !checks[0].holds, "{checks:?}");
}

#[test]
fn numbers_are_read_by_path_and_absent_ones_are_not_numbers() {
    let body: serde_json::Value = serde_json::from_slice(BODY).unwrap();
    let number = |path: &str| Path::compile(path).unwrap().number(&body);
    assert_eq!(number("$.price"), 2.5);
    assert_eq!(number("$.results.length()"), 2.0);
    assert!(number("$.name").is_nan());
    assert!(number("$.missing").is_nan());
}

#[test]
fn numbers_are_the_same_however_written_and_large_ones_exact() {
    assert!(same(&json!([1, {"a": 2}]), &json!([1.0, {"a": 2.0}])));
    assert!(!same(&json!([1]), &json!([1, 2])));
    assert!(!same(&json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992_u64)));
    assert!(!same(&json!({"a": 1}), &json!({"b": 1})));
}

#[test]
fn statuses_are_codes_and_classes() {
    let statuses = Statuses::new(vec![Allowed::Code(404), Allowed::Class(2)]);
    assert_eq!(statuses.to_string(), "404, 2xx");
    let allowed: Vec<u16> = (100..=599).filter(|&status| statuses.contains(status)).collect();
    assert_eq!(allowed.len(), 101);
    assert!(allowed.contains(&404) && !allowed.contains(&400));
}
