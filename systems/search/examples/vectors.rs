//! What the index carries: searches and rows a second, recall, what writes do to reads, the disk.
//!
//! `cargo run --release -p search --example vectors -- ROLE …`:
//!
//! - `search KIND ROWS FOLDER` builds an index in memory and searches it at several widths; the
//!   vectors go to `rows.f32` and `queries.f32` in the folder, for others to be measured with;
//! - `mixed KIND ROWS SECONDS` reads alone and reads beside writes (one write for four reads), in
//!   turn;
//! - `disk KIND ROWS FOLDER` writes rows to a folder, singly and many at a time, and starts anew
//!   from it with and without a snapshot.
//!
//! Kinds: `clustered` (a thousand centres and noise around them, the usual case) and `uniform`
//! (directions without any structure, the hard case), of 256 dimensions from a fixed seed. Each
//! writes lines of JSON; a core's rates are by processor time. `benchmarks/run --only search` puts
//! them together.

#![expect(clippy::unwrap_used, reason = "a failed measurement is a panic")]

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::time::{ClockId, clock_gettime};
use search::index::local::{Local, Settings};
use search::index::{Batch, Entry, Index, Query};
use serde_json::{Map, Value, json};
use tokio::runtime::{Builder, Runtime};

const DIMENSION: usize = 256;
const CENTRES: usize = 1_000;
const QUERIES: usize = 2_000;
const K: usize = 10;

/// Rows of one batch.
const BATCH: usize = 1_000;

/// Widths of walks.
const WIDTHS: [usize; 8] = [1, 10, 20, 40, 64, 100, 200, 400];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [role, kind, rows, last] = &words[..] else { panic!("ROLE KIND ROWS FOLDER|SECONDS") };
    let (rows, queries) = vectors(kind, rows.parse().unwrap());
    let runtime = Builder::new_current_thread().build().unwrap();
    match role.as_str() {
        "search" => search(&runtime, (&rows, &queries), &PathBuf::from(last)),
        "mixed" => mixed(&runtime, (&rows, &queries), last.parse().unwrap()),
        "disk" => disk(&runtime, &rows, &PathBuf::from(last)),
        _ => panic!("search, mixed or disk"),
    }
}

fn tell(line: &Value) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
}

/// Processor seconds of this process or thread so far.
fn processor(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Wall and processor seconds of what is done.
fn timed<T>(clock: ClockId, work: impl FnOnce() -> T) -> (T, f64, f64) {
    let (wall, cpu) = (Instant::now(), processor(clock));
    let done = work();
    (done, wall.elapsed().as_secs_f64(), processor(clock) - cpu)
}

fn normal(source: &mut Xoshiro256PlusPlus) -> f32 {
    let uniform = |bits: u64| (bits >> 40) as f32 / (1_u64 << 24) as f32;
    (0..12).map(|_| uniform(source.next_u64())).sum::<f32>() - 6.0
}

/// Rows and queries of length 1, alike.
fn vectors(kind: &str, count: usize) -> (Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let mut source = Xoshiro256PlusPlus::seed_from_u64(7);
    let unit = |mut vector: Vec<f32>| {
        let length = vector.iter().map(|one| one * one).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|one| *one /= length);
        vector
    };
    let mut random = || unit((0..DIMENSION).map(|_| normal(&mut source)).collect());
    let centres: Vec<_> = (0..CENTRES).map(|_| random()).collect();
    let mut one = |turn: usize| match kind {
        "uniform" => random(),
        "clustered" => {
            // As far from the centre as four fifths of the centre's distance from the origin.
            let noise = random();
            let centre = &centres[turn.wrapping_mul(0x9e37_79b9) % CENTRES];
            unit(centre.iter().zip(&noise).map(|(centre, noise)| centre + 0.8 * noise).collect())
        }
        _ => panic!("clustered or uniform"),
    };
    let rows = (0..count).map(&mut one).collect();
    (rows, (0..QUERIES).map(&mut one).collect())
}

fn attributes(number: usize) -> Map<String, Value> {
    json!({"city": number % 100, "role": number % 7, "unit": number % 2})
        .as_object()
        .unwrap()
        .clone()
}

fn batches(rows: &[Vec<f32>], length: usize) -> impl Iterator<Item = Batch> {
    let entry = |(number, vector): (usize, &Vec<f32>)| Entry {
        id: format!("row-{number}"),
        vector: vector.clone(),
        attributes: attributes(number),
    };
    let numbered: Vec<_> = rows.iter().enumerate().collect();
    let all: Vec<Batch> = numbered
        .chunks(length)
        .map(|rows| Batch { rows: rows.iter().copied().map(entry).collect(), ..Batch::default() })
        .collect();
    all.into_iter()
}

fn question(vector: &[f32], filter: Option<Value>, exact: bool) -> Query {
    Query { vector: vector.to_vec(), k: K, filter, exact, as_of: None }
}

fn write_vectors(path: &Path, vectors: &[Vec<f32>]) {
    let mut out = BufWriter::new(std::fs::File::create(path).unwrap());
    for one in vectors.iter().flatten() {
        out.write_all(&one.to_le_bytes()).unwrap();
    }
    out.flush().unwrap();
}

/// Bytes of this process in memory.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

fn build(runtime: &Runtime, rows: &[Vec<f32>], settings: Settings) -> Local {
    let index = Local::open(settings).unwrap();
    for batch in batches(rows, BATCH) {
        runtime.block_on(index.write(batch)).unwrap();
    }
    index
}

fn search(runtime: &Runtime, (rows, queries): (&[Vec<f32>], &[Vec<f32>]), folder: &Path) {
    write_vectors(&folder.join("rows.f32"), rows);
    write_vectors(&folder.join("queries.f32"), queries);
    let settings = Settings::new(DIMENSION);
    let before = resident();
    let (index, wall, cpu) =
        timed(ClockId::ProcessCPUTime, || build(runtime, rows, settings.clone()));
    let count = rows.len() as f64;
    tell(&json!({
        "part": "build", "rows": rows.len(), "dimension": DIMENSION, "m": settings.m,
        "ef_construction": settings.ef_construction, "threads": settings.threads,
        "rows_per_s": count / wall, "rows_per_s_a_core": count / cpu,
        "bytes_a_row": (resident() - before) / rows.len(),
    }));
    let ask = |filter: Option<Value>, exact: bool, count: usize| {
        let asked = queries[..count].iter().map(|vector| {
            let found = runtime.block_on(index.search(question(vector, filter.clone(), exact)));
            found.unwrap().nearest
        });
        asked.collect::<Vec<_>>()
    };
    // A scan is on a thread of its own.
    let (truth, _, cpu) = timed(ClockId::ProcessCPUTime, || ask(None, true, QUERIES));
    tell(&json!({"part": "exact", "queries_per_s_a_core": QUERIES as f64 / cpu}));
    for ef in WIDTHS {
        index.set_ef(ef).unwrap();
        let (found, wall, cpu) = timed(ClockId::ThreadCPUTime, || ask(None, false, QUERIES));
        let hits = found.iter().zip(&truth).map(|(found, truth)| {
            let least = truth[K - 1].score - 1e-6;
            found.iter().filter(|near| near.score >= least).count()
        });
        let recall = hits.sum::<usize>() as f64 / (K * QUERIES) as f64;
        tell(&json!({
            "part": "search", "ef": ef, "recall": recall, "queries_per_s": QUERIES as f64 / wall,
            "queries_per_s_a_core": QUERIES as f64 / cpu,
        }));
    }
    index.set_ef(settings.ef).unwrap();
    for (share, filter) in
        [(0.5, json!({"unit": 1})), (0.14, json!({"role": 3})), (0.01, json!({"city": 5}))]
    {
        let count = QUERIES / 4;
        let (_, _, cpu) = timed(ClockId::ProcessCPUTime, || ask(Some(filter), false, count));
        tell(
            &json!({"part": "filtered", "share": share, "queries_per_s_a_core": count as f64 / cpu}),
        );
    }
}

/// How long each search takes, in microseconds: for so many seconds, while writes come or do not.
fn read(
    runtime: &Runtime,
    index: &Local,
    queries: &[Vec<f32>],
    seconds: f64,
    done: &AtomicU64,
) -> Vec<f64> {
    let begun = Instant::now();
    let mut times = Vec::new();
    for vector in queries.iter().cycle() {
        let one = Instant::now();
        runtime.block_on(index.search(question(vector, None, false))).unwrap();
        times.push(one.elapsed().as_secs_f64() * 1e6);
        done.fetch_add(1, Ordering::Relaxed);
        if begun.elapsed().as_secs_f64() > seconds {
            break;
        }
    }
    times
}

/// Replaces a row for each four reads that were done.
fn replace(index: &Local, rows: &[Vec<f32>], done: &AtomicU64, stop: &AtomicBool) -> u64 {
    let runtime = Builder::new_current_thread().build().unwrap();
    let mut written = 0;
    let begun = done.load(Ordering::Relaxed);
    while !stop.load(Ordering::Relaxed) {
        if written * 4 >= done.load(Ordering::Relaxed) - begun {
            std::thread::sleep(Duration::from_micros(50));
            continue;
        }
        let number = (written as usize).wrapping_mul(7_919) % rows.len();
        let vector = rows[(number + 1) % rows.len()].iter().zip(&rows[number]);
        let row = Entry {
            id: format!("row-{number}"),
            vector: vector.map(|(one, other)| one + other).collect(),
            attributes: attributes(number),
        };
        runtime.block_on(index.write(Batch { rows: vec![row], ..Batch::default() })).unwrap();
        written += 1;
    }
    written
}

fn mixed(runtime: &Runtime, (rows, queries): (&[Vec<f32>], &[Vec<f32>]), seconds: f64) {
    let index = build(runtime, rows, Settings::new(DIMENSION));
    let done = AtomicU64::new(0);
    let (mut alone, mut beside, mut written) = (Vec::new(), Vec::new(), 0);
    read(runtime, &index, queries, 1.0, &done);
    for _ in 0..5 {
        alone.extend(read(runtime, &index, queries, seconds / 10.0, &done));
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| replace(&index, rows, &done, &stop));
            beside.extend(read(runtime, &index, queries, seconds / 10.0, &done));
            stop.store(true, Ordering::Relaxed);
            written += writer.join().unwrap();
        });
    }
    let at = |times: &mut Vec<f64>, share: f64| {
        times.sort_unstable_by(f64::total_cmp);
        times[((times.len() - 1) as f64 * share) as usize]
    };
    tell(&json!({
        "part": "mixed", "reads_alone": alone.len(), "reads_beside": beside.len(), "writes": written,
        "alone_us": {"p50": at(&mut alone, 0.5), "p99": at(&mut alone, 0.99)},
        "beside_us": {"p50": at(&mut beside, 0.5), "p99": at(&mut beside, 0.99)},
    }));
}

fn disk(runtime: &Runtime, rows: &[Vec<f32>], folder: &Path) {
    let settings = Settings {
        folder: Some(folder.join("index")),
        snapshot_every: 0,
        // Without a graph: what the disk takes, and not what linking takes.
        brute_force_below: u64::MAX,
        ..Settings::new(DIMENSION)
    };
    let index = Local::open(settings.clone()).unwrap();
    let count = rows.len() as f64;
    let (_, wall, _) = timed(ClockId::ProcessCPUTime, || {
        for batch in batches(rows, BATCH) {
            runtime.block_on(index.write(batch)).unwrap();
        }
    });
    tell(
        &json!({"part": "durable", "rows_a_batch": BATCH, "writers": 1, "rows_per_s": count / wall}),
    );
    for writers in [1, 64] {
        let some = &rows[..64 * 20];
        let single: Vec<Batch> = batches(some, 1).collect();
        let (_, wall, _) = timed(ClockId::ProcessCPUTime, || write_singly(&index, single, writers));
        let rate = some.len() as f64 / wall;
        tell(
            &json!({"part": "durable", "rows_a_batch": 1, "writers": writers, "rows_per_s": rate}),
        );
    }
    drop(index);
    let linked = Settings { brute_force_below: 0, ..settings };
    for snapshot in [false, true] {
        let (index, wall, _) =
            timed(ClockId::ProcessCPUTime, || Local::open(linked.clone()).unwrap());
        tell(
            &json!({"part": "start", "snapshot": snapshot, "rows": index.size(), "seconds": wall}),
        );
        if !snapshot {
            let (saved, wall, _) =
                timed(ClockId::ProcessCPUTime, || runtime.block_on(index.snapshot()).unwrap());
            tell(&json!({"part": "snapshot", "bytes": saved["bytes"], "seconds": wall}));
        }
    }
}

fn write_singly(index: &Local, batches: Vec<Batch>, writers: usize) {
    std::thread::scope(|scope| {
        for share in batches.chunks(batches.len().div_ceil(writers)) {
            scope.spawn(move || {
                let runtime = Builder::new_current_thread().build().unwrap();
                for batch in share {
                    runtime.block_on(index.write(batch.clone())).unwrap();
                }
            });
        }
    });
}
