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

/// A row is written 700 times, each time in words that are nearly those of before, while others
/// arrive; the graph is never made anew.
#[test]
fn a_row_that_is_written_again_and_again_is_found_each_time() {
    let mut texts = Texts::new(6);
    let index = open(1.0);
    let others = (0..3_000).map(|at| (format!("r-{at}"), texts.text())).collect::<Vec<_>>();
    write(&index, rows(others.iter().map(|(id, text)| texts.entry(id, text)).collect()));
    let base = texts.text();
    let mut missing = 0;
    for turn in 0..700 {
        let text = format!("{base} version {turn}");
        write(&index, rows(vec![texts.entry("it", &text)]));
        let other = texts.text();
        write(&index, rows(vec![texts.entry(&format!("o-{turn}"), &other)]));
        let found = find(&index, query(texts.vector(&text), 10));
        assert!(!found.exact);
        missing += usize::from(found.nearest[0].id != "it".into());
    }
    assert_eq!(missing, 0, "of 700");
}
