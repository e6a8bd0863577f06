use serde_json::{Value, json};

use super::*;

/// 2026-11-21T13:40:00.000Z
const NOW: Millis = 1_795_268_400_000;

fn devices() -> Schema {
    let schema = json!({"additional": false, "fields": {
        "status": {"type": "enum", "values": ["online", "offline"], "default": "online", "index": true},
        "owner": {"type": "string", "max_length": 4, "required": true},
        "tags": {"type": "array", "items": {"type": "string", "max_length": 3}, "max_length": 2},
        "seen_at": {"type": "timestamp", "auto": "now", "index": true},
        "built_at": {"type": "timestamp"},
        "position": {"type": "geo_point"},
        "battery": {"type": "float"},
        "port": {"type": "int"},
        "armed": {"type": "bool"},
        "place": {"type": "object", "fields": {
            "floor": {"type": "integer", "required": true, "index": true},
            "x.y": {"type": "number", "default": 0.5, "index": true},
        }},
    }});
    Schema::parse(&schema).unwrap()
}

fn apply(schema: &Schema, metadata: Value) -> Result<Value, ApiError> {
    let metadata = metadata.as_object().expect("an object").clone();
    schema.apply(metadata, NOW).map(Value::Object)
}

#[test]
fn what_is_not_given_is_put_in() {
    let registered = apply(&devices(), json!({"owner": "ada", "place": {"floor": 3}})).unwrap();
    assert_eq!(
        registered,
        json!({
            "owner": "ada", "status": "online", "seen_at": "2026-11-21T13:40:00.000Z",
            "place": {"floor": 3, "x.y": 0.5},
        })
    );
    let given = json!({"owner": "a", "status": "offline", "seen_at": "2026-01-02T03:04:05.678Z"});
    assert_eq!(apply(&devices(), given.clone()), Ok(given));
}

#[test]
fn timestamps_have_one_form() {
    let schema = devices();
    let to_timestamp = |given: Value| {
        let registered = apply(&schema, json!({"owner": "a", "built_at": given}));
        registered.map(|registered| registered["built_at"].as_str().unwrap().to_owned())
    };
    for (given, kept) in [
        (json!("2026-11-21T14:40:00+01:00"), "2026-11-21T13:40:00.000Z"),
        (json!("2026-11-21T13:40:00.123456789Z"), "2026-11-21T13:40:00.123Z"),
        (json!("2026-11-21T13:40:00.999999999Z"), "2026-11-21T13:40:00.999Z"),
        (json!(NOW + 7), "2026-11-21T13:40:00.007Z"),
        (json!(-1), "1969-12-31T23:59:59.999Z"),
        (json!(0), "1970-01-01T00:00:00.000Z"),
    ] {
        assert_eq!(to_timestamp(given.clone()).as_deref(), Ok(kept), "{given}");
    }
    for bad in [
        json!("yesterday"),
        json!("2026-11-21"),
        json!("2026-11-21T13:40:00"),
        json!("-000001-11-21T13:40:00Z"),
        json!(1.5),
        json!(u64::MAX),
        json!(null),
    ] {
        assert_eq!(
            to_timestamp(bad.clone()).unwrap_err().at.as_deref(),
            Some("/metadata/built_at"),
            "{bad}"
        );
    }
}

#[test]
fn values_are_of_their_types() {
    let schema = devices();
    let good = [
        json!({"owner": "äöüß"}),
        json!({"tags": ["a", "abc"]}),
        json!({"tags": []}),
        json!({"position": {"lat": -90, "lon": 180.0}}),
        json!({"battery": 1}),
        json!({"battery": 0.25}),
        json!({"port": 5.0}),
        json!({"port": u64::MAX}),
        json!({"armed": false}),
    ];
    let bad = [
        (json!({"owner": "abcde"}), "/owner", "must have at most 4 characters (got 5)"),
        (json!({"owner": null}), "/owner", "must be a string (got null)"),
        (json!({"status": "onlin"}), "/status", "did you mean `online`?"),
        (json!({"status": 1}), "/status", "must be a string (got a number)"),
        (json!({"tags": ["a", "b", "c"]}), "/tags", "must have at most 2 elements (got 3)"),
        (json!({"tags": ["a", "abcd"]}), "/tags/1", "at most 3 characters"),
        (json!({"tags": [1]}), "/tags/0", "must be a string"),
        (json!({"tags": "a"}), "/tags", "must be an array"),
        (json!({"position": {"lat": 91, "lon": 0}}), "/position", "-90 to 90"),
        (json!({"position": {"lat": 1}}), "/position", "`lon`"),
        (json!({"position": {"lat": 1, "lon": 2, "alt": 3}}), "/position", "nothing else"),
        (json!({"position": [1, 2]}), "/position", "must be an object"),
        (json!({"battery": "1"}), "/battery", "must be a number"),
        (json!({"port": 5.5}), "/port", "must be an integer of at most 64 bits (got 5.5)"),
        (json!({"port": 1e300}), "/port", "64 bits"),
        (json!({"armed": 0}), "/armed", "must be true or false"),
        (json!({"place": {}}), "/place/floor", "is required"),
        (json!({"place": {"floor": 1, "flor": 1}}), "", ""),
        (json!({"porrt": 1}), "/porrt", "unknown field `porrt`, did you mean `port`?"),
    ];
    for metadata in good {
        let whole = with_owner(metadata);
        assert_eq!(apply(&schema, whole.clone()).map(|_| ()), Ok(()), "{whole}");
    }
    for (metadata, at, message) in bad {
        let whole = with_owner(metadata);
        match apply(&schema, whole.clone()) {
            // Nested objects are open unless they say otherwise.
            Ok(_) => assert_eq!(at, "", "{whole}"),
            Err(error) => {
                assert_eq!(error.code, Code::InvalidMetadata);
                assert_eq!(error.at, Some(format!("/metadata{at}")), "{whole}: {error}");
                assert!(error.message.contains(message), "{whole}: {error}");
            }
        }
    }
}

fn with_owner(metadata: Value) -> Value {
    let mut whole = json!({"owner": "ada"});
    let object_fields = metadata.as_object().expect("an object").clone();
    whole.as_object_mut().expect("an object").extend(object_fields);
    whole
}

#[test]
fn all_faults_are_told_at_once() {
    let error = apply(&devices(), json!({"tags": [1, 2], "port": "x"})).unwrap_err();
    assert_eq!(error.at.as_deref(), Some("/metadata/owner"));
    assert_eq!(
        error.message,
        "is required; also /metadata/port: must be an integer (got a string); also \
         /metadata/tags/0: must be a string (got a number); also /metadata/tags/1: must be a \
         string (got a number)"
    );
    let open = json!({"fields": {"n": {"type": "array", "items": {"type": "bool"}}}});
    let many = apply(&Schema::parse(&open).unwrap(), json!({"n": vec![0; 30]})).unwrap_err();
    assert!(many.message.ends_with("; and 20 more"), "{many}");
    assert_eq!(many.message.matches("/metadata/n/").count(), 9);
}

#[test]
fn what_a_schema_does_not_name_is_free_unless_it_says_otherwise() {
    let open = Schema::parse(&json!({"fields": {}})).unwrap();
    assert!(apply(&open, json!({"anything": [1]})).is_ok());
    let closed = Schema::parse(&json!({"fields": {}, "additional": false})).unwrap();
    let error = apply(&closed, json!({"any/thing": [1]})).unwrap_err();
    assert_eq!(error.at.as_deref(), Some("/metadata/any~1thing"));
}

#[test]
fn indexes_are_paths_as_filters_write_them() {
    assert_eq!(devices().indexes(), ["place.floor", "place.x\\.y", "seen_at", "status"]);
    for path in devices().indexes() {
        assert!(Path::read(&path).is_ok(), "{path}");
    }
}

/// A schema with this one field.
fn one(field: Value) -> Value {
    json!({"fields": {"f": field}})
}

fn assert_refused(schema: &Value, at: &str, message: &str) {
    let error = Schema::parse(schema).expect_err(&schema.to_string());
    assert_eq!(error.code, Code::InvalidSchema);
    assert_eq!(error.at.as_deref(), Some(at), "{schema}: {error}");
    assert!(error.message.contains(message), "{schema}: {error}");
}

#[test]
fn schemas_that_cannot_hold_are_refused() {
    let cases = [
        (json!([]), "", "an object"),
        (json!({}), "", "`fields`"),
        (json!({"fields": []}), "/fields", "an object"),
        (json!({"fields": {}, "aditional": true}), "/aditional", "did you mean `additional`?"),
        (json!({"fields": {}, "additional": 1}), "/additional", "true or false"),
        (json!({"fields": {"": {"type": "bool"}}}), "/fields/", "must not be empty"),
        (one(json!("bool")), "/fields/f", "an object with a `type`"),
        (one(json!({})), "/fields/f", "needs a `type`"),
        (one(json!({"type": "strng"})), "/fields/f/type", "did you mean `string`?"),
        (one(json!({"type": "bool", "requird": true})), "/fields/f/requird", "`required`?"),
        (one(json!({"type": "bool", "required": "yes"})), "/fields/f/required", "true or false"),
        (one(json!({"type": "bool", "max_length": 3})), "/fields/f/max_length", "unknown word"),
        (one(json!({"type": "string", "max_length": -1})), "/fields/f/max_length", "whole number"),
        (one(json!({"type": "bool", "default": 1})), "/fields/f/default", "true or false"),
        (one(json!({"type": "timestamp", "auto": "later"})), "/fields/f/auto", "`now`"),
        (one(json!({"type": "bool", "auto": "now"})), "/fields/f/auto", "unknown word"),
        (
            one(json!({"type": "timestamp", "auto": "now", "default": 0})),
            "/fields/f/default",
            "either",
        ),
        (one(json!({"type": "enum"})), "/fields/f/values", "needs `values`"),
        (one(json!({"type": "enum", "values": []})), "/fields/f/values", "needs `values`"),
        (one(json!({"type": "enum", "values": [1]})), "/fields/f/values", "strings"),
        (
            one(json!({"type": "enum", "values": ["a"], "default": "b"})),
            "/fields/f/default",
            "unknown value",
        ),
        (one(json!({"type": "array"})), "/fields/f", "needs `items`"),
        (one(json!({"type": "array", "items": {}})), "/fields/f/items", "`type`"),
        (
            one(json!({"type": "array", "items": {"type": "bool", "index": true}})),
            "/fields/f/items",
            "cannot be indexed",
        ),
        (
            one(json!({"type": "array", "items": {"type": "bool", "default": true}})),
            "/fields/f/items/default",
            "unknown word",
        ),
        (one(json!({"type": "geo_point", "index": true})), "/fields/f/index", "unknown word"),
    ];
    for (schema, at, message) in cases {
        assert_refused(&schema, at, message);
    }
    let two = json!({"fields": {"a": {"type": "x"}, "b": {}}});
    assert_refused(&two, "/fields/a/type", "; also /fields/b: needs a `type`");
}

#[test]
fn schemas_are_bounded() {
    let many = |count: usize, field: Value| {
        let fields: Map<String, Value> =
            (0..count).map(|number| (format!("f{number:03}"), field.clone())).collect();
        json!({"fields": fields})
    };
    let indexed = json!({"type": "bool", "index": true});
    let plain = json!({"type": "bool"});
    let nested = |depth: usize| {
        (1..depth).fold(plain.clone(), |inner, _| json!({"type": "object", "fields": {"f": inner}}))
    };
    for good in [many(16, indexed.clone()), many(256, plain.clone()), one(nested(8))] {
        assert!(Schema::parse(&good).is_ok(), "{good}");
    }
    assert_refused(&many(17, indexed), "/fields/f016/index", "at most 16");
    assert_refused(&many(257, plain.clone()), "/fields/f256", "at most 256");
    assert_refused(&one(nested(9)), &"/fields/f".repeat(9), "8 deep");
    assert_refused(&one(nested(40)), "", "nest at most 32 deep");
    let large = json!({"type": "string", "default": "x".repeat(65_536)});
    assert_refused(&one(large), "", "at most 65536 bytes");
}

#[test]
fn metadata_are_bounded_before_anything_else() {
    let metadata = |value: Value| json!({ "m": value }).as_object().expect("an object").clone();
    assert_eq!(check_size(&metadata(json!("äb")), 11), Ok(()));
    let error = check_size(&metadata(json!("äb")), 10).unwrap_err();
    assert_eq!(error.message, "metadata must have at most 10 bytes (got 11)");
    let nested = |levels: usize| (1..levels).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(check_size(&metadata(nested(16)), 1_000), Ok(()));
    let error = check_size(&metadata(nested(17)), 1_000).unwrap_err();
    assert_eq!((error.code, error.at.as_deref()), (Code::InvalidMetadata, Some("/metadata")));
}
