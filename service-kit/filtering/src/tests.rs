use serde_json::{Value, json};

use super::*;

fn parse(filter: &Value) -> Result<Filter, FilterError> {
    Filter::parse(filter, Bounds::default())
}

fn matches(filter: Value, metadata: Value) -> bool {
    let filter = parse(&filter).unwrap_or_else(|refusal| panic!("{filter}: {refusal}"));
    filter.matches(metadata.as_object().expect("an object"))
}

/// Where a filter is refused, and why.
fn refused(filter: Value) -> (String, String) {
    let refusal = parse(&filter).expect_err(&filter.to_string());
    (refusal.at, refusal.message)
}

#[test]
fn null_and_nothing_match_everybody() {
    assert!(matches(Value::Null, json!({})));
    assert!(matches(json!({}), json!({"a": 1})));
    assert_eq!(parse(&Value::Null), parse(&json!({})));
    assert_eq!(parse(&Value::Null), Ok(Filter::default()));
    assert_ne!(parse(&json!({"a": 1})), parse(&json!({"a": 2})));
}

/// For each operator: the operand, then what matches it and what does not.
#[test]
fn operators_hold_for_what_they_say() {
    type Row = (&'static str, Value, &'static [&'static str], &'static [&'static str]);
    let table: &[Row] = &[
        ("eq", json!(5), &["5", "5.0", "5e0"], &["5.1", "\"5\"", "null", "[5]", "true"]),
        ("eq", json!(null), &["null"], &["0", "\"\"", "[]", "false"]),
        ("eq", json!([1, {"x": 2}]), &["[1.0,{\"x\":2}]"], &["[1]", "[{\"x\":2},1]", "1"]),
        ("eq", json!({"x": 1}), &["{\"x\":1.0}"], &["{\"x\":1,\"y\":1}", "{}", "{\"y\":1}"]),
        ("ne", json!(5), &["6", "\"5\"", "null", "[5]"], &["5", "5.0"]),
        ("lt", json!(0.2), &["0.1", "-3", "0"], &["0.2", "1", "\"0.1\"", "null", "false", "[0]"]),
        ("lte", json!(2), &["2", "2.0", "1.9"], &["2.1", "\"1\""]),
        ("gt", json!("b"), &["\"ba\"", "\"c\"", "\"ä\""], &["\"b\"", "\"a\"", "\"B\"", "3"]),
        ("gte", json!("b"), &["\"b\""], &["\"\"", "\"a\"", "true"]),
        ("startswith", json!("1.0"), &["\"1.0\"", "\"1.0.3\""], &["\"1.\"", "1.0", "[\"1.0\"]"]),
        ("startswith", json!(""), &["\"\"", "\"a\""], &["1", "null"]),
        ("endswith", json!("é"), &["\"é\"", "\"café\""], &["\"cafe\"", "[]"]),
        (
            "contains",
            json!("b"),
            &["\"abc\"", "[\"a\",\"b\"]"],
            &["\"ac\"", "[\"ab\"]", "{\"b\":1}"],
        ),
        ("contains", json!(1), &["[1]", "[0,1.0]"], &["\"1\"", "1", "[[1]]", "[]"]),
        ("contains", json!([1]), &["[[1.0]]"], &["[1]"]),
        ("regex", json!("^a.c$"), &["\"abc\"", "\"aäc\""], &["\"abcd\"", "7", "[\"abc\"]"]),
        ("regex", json!("b+"), &["\"abbc\""], &["\"ac\""]),
        ("in", json!([1, "x", null]), &["1.0", "\"x\"", "null"], &["2", "\"1\"", "[1]"]),
        ("in", json!([]), &[], &["1", "null", "[]"]),
        ("exists", json!(true), &["1", "null", "[]"], &[]),
        ("exists", json!(false), &[], &["1", "null"]),
        ("type", json!("integer"), &["5", "5.0", "1e300"], &["5.5", "\"5\""]),
        ("type", json!("float"), &["5", "5.5"], &["\"5\"", "null"]),
        ("type", json!("bool"), &["true"], &["1", "\"true\""]),
        ("type", json!("null"), &["null"], &["0"]),
        ("type", json!("array"), &["[]"], &["{}"]),
        ("type", json!("object"), &["{}"], &["[]"]),
        ("type", json!("string"), &["\"\""], &["1"]),
    ];
    for (operator, operand, yes, no) in table {
        let suffix = json!({format!("a.{operator}"): operand});
        let below = json!({"a": {format!("${operator}"): operand}});
        for (values, is_wanted) in [(yes, true), (no, false)] {
            for value in values.iter() {
                let value: Value = serde_json::from_str(value).unwrap();
                let metadata = json!({"a": value});
                assert_eq!(
                    matches(suffix.clone(), metadata.clone()),
                    is_wanted,
                    "{suffix} {value}"
                );
                assert_eq!(matches(below.clone(), metadata), is_wanted, "{below} {value}");
            }
        }
        // What is not there is matched by nothing but `exists: false`.
        let is_absent = *operator == "exists" && *operand == json!(false);
        assert_eq!(matches(suffix.clone(), json!({"b": 1})), is_absent, "{suffix}");
    }
    let tested: Vec<&str> = table.iter().map(|row| row.0).collect();
    assert!(test::OPERATORS.iter().all(|(name, _)| tested.contains(name)));
}

#[test]
fn numbers_are_not_rounded() {
    let exact = |one: Value, other: Value| matches(json!({"n": one}), json!({"n": other}));
    let below = |one: Value, other: Value| matches(json!({"n.lt": other}), json!({"n": one}));
    let two_53 = 9_007_199_254_740_992_u64;
    assert!(!exact(json!(two_53), json!(two_53 + 1)));
    assert!(exact(json!(two_53), json!(two_53 as f64)));
    assert!(!exact(json!(two_53 + 1), json!(two_53 as f64)));
    assert!(below(json!(two_53 as f64), json!(two_53 + 1)));
    assert!(!exact(json!(u64::MAX), json!(u64::MAX as f64)));
    assert!(below(json!(u64::MAX), json!(u64::MAX as f64)));
    assert!(!below(json!(u64::MAX as f64), json!(u64::MAX)));
    assert!(exact(json!(i64::MIN), json!(i64::MIN as f64)));
    assert!(below(json!(i64::MIN), json!(u64::MAX)));
    assert!(below(json!(-1e300), json!(i64::MIN)));
    assert!(below(json!(u64::MAX), json!(1e300)));
    assert!(below(json!(4.5), json!(5)) && below(json!(5), json!(5.5)));
    assert!(below(json!(1e299), json!(1e300)) && exact(json!(1e300), json!(1e300)));
    assert!(exact(json!(0), json!(-0.0)) && !below(json!(-0.0), json!(0)));
}

#[test]
fn forms_join() {
    let both = json!({"a": 1, "b": 2});
    assert!(matches(json!({"a": 1, "b": 2}), both.clone()));
    assert!(!matches(json!({"a": 1, "b": 3}), both.clone()));
    assert!(matches(json!({"$or": [{"a": 9}, {"b": 2}]}), both.clone()));
    assert!(!matches(json!({"$or": [{"a": 9}, {"b": 9}]}), both.clone()));
    assert!(matches(json!({"$and": [{"a.gt": 0}, {"a.lt": 2}]}), both.clone()));
    assert!(matches(json!({"not": {"a": 2}}), both.clone()));
    assert!(!matches(json!({"$not": {"a": 1, "b": 2}}), both.clone()));
    assert!(matches(json!({"$not": {"c": 1}}), both.clone()));
    assert!(!matches(json!({"c.ne": 1}), both.clone()));
    assert!(matches(json!({"a": {"$gte": 1, "$lt": 2}}), both.clone()));
    assert!(matches(json!({"a": {"$not": {"$gt": 1}}, "$or": [{}]}), both.clone()));
    assert!(!matches(json!({"not": {}}), both));
}

#[test]
fn any_field_can_be_named() {
    let metadata = json!({
        "place": {"floor": 3, "type": "office", "a.b": 1},
        "site.v2": 1, "$cost": 2, "back\\slash": 3, "type": "sensor", "not": 4, "or": [1],
        "starts_with": 5, "raw": {"$x": 1}, "deep": {"lt": {"gt": 6}},
    });
    let all = [
        json!({"place.floor": 3}),
        json!({"place.floor.gt": 2}),
        json!({"place.type.eq": "office"}),
        json!({"place.type": {"$eq": "office"}}),
        json!({"place.type.type": "string"}),
        json!({"place.type": "object"}),
        json!({"place.a\\.b": 1}),
        json!({"site\\.v2": 1}),
        json!({"site\\.v2.lt": 2}),
        json!({"\\$cost": 2}),
        json!({"back\\\\slash": 3}),
        json!({"type": "sensor"}),
        json!({"type.startswith": "sen"}),
        json!({"not.eq": 4}),
        json!({"or.eq": [1]}),
        json!({"starts_with": 5}),
        json!({"raw": {"$eq": {"$x": 1}}}),
        json!({"deep.lt": {"$exists": true}}),
        json!({"deep.lt.gt.eq": 6}),
    ];
    for filter in all {
        assert!(matches(filter.clone(), metadata.clone()), "{filter}");
    }
    assert!(!matches(json!({"place.floor.x": 3}), metadata.clone()));
    assert!(!matches(json!({"or.0.eq": 1}), metadata));
}

#[test]
fn a_filter_names_its_fields() {
    let json = json!({"a": 1, "$or": [{"b.c.lt": 2}, {"not": {"d": {"$gt": 1, "$lt": 2}}}]});
    let filter = parse(&json).unwrap();
    let mut fields: Vec<_> = filter.fields().map(|(path, at)| (path.to_string(), at)).collect();
    fields.sort();
    let fields: Vec<_> = fields.iter().map(|(path, at)| (path.as_str(), *at)).collect();
    let expected = [
        ("a", "/filter/a"),
        ("b.c", "/filter/$or/0/b.c.lt"),
        ("d", "/filter/$or/1/not/d/$gt"),
        ("d", "/filter/$or/1/not/d/$lt"),
    ];
    assert_eq!(fields, expected);
    assert_eq!(Filter::default().fields().count(), 0);
    let path = Path::read("b.c").unwrap();
    assert_eq!(path.steps().collect::<Vec<_>>(), ["b", "c"]);
}

#[test]
fn bounds_are_kept() {
    let nested = |depth: usize| {
        (0..depth).fold(json!({"a": 1}), |inner, level| match level % 3 {
            0 => json!({"not": inner}),
            1 => json!({"$or": [inner]}),
            _ => json!({"$and": [inner]}),
        })
    };
    assert!(parse(&nested(5)).is_ok());
    assert_eq!(refused(nested(6)).1, "logical forms nest at most 5 deep");
    let wide = |count: usize| json!({"$or": vec![json!({"a": 1}); count]});
    assert!(parse(&wide(20)).is_ok());
    assert_eq!(refused(wide(21)).0, "/filter/$or/20/a");
    assert!(parse(&json!({"$or": vec![json!({}); 21]})).is_err());
    let operators = json!({"a": {"$gt": 1, "$lt": 2, "$ne": 3}});
    assert!(Filter::parse(&operators, Bounds { depth: 0, clauses: 3 }).is_ok());
    assert!(Filter::parse(&operators, Bounds { depth: 0, clauses: 2 }).is_err());
    let mut deep = Value::Null;
    for _ in 0..100_000 {
        deep = Value::Array(vec![deep]);
    }
    let refusal = parse(&deep).unwrap_err();
    assert_eq!(refusal.message, "nested deeper than 32 levels");
    // Dropping it would use up the stack; no text is read into a value as deep.
    std::mem::forget(deep);
    assert!(parse(&json!({"a.in": vec![1; 1_000]})).is_ok());
    assert!(parse(&json!({"a.in": vec![1; 1_001]})).is_err());
    assert!(parse(&json!({"a.b.c.d.e.f.g.h": 1})).is_ok());
    assert!(parse(&json!({"a.b.c.d.e.f.g.h.i": 1})).is_err());
    assert!(parse(&json!({"a.regex": "a".repeat(200)})).is_ok());
    for regex in ["a".repeat(257), "((a{100}){100}){100}".into(), "(".into()] {
        assert_eq!(refused(json!({"a.regex": regex})).0, "/filter/a.regex");
    }
}

#[test]
fn what_is_wrong_has_a_place() {
    let cases = [
        (json!([]), "/filter", "object"),
        (json!("x"), "/filter", "object"),
        (json!({"$or": []}), "/filter/$or", "at least one"),
        (json!({"$or": {"a": 1}}), "/filter/$or", "array"),
        (json!({"$and": [{"a": 1}, 5]}), "/filter/$and/1", "object"),
        (json!({"not": 5}), "/filter/not", "not.eq"),
        (json!({"$or": [{"a.lt": null}]}), "/filter/$or/0/a.lt", "a number or a string"),
        (json!({"a.in": 5}), "/filter/a.in", "array"),
        (json!({"a.in": [1, [2]]}), "/filter/a.in/1", "scalars"),
        (json!({"a.exists": 1}), "/filter/a.exists", "true or false"),
        (json!({"a.type": "text"}), "/filter/a.type", "string, bool"),
        (json!({"a.startswith": 1}), "/filter/a.startswith", "a string"),
        (json!({"a": {"$lt": true}}), "/filter/a/$lt", "a number or a string"),
        (json!({"a": {"$lt": 1, "b": 2}}), "/filter/a/b", "operators"),
        (json!({"a": {"$not": {}}}), "/filter/a/$not", "operators"),
        (json!({"a~/b.lt": []}), "/filter/a~0~1b.lt", "a number"),
        (json!({"": 1}), "/filter/", "without a name"),
        (json!({"a..b": 1}), "/filter/a..b", "without a name"),
        (json!({"a\\b": 1}), "/filter/a\\b", "backslash"),
        (json!({"a": {"$ltt": 1}}), "/filter/a/$ltt", "did you mean `$lt`?"),
        (json!({"a": {"$startwith": 1}}), "/filter/a/$startwith", "did you mean `$startswith`?"),
        (json!({"a": {"$whatever": 1}}), "/filter/a/$whatever", "there are $eq, $ne"),
        (json!({"a.starts_with": "x"}), "/filter/a.starts_with", "operator `startswith`?"),
        (json!({"a.GTE": 1}), "/filter/a.GTE", "operator `gte`?"),
        (json!({"a.contain": 1}), "/filter/a.contain", "operator `contains`?"),
        (json!({"a.$in": [1]}), "/filter/a.$in", "operator `in`?"),
        (json!({"$ro": []}), "/filter/$ro", "did you mean `$or`?"),
        (json!({"$lt": 5}), "/filter/$lt", "below a field"),
        (json!({"or": [{"a": 1}]}), "/filter/or", "did you mean `$or`?"),
    ];
    for (filter, place, word) in cases {
        let (at, message) = refused(filter.clone());
        assert_eq!(at, place, "{filter}: {message}");
        assert!(message.contains(word), "{filter}: {message}");
    }
}

#[test]
fn long_text_is_held_against_no_regex() {
    assert!(matches(json!({"a.regex": "a"}), json!({"a": "a".repeat(1_024)})));
    assert!(!matches(json!({"a.regex": "a"}), json!({"a": "a".repeat(1_025)})));
}
