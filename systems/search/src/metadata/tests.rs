use std::io::{BufRead, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;

use super::*;
use crate::api_error::Code;
use crate::embed::hashed::Hashed;
use crate::watched::note;

/// A folder of a test's own, gone with it.
pub(crate) struct TempFolder(pub(crate) PathBuf);

impl TempFolder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("search-rows-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn row(id: &str, years: u64) -> Row {
    let metadata = json!({ "years": years, "city": "Łódź" });
    let row = json!({ "id": id, "text": format!("text of {id}"), "metadata": metadata });
    Row::from_value(row).unwrap()
}

fn put(ids: &[&str]) -> Changes {
    Changes { rows: ids.iter().map(|id| row(id, 1)).collect(), ..Changes::default() }
}

fn names(metadata: &Metadata) -> Vec<String> {
    let records = metadata.after("", usize::MAX).unwrap();
    records.into_iter().map(|(id, _)| id.into()).collect()
}

/// What holds wherever records are.
async fn keeps(metadata: &Metadata) {
    metadata.write(put(&["b", "a", "ä"])).await.unwrap();
    let given = Row { vector: Some(vec![0.5, -2.0]), ..row("c", 9) };
    metadata.write(Changes { rows: vec![given], ..Changes::default() }).await.unwrap();
    assert_eq!(names(metadata), ["a", "b", "c", "ä"]);

    let found = metadata.get(&["c", "none", "a"]).unwrap();
    let c = found[0].as_ref().unwrap();
    assert_eq!((&*c.text, c.metadata.get()), ("text of c", r#"{"city":"Łódź","years":9}"#));
    assert_eq!(c.vector.as_deref(), Some(&[0.5, -2.0][..]));
    assert!(found[1].is_none());
    assert_eq!(found[2].as_ref().unwrap().vector, None);

    metadata.write(Changes { rows: vec![row("a", 2)], ..Changes::default() }).await.unwrap();
    let a = metadata.get(&["a"]).unwrap().remove(0).unwrap();
    assert_eq!(a.metadata.get(), r#"{"city":"Łódź","years":2}"#, "replaced");

    let some: Vec<_> = metadata.after("a", 2).unwrap().into_iter().map(|(id, _)| id).collect();
    assert_eq!(some, ["b".into(), "c".into()]);
    let delete = vec!["b".into(), "none".into()];
    metadata.write(Changes { delete, ..put(&["d"]) }).await.unwrap();
    assert_eq!(names(metadata), ["a", "c", "d", "ä"]);

    metadata.write(Changes { drop: true, ..put(&["e"]) }).await.unwrap();
    assert_eq!((names(metadata), metadata.size().unwrap()), (vec!["e".into()], 1));
}

#[tokio::test]
async fn records_are_kept_in_memory() {
    keeps(&Metadata::open(None).unwrap()).await;
}

#[tokio::test]
async fn records_are_kept_on_the_disk_and_found_again() {
    let folder = TempFolder::new();
    let metadata = Metadata::open(Some(&folder.0)).unwrap();
    keeps(&metadata).await;
    assert!(Metadata::open(Some(&folder.0)).is_err(), "two that write to one file");
    drop(metadata);
    assert_eq!(names(&Metadata::open(Some(&folder.0)).unwrap()), ["e"]);
}

#[tokio::test]
async fn many_rows_are_read_in_pieces() {
    let folder = TempFolder::new();
    for metadata in [Metadata::open(None).unwrap(), Metadata::open(Some(&folder.0)).unwrap()] {
        let rows = crate::corpus::rows(1, 0..1_000).collect();
        metadata.write(Changes { rows, ..Changes::default() }).await.unwrap();
        let (mut count, mut last) = (0, Box::<str>::default());
        loop {
            let some = metadata.after(&last, 64).unwrap();
            let Some((id, _)) = some.last() else { break };
            last = id.clone();
            count += some.len();
        }
        assert_eq!(count, 1_000);
    }
}

#[tokio::test]
async fn rows_are_looked_for_by_the_embedding_that_placed_them() {
    let embedding = |dimension, seed| Hashed::new(dimension, seed).unwrap();
    let folder = TempFolder::new();
    let metadata = Metadata::open(Some(&folder.0)).unwrap();
    // Nothing is kept yet, so that the last one stands.
    origin::check(&metadata, &embedding(64, 2)).await.unwrap();
    origin::check(&metadata, &embedding(64, 1)).await.unwrap();
    metadata.write(put(&["a"])).await.unwrap();
    drop(metadata);
    let metadata = Metadata::open(Some(&folder.0)).unwrap();
    origin::check(&metadata, &embedding(64, 1)).await.unwrap();
    for other in [embedding(64, 2), embedding(32, 1)] {
        let error = origin::check(&metadata, &other).await.unwrap_err();
        assert_eq!(error.code, Code::InvalidVector);
        assert!(error.message.contains("came from another seed"), "{error}");
    }
    let in_memory = Metadata::open(None).unwrap();
    origin::check(&in_memory, &embedding(64, 2)).await.unwrap();
}

#[test]
fn a_file_of_something_else_is_refused_and_left_alone() {
    let folder = TempFolder::new();
    let path = folder.0.join("rows.redb");
    std::fs::write(&path, "no database of ours").unwrap();
    let error = Metadata::open(Some(&folder.0)).unwrap_err();
    assert!(error.message.starts_with("the file of rows cannot be used"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"no database of ours");
    assert!(Metadata::open(Some(Path::new("/proc/none"))).is_err());
}

/// Each so-manieth page of a file overwritten, and the file cut there; `look` is to refuse it, or to find all of it.
pub(crate) fn damaged(file: &Path, look: impl Fn(&str) -> bool) {
    const PAGE: usize = 4_096;
    let whole = std::fs::read(file).unwrap();
    let step = if std::env::var_os("PROOFLOAD_PROOF").is_some() { 1 } else { 11 };
    let (mut refused, mut noted) = (0, 0);
    for page in (0..whole.len() / PAGE).step_by(step) {
        let place = page * PAGE..(page + 1) * PAGE;
        let mut overwritten = whole.clone();
        let byte = |(at, byte): (usize, &mut u8)| *byte = (at * 31 + page) as u8;
        overwritten[place.clone()].iter_mut().enumerate().for_each(byte);
        let mut zeros = whole.clone();
        zeros[place.clone()].fill(0);
        for (what, bytes) in
            [("overwritten", &overwritten[..]), ("zeros", &zeros), ("cut", &whole[..place.start])]
        {
            std::fs::write(file, bytes).unwrap();
            let what = format!("page {page} {what}");
            let is_refused = !look(&what);
            // What was left of it is not taken for all of it by the next start.
            assert!(!is_refused || !look(&what), "{what}: refused once");
            refused += usize::from(is_refused);
            noted += usize::from(std::fs::remove_file(note(file)).is_ok());
        }
    }
    assert!(refused > 3, "pages that are in use were damaged");
    assert!(noted > 3, "{noted} of {refused}");
}

#[tokio::test]
async fn a_damaged_file_is_refused_or_all_there() {
    let folder = TempFolder::new();
    let rows: Vec<Row> = crate::corpus::rows(1, 0..500).collect();
    let metadata = Metadata::open(Some(&folder.0)).unwrap();
    metadata.write(Changes { rows: rows.clone(), ..Changes::default() }).await.unwrap();
    drop(metadata);
    damaged(&folder.0.join("rows.redb"), |what| match Metadata::open(Some(&folder.0)) {
        Ok(metadata) => {
            // A file that was cut to nothing is a new one.
            assert!(what.ends_with("page 0 cut") || names(&metadata).len() == 500, "{what}");
            true
        }
        Err(error) => {
            assert!(error.message.starts_with("the file of rows cannot be used"), "{error}");
            false
        }
    });
}

/// Where the process that is killed writes; the test starts itself again with it.
const VICTIM: &str = "SEARCH_ROWS_VICTIM";

#[test]
fn what_was_acknowledged_survives_a_kill() {
    if let Some(folder) = std::env::var_os(VICTIM) {
        return write_for_ever(Path::new(&folder));
    }
    let kills = if std::env::var_os("PROOFLOAD_PROOF").is_some() { 20 } else { 3 };
    let folder = TempFolder::new();
    let mut acknowledged = Vec::new();
    for kill in 1..=kills {
        let told = kill_after(&folder.0, 50 * kill);
        assert!(told.len() >= 50 * kill, "it wrote too little to be killed while writing");
        acknowledged.extend(told);
        let metadata = Metadata::open(Some(&folder.0)).unwrap();
        let found = metadata.get(&acknowledged).unwrap();
        let lost = found.iter().filter(|record| record.is_none()).count();
        assert_eq!(lost, 0, "of {} acknowledged, after kill {kill}", acknowledged.len());
    }
}

/// Starts a process that writes, and kills it when it has told so many names; gives all that it told.
fn kill_after(folder: &Path, names: usize) -> Vec<String> {
    let this = "metadata::tests::what_was_acknowledged_survives_a_kill";
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args([this, "--exact", "--nocapture"])
        .env(VICTIM, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut told = lines.filter_map(|line| line.strip_prefix("row ").map(str::to_owned));
    let mut all: Vec<String> = told.by_ref().take(names).collect();
    victim.kill().unwrap();
    all.extend(told);
    victim.wait().unwrap();
    // The last line may be cut.
    all.retain(|name| name.ends_with('.'));
    all
}

/// Eight writers at once; each tells a name when it was acknowledged.
fn write_for_ever(folder: &Path) {
    let metadata = Metadata::open(Some(folder)).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let before = metadata.size().unwrap();
    let writers = (0..8).map(|writer| {
        let metadata = metadata.clone();
        runtime.spawn(async move {
            for number in 0.. {
                let id = format!("{before}-{writer}-{number}.");
                metadata.write(put(&[&id])).await.unwrap();
                writeln!(std::io::stdout().lock(), "row {id}").unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        runtime.block_on(writer).unwrap();
    }
}
