//! Random writes and searches against a model that shares no line with the index.

use std::collections::BTreeMap;

use super::*;

type Model = BTreeMap<String, (Vec<f32>, Map<String, Value>)>;

use serde_json::Map;

/// Cosine in double precision.
fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    dot(one, other) / (dot(one, one) * dot(other, other)).sqrt()
}

fn admits(number: usize, row: &Map<String, Value>) -> bool {
    match number {
        0 => true,
        1 => row["city"] == 3,
        2 => row["odd"] == true,
        3 => row["skills"].as_array().unwrap().contains(&json!("s-4")),
        _ => row["city"].as_u64().unwrap() >= 8 && row["odd"] == false,
    }
}

fn filter(number: usize) -> Option<Value> {
    [
        None,
        Some(json!({"city": 3})),
        Some(json!({"odd": true})),
        Some(json!({"skills.contains": "s-4"})),
        Some(json!({"city.gte": 8, "not": {"odd": true}})),
    ][number]
        .clone()
}

/// Holds an answer against the model; how many of the nearest it has.
fn check(found: &Found, model: &Model, question: &Query, number: usize) -> (usize, usize) {
    let mut scores: Vec<f64> = model
        .values()
        .filter(|(_, row)| admits(number, row))
        .map(|(vector, _)| cosine(vector, &question.vector))
        .collect();
    scores.sort_by(|one, other| other.total_cmp(one));
    let wanted = question.k.min(scores.len());
    assert_eq!(found.nearest.len(), wanted, "filter {number}");
    assert_eq!(found.size, model.len() as u64);
    let mut hits = 0;
    for near in &found.nearest {
        let (vector, row) = &model[&*near.id];
        assert!(admits(number, row), "{}", near.id);
        let exact = cosine(vector, &question.vector);
        assert!((f64::from(near.score) - exact).abs() < 1e-5, "{} {exact}", near.score);
        hits += usize::from(exact >= scores[wanted - 1] - 1e-6);
    }
    let in_order = |one: &Near, other: &Near| {
        one.score > other.score || one.score == other.score && one.id < other.id
    };
    assert!(found.nearest.is_sorted_by(in_order));
    if found.exact {
        assert_eq!(hits, wanted);
    }
    (hits, wanted)
}

fn change(source: &mut Xoshiro256PlusPlus, model: &mut Model, names: u64) -> Batch {
    let mut batch = Batch { drop: source.next_u64().is_multiple_of(400), ..Batch::default() };
    if batch.drop {
        model.clear();
    }
    for _ in 0..source.next_u64() % 8 {
        let id = format!("i-{}", source.next_u64() % names);
        let (city, skill) = (source.next_u64() % 10, source.next_u64() % 12);
        let skills = [format!("s-{skill}"), format!("s-{}", skill / 2)];
        let odd = source.next_u64().is_multiple_of(2);
        let attributes = json!({"city": city, "odd": odd, "skills": skills});
        let vector = match (source.next_u64() % 5, model.values().next()) {
            (0, Some((vector, _))) => vector.clone(),
            _ => vector(source),
        };
        let row = entry(&id, vector, attributes);
        model.insert(id, (row.vector.clone(), row.attributes.clone()));
        batch.rows.push(row);
    }
    for _ in 0..source.next_u64() % 3 {
        let id = format!("i-{}", source.next_u64() % names);
        model.remove(&id);
        batch.delete.push(id);
    }
    batch
}

/// Exact and graph searches, with and without filters, while rows come, change and go, and while
/// the graph is made anew. Short form: 3 seeds; `PROOFLOAD_PROOF=1`: 40.
#[test]
fn answers_are_those_of_a_naive_loop() {
    let is_long = std::env::var_os("PROOFLOAD_PROOF").is_some();
    let (mut hits, mut wanted) = (0, 0);
    for seed in 0..if is_long { 40 } else { 3 } {
        let mut source = source(seed);
        let below = [0, 300, u64::MAX][seed as usize % 3];
        let index = Local::open(Settings { rebuild_share: 0.05, ..settings(below) }).unwrap();
        let mut model = Model::new();
        for turn in 1..=1_200 {
            let batch = change(&mut source, &mut model, 900);
            let written = write(&index, batch);
            assert_eq!((written.size, written.sequence), (model.len() as u64, turn));
            let number = source.next_u64() as usize % 5;
            let k = 1 + source.next_u64() as usize % 30;
            let mut question = query(vector(&mut source), k);
            question.exact = source.next_u64().is_multiple_of(4);
            question.filter = filter(number);
            if model.values().any(|(_, row)| !row.is_empty()) {
                let found = find(&index, question.clone());
                let (good, all) = check(&found, &model, &question, number);
                (hits, wanted) = (hits + good, wanted + all);
            }
        }
    }
    let recall = hits as f64 / wanted as f64;
    assert!(recall >= 0.97, "{recall}");
}

/// Rows are replaced until most of the graph is of rows that are gone: it is made anew, and what
/// was written meanwhile is in it.
#[test]
fn a_graph_is_made_anew_and_loses_no_write() {
    let index = Local::open(Settings { rebuild_share: 0.2, ..settings(0) }).unwrap();
    let first = Arc::downgrade(&index.shared.front.now().generation);
    let mut source = source(5);
    let mut model = Model::new();
    let mut turns = 0;
    while first.upgrade().is_some() {
        write(&index, change(&mut source, &mut model, 700));
        turns += 1;
        assert!(turns < 100_000, "nothing was made anew");
    }
    for _ in 0..50 {
        write(&index, change(&mut source, &mut model, 700));
        let question = query(vector(&mut source), 10);
        check(&find(&index, question.clone()), &model, &question, 0);
        let now = index.shared.front.now();
        assert!(f64::from(now.slots) < 10.0 * (now.size as f64 + 1_000.0));
    }
    let mut question = query(vector(&mut source), 10_000);
    question.exact = true;
    check(&find(&index, question.clone()), &model, &question, 0);
}
