use std::collections::HashSet;

use hnsw::{Graph, Shape};

use super::*;
use crate::embed::hashed::Hashed;

/// Of queries that were planted, how many do not find their row first, and by how much the closest of the others
/// comes after it.
fn planted(rows_there: u64, count: u64) -> (u64, f32) {
    let hashed = Hashed::new(256, 0).unwrap();
    // It is compiled with optimisation, and multiplies as the service does. Nothing is linked.
    let all = Graph::new(Shape { dimension: 256, m: 2, ef_construction: 1 });
    for (row, node) in rows(SEED, 0..rows_there).zip(0..) {
        all.put(node, hashed.vector(&row.text).unwrap().into());
    }
    let (mut missed, mut closest) = (0, f32::MAX);
    for planted in queries(SEED, count, rows_there) {
        let query = hashed.vector(&planted.query).unwrap();
        let number: u32 = planted.id[2..].parse().unwrap();
        let score = |row| all.score(row, &query).unwrap();
        let own = score(number);
        let others = (0..rows_there as u32).filter(|other| *other != number);
        let best = others.map(score).fold(f32::MIN, f32::max);
        missed += u64::from(best >= own);
        closest = closest.min(own - best);
    }
    (missed, closest)
}

#[test]
fn a_planted_row_is_the_nearest_of_all() {
    let mut sizes = vec![(200, 1_000), (10_000, 1_000)];
    if std::env::var_os("PROOFLOAD_PROOF").is_some() {
        sizes.extend([(100_000, 1_000), (1_000_000, 200)]);
    }
    for (rows_there, count) in sizes {
        let (missed, closest) = planted(rows_there, count);
        println!("{rows_there} rows: {missed} of {count} missed, the closest by {closest}");
        assert_eq!(missed, 0);
    }
}

#[test]
fn a_row_is_the_same_however_many_there_are() {
    let many: Vec<Row> = rows(7, 0..300).collect();
    let few: Vec<Row> = rows(7, 17..18).collect();
    assert_eq!(few[0], many[17]);
    assert_ne!(rows(8, 17..18).next().unwrap().text, few[0].text, "the seed does not count");
}

#[test]
fn row_17_of_seed_7_is_for_ever_this_one() {
    let row = row(7, 17);
    assert_eq!(row.id, "w-0000017");
    assert_eq!(
        row.text,
        "45HPT, Edmonton, Maria Taylor, notice_days 11, rate 39.5, phlebotomist, split shift, \
         electronic charts, appointment booking, years 27"
    );
    let metadata = serde_json::to_string(&row.metadata).unwrap();
    assert_eq!(
        metadata,
        r#"{"badge":"45HPT","certificates":[],"city":"Edmonton","name":"Maria Taylor","notice_days":11,"rate":39.5,"role":"phlebotomist","shift":"split shift","skills":["electronic charts","appointment booking"],"years":27}"#
    );
}

#[test]
fn rows_can_be_taken_in() {
    for row in rows(1, 0..1_000) {
        let read = Row::read(&serde_json::to_vec(&row).unwrap()).unwrap();
        assert_eq!(read, row);
    }
}

#[test]
fn no_two_badges_are_alike() {
    let badges: HashSet<String> = (0..MOST).map(|number| badge(3, number)).collect();
    assert_eq!(badges.len() as u64, MOST);
    assert!(badges.iter().all(|badge| badge.len() == 5));
}

#[test]
fn no_two_queries_are_alike() {
    // More than there are rows, and more than there are choices of words.
    let planted: Vec<PlantedQuery> = queries(7, 10_000, 200).collect();
    let texts: HashSet<&String> = planted.iter().map(|planted| &planted.query).collect();
    assert_eq!(texts.len(), 10_000);
    for row in rows(7, 0..200) {
        let asked = planted.iter().filter(|planted| planted.id == row.id).count();
        assert_eq!(asked, 50, "{}", row.id);
    }
    let free: HashSet<String> = free(7, 600_000).collect();
    assert_eq!(free.len(), 600_000);
}

#[test]
fn rows_take_turns_whatever_their_number() {
    for rows in [0, 1, 2, 7, 200, 1_000_000] {
        let first: HashSet<String> = queries(9, rows, rows).map(|planted| planted.id).collect();
        assert_eq!(first.len() as u64, rows);
    }
    assert_eq!(queries(9, 3, 0).count(), 3);
}

#[test]
fn other_seeds_ask_otherwise() {
    assert_ne!(queries(1, 50, 200).collect::<Vec<_>>(), queries(2, 50, 200).collect::<Vec<_>>());
    assert_ne!(free(1, 50).collect::<Vec<_>>(), free(2, 50).collect::<Vec<_>>());
}

#[test]
fn the_queries_of_the_experiments_are_these() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/data/staffing-queries.csv");
    let mut table = csv::Reader::from_path(path).unwrap();
    assert_eq!(table.headers().unwrap(), vec!["query", "id"]);
    let there: Vec<(String, String)> = table.deserialize().map(Result::unwrap).collect();
    let made = queries(SEED, 2_000, 200).map(|planted| (planted.query, planted.id));
    let how = "written by `cargo run -p search --example queries > experiments/data/staffing-queries.csv`";
    assert!(there == made.collect::<Vec<_>>(), "{path} is stale; it is {how}");
}
