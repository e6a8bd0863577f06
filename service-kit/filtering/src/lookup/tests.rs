use serde_json::json;

use super::*;
use crate::Bounds;

fn document(value: Value) -> Map<String, Value> {
    json!({"skills": value}).as_object().expect("an object").clone()
}

fn found(lookup: &Lookup, filter: Value) -> Option<Vec<Slot>> {
    let filter = Filter::parse(&filter, Bounds::default()).expect("a filter");
    let mut slots = lookup.candidates(&filter, 1_000)?;
    slots.sort_unstable();
    Some(slots)
}

#[test]
fn elements_of_arrays_are_found_and_texts_that_contain_the_same() {
    let documents = [
        json!(["forklift", "cnc"]),
        json!(["cnc", "cnc", 7]),
        json!("forklift licence"),
        json!([["forklift"], {"cnc": 1}]),
        json!("cnc"),
    ]
    .map(document);
    let mut lookup = Lookup::default();
    let fields = BTreeSet::from([Path::read("skills").expect("a path")]);
    let all = |count: usize| documents[..count].iter().zip(0..);
    lookup.reindex(&fields, all(2));
    assert_eq!(found(&lookup, json!({"skills.contains": "forklift"})), Some(vec![0]));
    assert_eq!(found(&lookup, json!({"skills.contains": "cnc"})), Some(vec![0, 1]));
    assert_eq!(found(&lookup, json!({"skills.contains": 7.0})), Some(vec![1]));
    assert_eq!(found(&lookup, json!({"skills.contains": "lift"})), Some(vec![]));
    assert_eq!(found(&lookup, json!({"skills.contains": [1]})), None);
    for (document, slot) in all(5).skip(2) {
        lookup.insert(document, slot);
    }
    assert_eq!(found(&lookup, json!({"skills.contains": "forklift"})), Some(vec![0, 2, 4]));
    // An element is no value of the field.
    assert_eq!(found(&lookup, json!({"skills": "cnc"})), Some(vec![4]));
    assert_eq!(found(&lookup, json!({"skills.gte": "a"})), Some(vec![2, 4]));
    assert_eq!(found(&lookup, json!({"skills.startswith": ""})), Some(vec![2, 4]));
    for (document, slot) in all(5).skip(1) {
        lookup.remove(document, slot);
    }
    assert_eq!(found(&lookup, json!({"skills.contains": "cnc"})), Some(vec![0]));
}
