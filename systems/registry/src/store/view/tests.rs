use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};

use super::*;
use crate::api_error::Code;
use crate::query::SortKey;
use filtering::Bounds;

fn identity(name: &str, metadata: Value, expires_at: Option<Millis>) -> Arc<Identity> {
    let metadata = metadata.as_object().expect("an object").clone();
    Arc::new(Identity { name: name.into(), metadata, registered_at: 0, expires_at })
}

fn all_identities(limit: usize) -> Query {
    let filter = Filter::parse(&Value::Null, Bounds::default()).unwrap();
    Query { filter, sort_by: Vec::new(), limit, cursor: None }
}

fn names(page: &Page) -> Vec<&str> {
    page.identities.iter().map(|identity| &*identity.name).collect()
}

fn gone(view: &mut View, now: Millis) -> Vec<String> {
    view.expire(now).iter().map(ToString::to_string).collect()
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
    assert_eq!(view.targets(&all_identities(1).filter, 10).len(), 2);
    assert_eq!(names(&view.find(&all_identities(9), 10).unwrap()), ["a", "c"]);
    assert_eq!(view.len(), 4);
    let due: Vec<String> = view.expired(19).iter().map(ToString::to_string).collect();
    assert_eq!(due, ["b", "d"]);
    assert_eq!(gone(&mut view, 9), [""; 0]);
    assert_eq!(gone(&mut view, 19), ["b", "d"]);
    assert_eq!(gone(&mut view, 20), ["a"]);
    assert_eq!(view.len(), 1);
}

#[test]
fn a_renewed_identity_lives_on() {
    let mut view = View::new(&[]);
    view.put(identity("a", json!({}), Some(10)));
    view.put(identity("a", json!({}), Some(30)));
    assert_eq!(gone(&mut view, 10), [""; 0]);
    assert_eq!(gone(&mut view, 30), ["a"]);
}

#[test]
fn pages_follow_one_another() {
    let mut view = View::new(&[]);
    for name in ["c", "a", "e", "b", "d"] {
        view.put(identity(name, json!({}), None));
    }
    let first = view.find(&all_identities(2), 0).unwrap();
    assert_eq!((names(&first), first.total_count), (vec!["a", "b"], 5));
    view.remove("b");
    view.put(identity("ab", json!({}), None));
    view.put(identity("cc", json!({}), None));
    let second = view.find(&Query { cursor: first.next_cursor, ..all_identities(2) }, 0).unwrap();
    assert_eq!((names(&second), second.total_count), (vec!["c", "cc"], 6));
    let third = view.find(&Query { cursor: second.next_cursor, ..all_identities(2) }, 0).unwrap();
    assert_eq!((names(&third), third.next_cursor.is_some()), (vec!["d", "e"], false));
    let counted = view.find(&all_identities(0), 0).unwrap();
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
        let mut query = Query { sort_by, ..all_identities(2) };
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
    let cursor = view.find(&all_identities(1), 0).unwrap().next_cursor.unwrap();
    let error = |query: Query| view.find(&query, 0).unwrap_err();
    let sort_by = vec!["identity desc".parse().unwrap()];
    let foreign = error(Query { sort_by, cursor: Some(cursor.clone()), ..all_identities(1) });
    assert_eq!((foreign.code, foreign.at.as_deref()), (Code::InvalidCursor, Some("/cursor")));
    for at in 0..cursor.len() {
        let mut bytes = cursor.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let tampered = String::from_utf8(bytes).unwrap();
        let error = error(Query { cursor: Some(tampered), ..all_identities(1) });
        assert_eq!(error.code, Code::InvalidCursor, "byte {at}");
    }
    for bad in ["", "nonsense", "%%%", "AAAAAAAAAAAAAAAAAAAAAAAA"] {
        let error = error(Query { cursor: Some(bad.into()), ..all_identities(1) });
        assert_eq!(error.code, Code::InvalidCursor, "{bad}");
    }
}

#[test]
fn an_order_that_there_is_not_is_told_with_its_place() {
    let view = View::new(&[]);
    let error = |fields: &[&str]| {
        let key = |field: &&str| SortKey { field: (*field).into(), is_descending: false };
        let sort_by = fields.iter().map(key).collect();
        view.find(&Query { sort_by, ..all_identities(1) }, 0).unwrap_err()
    };
    assert_eq!(error(&["identity", "created_at"]).at.as_deref(), Some("/sort_by/1"));
    assert_eq!(error(&["metadata."]).at.as_deref(), Some("/sort_by/0"));
    assert_eq!(error(&["identity"; 9]).at.as_deref(), Some("/sort_by"));
    assert!("identity down".parse::<SortKey>().is_err());
}

fn filter(json: Value) -> Filter {
    Filter::parse(&json, Bounds::default()).unwrap()
}

/// This many identities in groups of ten, with a serial number and half of them online.
fn fleet(count: u64) -> View {
    let indexes = ["serial", "group", "status", "place.floor"].map(str::to_owned);
    let mut view = View::new(&indexes);
    for number in 0..count {
        let status = if number % 2 == 0 { "online" } else { "offline" };
        let metadata = json!({
            "serial": format!("s-{number:06}"), "group": number / 10, "status": status,
            "place": {"floor": number % 7}, "plain": number,
        });
        view.put(identity(&format!("i-{number}"), metadata, None));
    }
    view
}

/// Number of identities on which a filter would be evaluated; `None` for all.
fn looked_at(view: &View, json: Value) -> Option<usize> {
    let filter = filter(json);
    let slots = view.lookup.candidates(&filter, view.len())?;
    let distinct: BTreeSet<&Slot> = slots.iter().collect();
    assert_eq!(distinct.len(), slots.len(), "somebody is looked at twice");
    Some(slots.len())
}

#[test]
fn only_the_smallest_indexed_set_is_looked_at() {
    for count in [1_000, 20_000] {
        let view = fleet(count);
        let looked_at = |json| looked_at(&view, json);
        assert_eq!(looked_at(json!({"group": 7})), Some(10));
        assert_eq!(looked_at(json!({"group": 7.0, "serial.gte": "s-", "plain.lt": 9})), Some(10));
        assert_eq!(looked_at(json!({"group": 0, "serial": "s-000001"})), Some(1));
        assert_eq!(looked_at(json!({"serial": "s-000001", "group": 0})), Some(1));
        assert_eq!(looked_at(json!({"serial.startswith": "s-00001"})), Some(10));
        assert_eq!(looked_at(json!({"serial.in": ["s-000001", "s-000002", "x"]})), Some(2));
        assert_eq!(looked_at(json!({"$or": [{"group": 1}, {"serial": "s-000012"}]})), Some(10));
        assert_eq!(looked_at(json!({"$and": [{"status": "online"}, {"group": 1}]})), Some(10));
        assert_eq!(looked_at(json!({"place.floor": 8})), Some(0));
        assert_eq!(looked_at(json!({"group.in": []})), Some(0));
        assert_eq!(looked_at(json!({"place.floor": 6})), Some(count as usize / 7));
        // Filters that an index cannot help.
        assert_eq!(looked_at(json!({})), None);
        assert_eq!(looked_at(json!({"serial.gte": "s-"})), None);
        assert_eq!(looked_at(json!({"plain": 3})), None);
        assert_eq!(looked_at(json!({"group.ne": 3})), None);
        assert_eq!(looked_at(json!({"not": {"group": 3}})), None);
        assert_eq!(looked_at(json!({"$or": [{"group": 1}, {"plain": 3}]})), None);
        assert_eq!(looked_at(json!({"place": {"floor": 3}})), None);
    }
}

#[test]
fn indexes_can_be_changed() {
    let mut view = fleet(100);
    view.reindex(&["plain".into(), "group".into(), "..".into(), "group".into()]);
    assert_eq!(looked_at(&view, json!({"plain": 3})), Some(1));
    assert_eq!(looked_at(&view, json!({"group": 3})), Some(10));
    assert_eq!(looked_at(&view, json!({"serial": "s-000001"})), None);
    view.put(identity("i-3", json!({"plain": [3]}), None));
    assert_eq!(looked_at(&view, json!({"plain": 3})), Some(0));
    view.remove("i-31");
    assert_eq!(view.targets(&filter(json!({"group": 3})), 0).len(), 9);
    assert_eq!(view.targets(&filter(json!({"plain.lte": 3})), 0).len(), 3);
}

#[test]
fn long_texts_are_told_apart_though_their_keys_are_not() {
    let mut view = View::new(&["text".into()]);
    let starts = ["a".repeat(47), "a".repeat(48), "a".repeat(60)];
    let tails = ["", "a", "b", "c", "é", "éa"];
    let texts: Vec<String> =
        starts.iter().flat_map(|start| tails.map(|tail| format!("{start}{tail}"))).collect();
    for (number, text) in texts.iter().enumerate() {
        view.put(identity(&number.to_string(), json!({"text": text}), None));
    }
    for number in 0..100 {
        view.put(identity(&format!("other-{number}"), json!({"text": "z"}), None));
    }
    let distinct: BTreeSet<&String> = texts.iter().collect();
    for bound in distinct {
        let found = |word: &str| view.targets(&filter(json!({format!("text.{word}"): bound})), 0);
        let count =
            |holds: &dyn Fn(&String) -> bool| texts.iter().filter(|text| holds(text)).count();
        assert_eq!(found("eq").len(), count(&|text| text == bound), "{bound}");
        assert_eq!(found("lt").len(), count(&|text| text < bound), "{bound}");
        assert_eq!(found("gt").len(), count(&|text| text > bound) + 100, "{bound}");
        assert_eq!(found("startswith").len(), count(&|text| text.starts_with(bound)), "{bound}");
    }
}

/// In a thousand rounds, identities change between pages: every identity that exists unchanged
/// throughout is on exactly one page.
#[test]
fn pages_neither_repeat_nor_skip_who_stays() {
    let orders: [&[&str]; 4] = [
        &[],
        &["metadata.n desc"],
        &["metadata.n", "identity desc"],
        &["expires_at", "metadata.n"],
    ];
    let mut source = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut below = |end: u64| source.next_u64() % end;
    for round in 0..1_000 {
        let mut view = View::new(&["n".into()]);
        let make = |number: u64, n: u64| {
            let end = (!number.is_multiple_of(3)).then_some(1_000 + number % 5);
            let n = if n == 0 { json!({"m": 1}) } else { json!({"n": n, "m": 1}) };
            identity(&format!("i-{number}"), n, end)
        };
        let mut stay = BTreeSet::new();
        for number in 0..40 {
            view.put(make(number, below(6)));
            stay.insert(format!("i-{number}"));
        }
        let sort_by = orders[round % 4].iter().map(|key| key.parse().unwrap()).collect();
        let filter = if round % 3 == 0 { Filter::default() } else { filter(json!({"m": 1})) };
        let mut query = Query { filter, sort_by, limit: 1 + below(9) as usize, cursor: None };
        let mut seen = Vec::new();
        loop {
            let page = view.find(&query, 0).unwrap();
            assert_eq!(page.total_count, view.len());
            assert!(page.identities.len() <= query.limit);
            seen.extend(names(&page).into_iter().map(str::to_owned));
            query.cursor = page.next_cursor;
            if query.cursor.is_none() {
                break;
            }
            for _ in 0..below(4) {
                let number = below(60);
                stay.remove(&format!("i-{number}"));
                match below(2) {
                    0 => view.put(make(number, below(6))),
                    _ => drop(view.remove(&format!("i-{number}"))),
                }
            }
        }
        for name in &stay {
            let times = seen.iter().filter(|seen| *seen == name).count();
            assert_eq!(times, 1, "{name} in round {round}: {seen:?}");
        }
    }
}
