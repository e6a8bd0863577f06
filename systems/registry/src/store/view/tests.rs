use serde_json::{Value, json};

use super::*;
use crate::fault::Code;
use crate::filter::Bounds;
use crate::query::SortKey;

fn identity(name: &str, metadata: Value, expires_at: Option<Millis>) -> Arc<Identity> {
    let metadata = metadata.as_object().expect("an object").clone();
    Arc::new(Identity { name: name.into(), metadata, registered_at: 0, expires_at })
}

fn everybody(limit: usize) -> Query {
    let filter = Filter::parse(&Value::Null, Bounds::default()).unwrap();
    Query { filter, sort_by: Vec::new(), limit, cursor: None }
}

fn names(page: &Page) -> Vec<&str> {
    page.identities.iter().map(|identity| &*identity.name).collect()
}

#[test]
fn a_name_is_held_once() {
    let mut view = View::new(&[]);
    view.put(identity("a", json!({"n": 1}), None));
    view.put(identity("a", json!({"n": 2}), Some(10)));
    assert_eq!(view.len(), 1);
    assert_eq!(view.get("a", 9).unwrap().metadata["n"], 2);
    assert_eq!(view.remove("a").unwrap().metadata["n"], 2);
    assert_eq!(view.remove("a"), None);
    assert!(view.is_empty());
}

#[test]
fn who_has_expired_is_not_found_and_goes_once() {
    let mut view = View::new(&[]);
    for (name, end) in [("a", Some(20)), ("b", Some(10)), ("c", None), ("d", Some(10))] {
        view.put(identity(name, json!({}), end));
    }
    assert_eq!((view.len_alive(9), view.len_alive(10), view.len_alive(20)), (4, 2, 1));
    assert!(view.get("b", 9).is_some() && view.get("b", 10).is_none());
    assert_eq!(view.targets(&everybody(1).filter, 10).len(), 2);
    assert_eq!(names(&view.find(&everybody(9), 10).unwrap()), ["a", "c"]);
    assert_eq!(view.len(), 4);
    assert_eq!(view.expire(9), []);
    assert_eq!(view.expire(19), ["b".into(), "d".into()]);
    assert_eq!(view.expire(20), ["a".into()]);
    assert_eq!(view.len(), 1);
}

#[test]
fn a_renewed_identity_lives_on() {
    let mut view = View::new(&[]);
    view.put(identity("a", json!({}), Some(10)));
    view.put(identity("a", json!({}), Some(30)));
    assert_eq!(view.expire(10), []);
    assert_eq!(view.expire(30), ["a".into()]);
}

#[test]
fn pages_follow_one_another() {
    let mut view = View::new(&[]);
    for name in ["c", "a", "e", "b", "d"] {
        view.put(identity(name, json!({}), None));
    }
    let first = view.find(&everybody(2), 0).unwrap();
    assert_eq!((names(&first), first.total_count), (vec!["a", "b"], 5));
    view.remove("b");
    view.put(identity("ab", json!({}), None));
    view.put(identity("cc", json!({}), None));
    let second = view.find(&Query { cursor: first.next_cursor, ..everybody(2) }, 0).unwrap();
    assert_eq!((names(&second), second.total_count), (vec!["c", "cc"], 6));
    let third = view.find(&Query { cursor: second.next_cursor, ..everybody(2) }, 0).unwrap();
    assert_eq!((names(&third), third.next_cursor.is_some()), (vec!["d", "e"], false));
    let counted = view.find(&everybody(0), 0).unwrap();
    assert_eq!((counted.total_count, counted.identities.len(), counted.next_cursor), (6, 0, None));
}

#[test]
fn orders_have_keys_and_directions() {
    let mut view = View::new(&[]);
    let all = [
        ("a", json!({"n": 2}), Some(5)),
        ("b", json!({"n": 10.0}), None),
        ("c", json!({"n": "x"}), Some(9)),
        ("d", json!({}), Some(7)),
        ("e", json!({"n": 2.0}), Some(5)),
        ("f", json!({"n": [1]}), Some(5)),
        ("g", json!({"n": null}), Some(5)),
    ];
    for (name, metadata, end) in all {
        view.put(identity(name, metadata, end));
    }
    let sorted = |keys: &[&str]| {
        let sort_by: Vec<SortKey> = keys.iter().map(|key| key.parse().unwrap()).collect();
        let mut query = Query { sort_by, ..everybody(2) };
        let mut all = String::new();
        loop {
            let page = view.find(&query, 0).unwrap();
            all.extend(names(&page));
            assert_eq!(page.total_count, 7);
            match page.next_cursor {
                Some(cursor) => query.cursor = Some(cursor),
                None => return all,
            }
        }
    };
    assert_eq!(sorted(&["metadata.n"]), "dgaebcf");
    assert_eq!(sorted(&["metadata.n desc"]), "fcbaegd");
    assert_eq!(sorted(&["expires_at", "identity desc"]), "gfeadcb");
    assert_eq!(sorted(&["expires_at desc"]), "bcdaefg");
    assert_eq!(sorted(&["registered_at asc"]), "abcdefg");
}

#[test]
fn a_cursor_is_bound_to_filter_and_order() {
    let mut view = View::new(&[]);
    for name in ["a", "b", "c"] {
        view.put(identity(name, json!({}), None));
    }
    let cursor = view.find(&everybody(1), 0).unwrap().next_cursor.unwrap();
    let fault = |query: Query| view.find(&query, 0).unwrap_err();
    let sort_by = vec!["identity desc".parse().unwrap()];
    let foreign = fault(Query { sort_by, cursor: Some(cursor.clone()), ..everybody(1) });
    assert_eq!((foreign.code, foreign.at.as_deref()), (Code::InvalidCursor, Some("/cursor")));
    for at in 0..cursor.len() {
        let mut bytes = cursor.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let tampered = String::from_utf8(bytes).unwrap();
        let fault = fault(Query { cursor: Some(tampered), ..everybody(1) });
        assert_eq!(fault.code, Code::InvalidCursor, "byte {at}");
    }
    for bad in ["", "nonsense", "%%%", "AAAAAAAAAAAAAAAAAAAAAAAA"] {
        let fault = fault(Query { cursor: Some(bad.into()), ..everybody(1) });
        assert_eq!(fault.code, Code::InvalidCursor, "{bad}");
    }
}

#[test]
fn an_order_that_there_is_not_is_told_with_its_place() {
    let view = View::new(&[]);
    let fault = |fields: &[&str]| {
        let key = |field: &&str| SortKey { field: (*field).into(), is_descending: false };
        let sort_by = fields.iter().map(key).collect();
        view.find(&Query { sort_by, ..everybody(1) }, 0).unwrap_err()
    };
    assert_eq!(fault(&["identity", "created_at"]).at.as_deref(), Some("/sort_by/1"));
    assert_eq!(fault(&["metadata."]).at.as_deref(), Some("/sort_by/0"));
    assert_eq!(fault(&["identity"; 9]).at.as_deref(), Some("/sort_by"));
    assert!("identity down".parse::<SortKey>().is_err());
}
