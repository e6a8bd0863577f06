//! Measures what a text costs: made, embedded, and known to the cache. Means over some thousand texts, on one core.
//!
//! `cargo run --release -p search --example embedding`

use std::hint::black_box;
use std::io::{self, Write, stdout};
use std::time::Instant;

use search::corpus::{SEED, free, queries, rows};
use search::embed::Embed;
use search::embed::cache::Cached;
use search::embed::hashed::{DIMENSION, Hashed};
use search::row::Row;

const TEXTS: u64 = 20_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hashed = Hashed::new(DIMENSION, 0)?;
    let words = "forklift operator Gdansk night shift scanner pallet jack";
    measure("a query of eight words", || hashed.vector(words))?;
    let planted: Vec<String> = queries(SEED, TEXTS, TEXTS).map(|planted| planted.query).collect();
    let free: Vec<String> = free(SEED, TEXTS).collect();
    let mut turn = planted.iter().cycle();
    measure("a planted query", || hashed.vector(turn.next()?))?;
    let mut turn = free.iter().cycle();
    measure("a free query", || hashed.vector(turn.next()?))?;

    let mut made = rows(SEED, 0..TEXTS);
    measure("a row, made", || made.next())?;
    let all: Vec<Row> = rows(SEED, 0..TEXTS).collect();
    let mut turn = all.iter().cycle();
    measure("a row, embedded", || hashed.vector(&turn.next()?.text))?;

    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    for (what, entries) in [("known to the cache", 20_000), ("not known to the cache", 19_999)] {
        let cache = Cached::new(hashed.clone(), entries);
        let mut turn = planted.iter().cycle();
        planted.iter().for_each(|text| drop(runtime.block_on(cache.embed(&[text]))));
        measure(what, || runtime.block_on(cache.embed(&[turn.next()?])).ok())?;
    }
    Ok(())
}

/// Tells the mean time of a call.
fn measure<T>(what: &str, mut call: impl FnMut() -> Option<T>) -> io::Result<()> {
    let begin = Instant::now();
    (0..TEXTS).for_each(|_| drop(black_box(call())));
    let mean = begin.elapsed().as_secs_f64() * 1e6 / TEXTS as f64;
    writeln!(stdout(), "{what:<24} {mean:7.2} µs")
}
