//! What a start finds.

use std::fs;

use super::*;
use crate::index::local::image::read_checked;

fn durable(folder: &TempFolder) -> Settings {
    Settings { folder: Some(folder.0.clone()), snapshot_every: 0, ..settings(0) }
}

fn snapshots(folder: &TempFolder) -> Vec<PathBuf> {
    let entries = fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "snapshot")).collect();
    found.sort();
    found
}

/// Opens it anew, holds it against what there was, and says what `loaded` says.
fn reopened(folder: &TempFolder, before: &(Vec<Near>, u64)) -> Value {
    let index = Local::open(durable(folder)).unwrap();
    assert_eq!(&all(&index), before);
    let nearest = query(vec![1.0; DIMENSION], 10);
    let found = find(&index, nearest);
    let hits = found.nearest.iter().filter(|near| before.0[..10].contains(near)).count();
    assert!(!found.exact && hits >= 9, "{hits} of 10 by the graph");
    let next = write(&index, rows(vec![entry("x", vec![1.0; DIMENSION], json!({}))]));
    assert_eq!(next.sequence, before.1 + 1);
    let back = write(&index, Batch { delete: vec!["x".into()], ..Batch::default() });
    assert_eq!(back.sequence, before.1 + 2);
    index.effective()["loaded"].clone()
}

#[test]
fn a_start_finds_what_was_written_with_and_without_a_snapshot() {
    let folder = TempFolder::new();
    let index = Local::open(durable(&folder)).unwrap();
    write(&index, some(400, 1));
    let (rows, sequence) = all(&index);
    drop(index);
    let told = reopened(&folder, &(rows, sequence));
    assert_eq!(told, json!({"snapshot": null, "refused": [], "rows": 400}));

    let index = Local::open(durable(&folder)).unwrap();
    let saved = wait(index.snapshot()).unwrap();
    assert_eq!((&saved["rows"], &saved["sequence"]), (&json!(400), &json!(3)));
    let mut changed = some(60, 2);
    changed.delete = (50..80).map(|at| format!("r-{at}")).collect();
    write(&index, changed);
    let before = all(&index);
    assert_eq!((before.0.len(), before.1), (370, 4));
    drop(index);
    let told = reopened(&folder, &before);
    assert_eq!(told, json!({"snapshot": 3, "refused": [], "rows": 370}));
}

#[test]
fn a_batch_that_drops_is_kept() {
    let folder = TempFolder::new();
    let index = Local::open(durable(&folder)).unwrap();
    write(&index, some(300, 1));
    wait(index.snapshot()).unwrap();
    write(&index, Batch { drop: true, ..some(200, 2) });
    let before = all(&index);
    drop(index);
    assert_eq!(reopened(&folder, &before)["snapshot"], 1);
}

#[test]
fn the_newest_two_snapshots_are_kept_and_a_bad_one_is_told_and_passed_over() {
    let folder = TempFolder::new();
    let index = Local::open(durable(&folder)).unwrap();
    for turn in 1..=3 {
        write(&index, some(200 + turn, turn as u64));
        wait(index.snapshot()).unwrap();
    }
    let before = all(&index);
    drop(index);
    let files = snapshots(&folder);
    assert_eq!(files.len(), 2);
    let whole = fs::read(&files[1]).unwrap();
    fs::write(&files[1], &whole[..whole.len() - 7]).unwrap();
    let told = reopened(&folder, &before);
    let why = told["refused"][0].as_str().unwrap();
    assert!(why.starts_with("snapshot 3 refused: truncated at byte "), "{why}");
    assert_eq!(told["snapshot"], 2);

    fs::write(&files[0], b"not a snapshot").unwrap();
    let told = reopened(&folder, &(before.0, before.1 + 2));
    let why = told["refused"][1].as_str().unwrap();
    assert_eq!(why, "snapshot 2 refused: it is not a snapshot, before byte 8");
    assert_eq!(told["snapshot"], Value::Null);
}

#[test]
fn snapshots_of_other_parameters_are_refused_and_rows_of_another_dimension_end_the_start() {
    let folder = TempFolder::new();
    let index = Local::open(durable(&folder)).unwrap();
    write(&index, some(200, 1));
    wait(index.snapshot()).unwrap();
    let before = all(&index);
    drop(index);
    let other = Local::open(Settings { m: 8, ..durable(&folder) }).unwrap();
    assert_eq!(all(&other), before);
    let told = other.effective()["loaded"]["refused"][0].as_str().unwrap().to_owned();
    assert_eq!(told, "snapshot 1 refused: it has m 16, but the settings need 8, before byte 20");
    drop(other);
    let error = Local::open(Settings { dimension: 9, ..durable(&folder) }).unwrap_err();
    assert!(
        error.message.contains("has dimension 8, but the settings need 9"),
        "{}",
        error.message
    );
    let file = snapshots(&folder).remove(0);
    let mut bytes = fs::read(&file).unwrap();
    bytes[8] = 9;
    fs::write(&file, bytes).unwrap();
    let index = Local::open(durable(&folder)).unwrap();
    let told = index.effective()["loaded"]["refused"][0].as_str().unwrap().to_owned();
    assert_eq!(
        told,
        "snapshot 1 refused: it has version 9, but the settings need 2, before byte 12"
    );
}

/// Every truncation, and a bit changed in every byte, of a small snapshot.
#[test]
fn no_damage_to_a_snapshot_goes_unseen() {
    let folder = TempFolder::new();
    let index = Local::open(durable(&folder)).unwrap();
    write(&index, some(12, 1));
    wait(index.snapshot()).unwrap();
    let shape = index.shared.settings.shape();
    let whole = fs::read(&snapshots(&folder)[0]).unwrap();
    assert_eq!(read_checked(&whole[..], shape).unwrap().rows.len(), 12);
    for length in 0..whole.len() {
        let why = read_checked(&whole[..length], shape).unwrap_err();
        assert!(why.contains("truncated at byte"), "{length}: {why}");
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        assert!(read_checked(&bytes[..], shape).is_err(), "byte {at}");
    }
    let longer = [&whole[..], &[0]].concat();
    assert!(read_checked(&longer[..], shape).unwrap_err().contains("has bytes after byte"));
}

/// The file of the rows cut at many places: the start is refused, or everything is there.
#[test]
fn rows_that_were_cut_are_refused_or_whole() {
    let folder = TempFolder::new();
    let index = Local::open(durable(&folder)).unwrap();
    write(&index, some(100, 1));
    let before = all(&index);
    drop(index);
    let file = folder.0.join("rows.redb");
    let whole = fs::read(&file).unwrap();
    let cuts = (1..60).map(|turn| whole.len() * turn / 60).chain([1, 8, 511, whole.len() - 1]);
    let mut refused = 0;
    for cut in cuts {
        fs::write(&file, &whole[..cut]).unwrap();
        match Local::open(durable(&folder)) {
            Ok(index) => assert_eq!(all(&index), before, "cut at {cut}"),
            Err(error) => {
                assert_eq!(error.code, Code::Unavailable);
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
}

#[test]
fn rows_that_were_emptied_are_not_taken_for_none() {
    let folder = TempFolder::new();
    let index = Local::open(durable(&folder)).unwrap();
    write(&index, some(100, 1));
    wait(index.snapshot()).unwrap();
    drop(index);
    fs::write(folder.0.join("rows.redb"), b"").unwrap();
    let error = Local::open(durable(&folder)).unwrap_err();
    assert!(error.message.contains("rows are lost"), "{}", error.message);
}

#[test]
fn snapshots_are_written_by_themselves() {
    let folder = TempFolder::new();
    let index = Local::open(Settings { snapshot_every: 300, ..durable(&folder) }).unwrap();
    write(&index, some(299, 1));
    assert_eq!(snapshots(&folder).len(), 0);
    write(&index, some(1, 2));
    // The writer waits for what it began.
    drop(index);
    assert_eq!(snapshots(&folder).len(), 1);
    let index = Local::open(durable(&folder)).unwrap();
    assert_eq!(index.effective()["loaded"]["snapshot"], 2);
}

#[test]
fn a_clean_end_leaves_a_snapshot_and_a_start_removes_what_a_kill_left_of_one() {
    let folder = TempFolder::new();
    let by_itself = || Settings { snapshot_every: 1_000, ..durable(&folder) };
    let torn = folder.0.join("graph-00000000000000000009.tmp");
    fs::write(&torn, b"plsearch").unwrap();
    let index = Local::open(by_itself()).unwrap();
    assert!(!torn.exists() && snapshots(&folder).is_empty());
    write(&index, some(300, 1));
    let before = all(&index);
    drop(index);
    assert_eq!(snapshots(&folder).len(), 1);
    // Nothing was written since: none is.
    drop(Local::open(by_itself()).unwrap());
    assert_eq!(snapshots(&folder).len(), 1);
    assert_eq!(reopened(&folder, &before)["snapshot"], 1);
    let few = Settings { brute_force_below: 1_000, ..by_itself() };
    let index = Local::open(few).unwrap();
    write(&index, Batch { drop: true, ..some(10, 2) });
    drop(index);
    assert_eq!(snapshots(&folder).len(), 1, "there is no graph");
}

#[test]
fn without_a_folder_there_is_no_snapshot() {
    let index = Local::open(settings(0)).unwrap();
    assert_eq!(wait(index.snapshot()).unwrap_err().code, Code::InvalidRequest);
}

#[test]
fn a_damaged_file_of_rows_is_refused_or_all_there() {
    let folder = TempFolder::new();
    let settings = Settings { folder: Some(folder.0.clone()), ..settings(1_000) };
    let index = Local::open(settings.clone()).unwrap();
    write(&index, some(500, 1));
    let before = all(&index);
    drop(index);
    crate::metadata::tests::damaged(&folder.0.join("rows.redb"), |what| {
        match Local::open(settings.clone()) {
            Ok(index) => {
                assert!(what.ends_with("page 0 cut") || all(&index) == before, "{what}");
                true
            }
            Err(error) => {
                assert!(error.message.starts_with("the rows on the disk"), "{what}: {error}");
                false
            }
        }
    });
}
