//! What is promised about writes, searches and refusals.

use super::*;

#[test]
fn rows_are_found_replaced_deleted_and_forgotten() {
    for below in [0, 100] {
        let index = Local::open(settings(below)).unwrap();
        let at = |n: usize| (0..DIMENSION).map(|i| f32::from(u8::from(i == n))).collect::<Vec<_>>();
        let written = write(
            &index,
            rows(vec![
                entry("b", at(0), json!({})),
                entry("a", at(0), json!({})),
                entry("c", at(1), json!({})),
            ]),
        );
        assert_eq!(written, Written { size: 3, deleted: 0, sequence: 1 });
        let found = find(&index, query(at(0), 2));
        assert_eq!((ids(&found), found.size, found.sequence), (vec!["a", "b"], 3, 1));
        assert_eq!(found.nearest[0].score, 1.0);
        assert_eq!(found.exact, below > 0);
        assert_eq!(ids(&find(&index, query(at(0), 10))), ["a", "b", "c"]);

        let moved = rows(vec![entry("a", at(2), json!({})), entry("a", at(1), json!({}))]);
        assert_eq!(write(&index, moved), Written { size: 3, deleted: 0, sequence: 2 });
        assert_eq!(ids(&find(&index, query(at(1), 9))), ["a", "c", "b"]);

        let gone = Batch { delete: vec!["a".into(), "nobody".into()], ..Batch::default() };
        assert_eq!(write(&index, gone), Written { size: 2, deleted: 1, sequence: 3 });
        assert_eq!(ids(&find(&index, query(at(1), 9))), ["c", "b"]);

        let other = Batch { drop: true, ..rows(vec![entry("x", at(3), json!({}))]) };
        assert_eq!(write(&index, other), Written { size: 1, deleted: 0, sequence: 4 });
        assert_eq!(ids(&find(&index, query(at(0), 9))), ["x"]);
    }
}

#[test]
fn an_empty_index_answers() {
    for below in [0, 100] {
        let index = Local::open(settings(below)).unwrap();
        let mut question = query(vec![1.0; DIMENSION], 5);
        question.filter = Some(json!({"city": 1}));
        assert_eq!(find(&index, question).nearest, []);
    }
}

#[test]
fn what_does_not_fit_is_refused_at_its_place_and_nothing_of_it_is_taken() {
    let index = Local::open(Settings { max_rows: 3, ..settings(0) }).unwrap();
    let good = vec![1.0; DIMENSION];
    let with = |at: usize, number: f32| {
        let mut vector = good.clone();
        vector[at] = number;
        vector
    };
    let refused = |error: ApiError| (error.code, error.at.unwrap_or_default());
    for (vector, place) in [
        (with(3, f32::NAN), "/vector/3"),
        (with(0, f32::NEG_INFINITY), "/vector/0"),
        (vec![0.0; DIMENSION], "/vector"),
        (vec![1.0; DIMENSION + 1], "/vector"),
    ] {
        let error = wait(index.search(query(vector.clone(), 1))).unwrap_err();
        assert_eq!(refused(error), (Code::InvalidVector, place.to_owned()));
        let batch = rows(vec![entry("a", good.clone(), json!({})), entry("b", vector, json!({}))]);
        let error = wait(index.write(batch)).unwrap_err();
        assert_eq!(refused(error), (Code::InvalidVector, format!("/rows/1{place}")));
    }
    let nameless = wait(index.write(rows(vec![entry("", good.clone(), json!({}))]))).unwrap_err();
    assert_eq!(refused(nameless), (Code::InvalidRow, "/rows/0/id".into()));
    assert_eq!(index.size(), 0);
    let many = |names: &[&str]| {
        rows(names.iter().map(|name| entry(name, good.clone(), json!({}))).collect())
    };
    let error = wait(index.write(many(&["a", "b", "c", "d"]))).unwrap_err();
    assert_eq!(refused(error), (Code::TooLarge, "/rows".into()));
    assert_eq!(write(&index, many(&["a", "b", "c"])).size, 3);
    assert!(wait(index.write(many(&["d"]))).is_err());
    assert_eq!(write(&index, many(&["a", "c"])).size, 3);
    assert_eq!(write(&index, Batch { drop: true, ..many(&["d"]) }).size, 1);
    let error = wait(index.search(query(good, 0))).unwrap_err();
    assert_eq!(refused(error), (Code::InvalidQuery, "/k".into()));
}

#[test]
fn a_filter_on_what_no_row_has_is_refused_and_one_that_nothing_matches_is_not() {
    let index = Local::open(settings(0)).unwrap();
    write(&index, some(50, 1));
    let ask = |filter: Value| {
        let mut question = query(vec![1.0; DIMENSION], 5);
        question.filter = Some(filter);
        wait(index.search(question))
    };
    for (filter, at) in [
        (json!({"town": 1}), "/filter/town"),
        (json!({"$or": [{"city": 1}, {"town.gt": 1}]}), "/filter/$or/1/town.gt"),
        (json!({"not": {"$and": [{"town": {"$lt": 2}}]}}), "/filter/not/$and/0/town/$lt"),
        (json!({"a/b.c": 1}), "/filter/a~1b.c"),
    ] {
        let error = ask(filter).unwrap_err();
        assert_eq!((error.code, error.at.as_deref()), (Code::InvalidFilter, Some(at)));
        assert!(error.message.contains("no row has"), "{}", error.message);
    }
    let error = ask(json!({"city.lt": null})).unwrap_err();
    assert_eq!((error.code, error.at.as_deref()), (Code::InvalidFilter, Some("/filter/city.lt")));
    assert_eq!(ask(json!({"city": 77})).unwrap().nearest, []);
    assert_eq!(ask(json!({})).unwrap().nearest.len(), 5);
    let delete = (0..50).map(|at| format!("r-{at}")).collect();
    write(&index, Batch { delete, ..Batch::default() });
    write(&index, rows(vec![entry("x", vec![1.0; DIMENSION], json!({"other": 1}))]));
    assert!(ask(json!({"city": 1})).is_err());
}

#[test]
fn who_asks_as_of_a_write_sees_no_row_that_came_later() {
    let index = Local::open(settings(0)).unwrap();
    for turn in 1..=3_u64 {
        let mut batch = some(5, turn);
        batch.rows.iter_mut().for_each(|row| row.id = format!("{turn}-{}", row.id));
        assert_eq!(write(&index, batch).sequence, turn);
    }
    write(&index, Batch { delete: vec!["1-r-0".into()], ..Batch::default() });
    for (as_of, count) in [(0, 0), (1, 4), (2, 9), (3, 14), (9, 14)] {
        let found = find(&index, Query { as_of: Some(as_of), ..query(vec![1.0; DIMENSION], 100) });
        assert!(found.exact);
        assert_eq!((found.nearest.len(), found.sequence, found.size), (count, 4, 14), "{as_of}");
    }
}

#[test]
fn equal_vectors_do_not_make_an_island() {
    let index = Local::open(settings(0)).unwrap();
    let mut batch = some(2_000, 7);
    let (same, other) = (batch.rows[0].vector.clone(), batch.rows[1].vector.clone());
    batch.rows.iter_mut().skip(2).step_by(2).for_each(|row| row.vector = same.clone());
    write(&index, batch.clone());
    let found = find(&index, query(same, 500));
    assert!(!found.exact);
    assert!(found.nearest.iter().all(|near| near.score > 0.999_999));
    assert!(found.nearest.is_sorted_by(|one, other| one.id < other.id));
    assert_eq!(ids(&find(&index, query(other, 1))), ["r-1"]);
}

/// A batch replaces all rows by rows of another colour: whoever sees two colours saw half of it.
#[test]
fn a_batch_is_seen_whole_or_not_at_all() {
    for below in [0, 1_000] {
        let index = Arc::new(Local::open(settings(below)).unwrap());
        let colour = |turn: u64| {
            let mut batch = some(200, turn);
            batch.rows.iter_mut().for_each(|row| {
                row.attributes = json!({"turn": turn}).as_object().unwrap().clone();
            });
            batch
        };
        write(&index, colour(1));
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let reader = || {
            let (index, stop) = (index.clone(), stop.clone());
            std::thread::spawn(move || {
                let mut seen = std::collections::BTreeSet::new();
                while !stop.load(Ordering::Relaxed) {
                    let now = index.shared.front.now();
                    let mut question = query(vec![1.0; DIMENSION], 300);
                    question.filter = Some(json!({"turn": now.sequence}));
                    // The write that follows may come between; the answer is then of that one.
                    if let Ok(found) = wait(index.search(question)) {
                        let count = found.nearest.len();
                        let wanted = if found.sequence == now.sequence { 200 } else { 0 };
                        assert_eq!((count, found.size), (wanted, 200), "{}", found.sequence);
                        seen.insert(found.sequence);
                    }
                }
                seen.len()
            })
        };
        let readers = [reader(), reader()];
        for turn in 2..=40 {
            assert_eq!(write(&index, colour(turn)).sequence, turn);
        }
        stop.store(true, Ordering::Relaxed);
        let seen: usize = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
        assert!(seen > 2, "readers saw {seen} writes");
    }
}

#[test]
fn a_broken_index_is_one_that_walks_without_width() {
    let index = Local::open(settings(0)).unwrap();
    write(&index, some(3_000, 1));
    let recall = || {
        let mut source = source(2);
        let questions = (0..50).map(|_| query(vector(&mut source), 10));
        let hits = questions.map(|question| {
            let exact = find(&index, Query { exact: true, ..question.clone() });
            let found = find(&index, question);
            assert!(!found.exact);
            found.nearest.iter().filter(|near| exact.nearest.contains(near)).count()
        });
        hits.sum::<usize>()
    };
    assert!(recall() >= 475);
    index.set_ef(1).unwrap();
    assert_eq!(index.effective()["ef"], 1);
    let broken = recall();
    assert!(broken < 400, "{broken} of 500");
    assert!(index.set_ef(0).is_err());
}

#[test]
fn settings_out_of_range_are_refused() {
    for bad in [
        Settings { m: 1, ..settings(0) },
        Settings { dimension: 0, ..settings(0) },
        Settings { ef: 0, ..settings(0) },
        Settings { max_rows: 0, ..settings(0) },
        Settings { rebuild_share: 0.0, ..settings(0) },
    ] {
        assert_eq!(Local::open(bad).unwrap_err().code, Code::InvalidRequest);
    }
}

#[test]
fn ever_new_names_of_fields_are_refused_before_they_fill_the_memory() {
    let index = Local::open(settings(100)).unwrap();
    let bulk = |from: usize| {
        let row = |n: usize| {
            let names = (0..200).map(|i| (format!("f{}", n * 200 + i), json!(0)));
            entry(&format!("r-{n}"), vec![1.0; DIMENSION], Value::Object(names.collect()))
        };
        rows((from..from + 100).map(row).collect())
    };
    let bulks: Vec<_> = (0..4).map(|n| wait(index.write(bulk(n * 100)))).collect();
    assert!(bulks[..3].iter().all(Result::is_ok), "60,000 names have room");
    let error = bulks[3].clone().unwrap_err();
    assert_eq!((error.code, error.at.as_deref()), (Code::TooLarge, Some("/rows")));
    assert_eq!(index.size(), 300, "nothing of it was taken");
    write(&index, bulk(0));
    let delete = (0..100).map(|n| format!("r-{n}")).collect();
    write(&index, Batch { delete, ..Batch::default() });
    write(&index, bulk(300));
    assert_eq!(index.size(), 300, "rows that went have left room");
    let error = wait(index.write(bulk(0))).unwrap_err();
    assert_eq!(error.code, Code::TooLarge);
    write(&index, Batch { drop: true, ..bulk(0) });
}

#[test]
fn who_wants_more_than_there_is_gets_all_of_it() {
    let index = Local::open(settings(0)).unwrap();
    write(&index, some(300, 1));
    for k in [300, 1 << 32, usize::MAX] {
        for filter in [None, Some(json!({"odd": true}))] {
            let count = if filter.is_some() { 150 } else { 300 };
            let found = find(&index, Query { filter, ..query(vec![1.0; DIMENSION], k) });
            assert_eq!(found.nearest.len(), count, "{k}");
        }
    }
}
