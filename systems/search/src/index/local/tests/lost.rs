//! What a graph loses sight of: rows that are written again and again, and rows that are nearly equal.

use super::*;
use crate::embed::hashed::Hashed;

/// The service's embedding, and texts of words that are made up.
struct Texts {
    embedding: Hashed,
    words: Vec<String>,
    source: Xoshiro256PlusPlus,
}

impl Texts {
    fn new(seed: u64) -> Self {
        let mut source = source(seed);
        let mut syllable = || {
            let bits = source.next_u64() as usize;
            let (one, other) = (b"bcdfghklmnprstvz"[bits % 16], b"aeiou"[(bits >> 8) % 5]);
            [char::from(one), char::from(other)]
        };
        let words = (0..300).map(|at| (0..2 + at % 3).flat_map(|_| syllable()).collect()).collect();
        Self { embedding: Hashed::new(256, 1).unwrap(), words, source }
    }

    /// Twelve words.
    fn text(&mut self) -> String {
        let words: Vec<&str> = (0..12)
            .map(|_| &*self.words[self.source.next_u64() as usize % self.words.len()])
            .collect();
        words.join(" ")
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        self.embedding.vector(text).expect("it has words")
    }

    fn entry(&self, id: &str, text: &str) -> Entry {
        entry(id, self.vector(text), json!({}))
    }
}

fn open(rebuild_share: f64) -> Local {
    let settings = Settings { rebuild_share, threads: 1, ..Settings::new(256) };
    Local::open(settings).unwrap()
}

/// A row is written 2,500 times, each time in words that are nearly those of before, while others
/// arrive; the graph is never made anew. `PROOFLOAD_PROOF=1`: 10,000 times.
#[test]
fn a_row_that_is_written_again_and_again_is_found_each_time() {
    let is_long = std::env::var_os("PROOFLOAD_PROOF").is_some();
    let turns = if is_long { 10_000 } else { 2_500 };
    let mut texts = Texts::new(6);
    let index = open(1.0);
    let others = (0..3_000).map(|at| (format!("r-{at}"), texts.text())).collect::<Vec<_>>();
    write(&index, rows(others.iter().map(|(id, text)| texts.entry(id, text)).collect()));
    let base = texts.text();
    for turn in 0..turns {
        let text = format!("{base} version {turn}");
        write(&index, rows(vec![texts.entry("it", &text)]));
        if turn % 4 == 0 {
            let other = texts.text();
            write(&index, rows(vec![texts.entry(&format!("o-{turn}"), &other)]));
        }
        let found = find(&index, query(texts.vector(&text), 1));
        assert!(!found.exact);
        assert_eq!(ids(&found), ["it"], "after {turn} of {turns}");
    }
}

/// Of 3,000 rows 300 differ in one word, and each is looked for by its own text: it is nearer to
/// that than all others. A walk may still end before it: one of 300 is allowed to it, and none
/// is lost to a walk of five times the width. Short form: 3 seeds; `PROOFLOAD_PROOF=1`: 20.
#[test]
fn rows_that_are_nearly_equal_are_found_by_their_own_text() {
    let is_long = std::env::var_os("PROOFLOAD_PROOF").is_some();
    let seeds = if is_long { 20 } else { 3 };
    let (mut missing, mut lost) = (0, 0);
    for seed in 6..6 + seeds {
        let mut texts = Texts::new(seed);
        let index = open(1.0);
        let base = texts.text();
        let all: Vec<String> = (0..3_000)
            .map(|at| match at % 10 {
                0 => format!("{base} number {at}"),
                _ => texts.text(),
            })
            .collect();
        let entries = all.iter().enumerate().map(|(at, text)| texts.entry(&at.to_string(), text));
        write(&index, rows(entries.collect()));
        let count = || {
            let is_missing = |at: &usize| {
                let found = find(&index, query(texts.vector(&all[*at]), 10));
                assert!(!found.exact);
                !ids(&found).contains(&&*at.to_string())
            };
            (0..3_000).step_by(10).filter(is_missing).count()
        };
        missing += count();
        index.set_ef(320).unwrap();
        lost += count();
    }
    assert!(missing <= seeds as usize, "{missing} of {seeds} times 300");
    assert_eq!(lost, 0, "of {seeds} times 300");
}

/// Many write near-equal rows, replace and delete them, while others search and the graph is made
/// anew: whoever is left is found, exactly and by a walk.
#[test]
fn whoever_is_left_after_a_crowd_is_found() {
    let index = Local::open(Settings { rebuild_share: 0.3, threads: 4, ..settings(0) }).unwrap();
    write(&index, some(3_000, 1));
    let at = |writer: u64, row: u64, turn: u64| {
        let near = vector(&mut source(writer));
        let mut own = source(1 + writer + 10 * row + 1_000_000 * turn);
        near.iter().zip(vector(&mut own)).map(|(near, own)| near + 0.05 * own).collect::<Vec<_>>()
    };
    const ROWS: u64 = 120;
    const TURNS: u64 = 12;
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let index = &index;
            scope.spawn(move || {
                for (turn, row) in (0..TURNS).flat_map(|turn| (0..ROWS).map(move |row| (turn, row)))
                {
                    let id = format!("w-{writer}-{row}");
                    write(index, rows(vec![entry(&id, at(writer, row, turn), json!({}))]));
                    if (turn + row).is_multiple_of(5) {
                        write(index, Batch { delete: vec![id], ..Batch::default() });
                    }
                    let found = find(index, query(at(writer, row, turn), 10));
                    assert_eq!(found.nearest.len(), 10);
                }
            });
        }
    });
    // Wide enough that the end of a walk does not depend on who came first.
    index.set_ef(1_000).unwrap();
    let mut missing = 0;
    for (writer, row) in (0..4).flat_map(|writer| (0..ROWS).map(move |row| (writer, row))) {
        let id = format!("w-{writer}-{row}");
        let is_left = !(TURNS - 1 + row).is_multiple_of(5);
        let question = query(at(writer, row, TURNS - 1), 1);
        let exact = find(&index, Query { exact: true, ..question.clone() });
        assert_eq!(ids(&exact) == [&*id], is_left, "{id}");
        missing += usize::from(is_left && ids(&find(&index, question)) != [&*id]);
    }
    assert_eq!(missing, 0, "by a walk");
}
