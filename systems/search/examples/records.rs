//! Measures what records cost: rows written and read, in memory and in a file of a folder.
//!
//! `cargo run --release -p search --example records -- [FOLDER]`: the file is made in FOLDER, else in the folder for
//! temporary files, and removed.

use std::error::Error;
use std::hint::black_box;
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Instant;

use search::corpus::{SEED, row, rows};
use search::metadata::{Changes, Metadata};

const ROWS: u64 = 100_000;
const READS: u64 = 20_000;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let root = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = root.join(format!("search-records-{}", std::process::id()));
    measure(None).await?;
    std::fs::create_dir_all(&folder)?;
    let measured = measure(Some(&folder)).await;
    std::fs::remove_dir_all(&folder)?;
    measured
}

async fn measure(folder: Option<&Path>) -> Result<(), Box<dyn Error>> {
    let place = if folder.is_some() { "in a file" } else { "in memory" };
    writeln!(stdout(), "{place}")?;
    let metadata = Metadata::open(folder)?;
    let begin = Instant::now();
    let mut made = rows(SEED, 0..ROWS);
    loop {
        let rows: Vec<_> = made.by_ref().take(5_000).collect();
        if rows.is_empty() {
            break;
        }
        metadata.write(Changes { rows, ..Changes::default() }).await?;
    }
    tell("rows/s, 5,000 at once", ROWS as f64 / begin.elapsed().as_secs_f64())?;
    for writers in [1, 64] {
        let (rate, commits) = write(&metadata, writers).await?;
        tell(&format!("rows/s, {writers} writers"), rate)?;
        tell("  of them in a commit", commits)?;
    }
    let names = |number: u64| -> Vec<String> {
        (0..10).map(|place| format!("w-{:07}", (number * 10 + place) * 7_919 % ROWS)).collect()
    };
    let asked: Vec<Vec<String>> = (0..READS / 10).map(names).collect();
    let begin = Instant::now();
    for names in &asked {
        black_box(metadata.get(names)?);
    }
    tell("µs a row, 10 at once", begin.elapsed().as_secs_f64() * 1e6 / READS as f64)?;
    if let Some(folder) = folder {
        // The file as a kill would leave it: it was not closed.
        let killed = folder.join("killed");
        std::fs::create_dir(&killed)?;
        std::fs::copy(folder.join("rows.redb"), killed.join("rows.redb"))?;
        drop(metadata);
        for (how, folder) in [("closed", folder), ("killed", &killed)] {
            let begin = Instant::now();
            let there = Metadata::open(Some(folder))?.size()?;
            tell(&format!("ms to open {there}, {how}"), begin.elapsed().as_secs_f64() * 1e3)?;
        }
    }
    Ok(())
}

/// Rows a second of some writers with a row at a time, and how many rows shared a commit.
async fn write(metadata: &Metadata, writers: u64) -> Result<(f64, f64), Box<dyn Error>> {
    const EACH: u64 = 100;
    let before = metadata.commits();
    let begin = Instant::now();
    let writing = (0..writers).map(|writer| {
        let metadata = metadata.clone();
        tokio::spawn(async move {
            for number in 0..EACH {
                let rows = vec![row(SEED, writer * EACH + number)];
                metadata.write(Changes { rows, ..Changes::default() }).await?;
            }
            Ok::<_, search::api_error::ApiError>(())
        })
    });
    for writer in writing.collect::<Vec<_>>() {
        writer.await??;
    }
    let written = (writers * EACH) as f64;
    let commits = (metadata.commits() - before).max(1);
    Ok((written / begin.elapsed().as_secs_f64(), written / commits as f64))
}

fn tell(what: &str, number: f64) -> io::Result<()> {
    writeln!(stdout(), "  {what:<26} {number:12.2}")
}
