use serving::api_error::Code as _;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use redb::StorageBackend;
use redb::backends::InMemoryBackend;

use super::*;
use crate::watched::RETRY;

/// A disk in memory that can be full or slow; clones are the same disk.
#[derive(Debug, Clone, Default)]
struct TestDisk {
    bytes: Arc<InMemoryBackend>,
    is_full: Arc<AtomicBool>,
    /// How often it had no room.
    refused: Arc<AtomicU64>,
    /// How often it was told to keep what was written, which takes it as long as it is stuck.
    kept: Arc<AtomicU64>,
    is_stuck: Arc<AtomicBool>,
    /// What is read has nothing to do with what was written.
    is_damaged: Arc<AtomicBool>,
}

impl TestDisk {
    fn opener(&self) -> Open {
        let drive = self.clone();
        // Nothing is kept in memory, so that what is asked for is read.
        Box::new(move || Database::builder().set_cache_size(0).create_with_backend(drive.clone()))
    }

    fn room(&self) -> io::Result<()> {
        if !self.is_full.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.refused.fetch_add(1, Ordering::SeqCst);
        Err(io::ErrorKind::StorageFull.into())
    }
}

impl StorageBackend for TestDisk {
    fn len(&self) -> io::Result<u64> {
        self.bytes.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.bytes.read(offset, out)?;
        if self.is_damaged.load(Ordering::SeqCst) {
            out.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 7) as u8);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.room()?;
        self.bytes.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.kept.fetch_add(1, Ordering::SeqCst);
        while self.is_stuck.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        self.room()?;
        self.bytes.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.room()?;
        self.bytes.write(offset, data)
    }
}

fn put(name: &str) -> Write {
    let put = vec![(name.to_owned(), b"value".to_vec())];
    Write { table: ROWS, drop: false, put, delete: Vec::new() }
}

fn names(journal: &Journal) -> Result<Vec<String>, ApiError> {
    names_after(journal, || ())
}

/// Who reads has the file as it is before a wait and looks at it after.
fn names_after(journal: &Journal, wait: impl FnOnce()) -> Result<Vec<String>, ApiError> {
    use redb::{ReadableDatabase, ReadableTable};
    journal.with(|database| {
        wait();
        let mut names = Vec::new();
        for row in database.begin_read()?.open_table(ROWS)?.iter()? {
            names.push(row?.0.value().to_owned());
        }
        Ok(names)
    })
}

#[tokio::test]
async fn writers_that_wait_share_a_commit() {
    let drive = TestDisk::default();
    let journal = Arc::new(Journal::begin(drive.opener(), None).unwrap());
    let write = |name: String| {
        let journal = journal.clone();
        tokio::spawn(async move { journal.write(put(&name)).await })
    };
    let before = drive.kept.load(Ordering::SeqCst);
    drive.is_stuck.store(true, Ordering::SeqCst);
    let first = write("first".into());
    while drive.kept.load(Ordering::SeqCst) == before {
        tokio::task::yield_now().await;
    }
    let others: Vec<_> = (0..100).map(|number| write(format!("{number:03}"))).collect();
    while journal.jobs.as_ref().unwrap().capacity() > QUEUE - 100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(names(&journal).unwrap().len(), 0, "seen before it is on the disk");
    drive.is_stuck.store(false, Ordering::SeqCst);
    first.await.unwrap().unwrap();
    for other in others {
        other.await.unwrap().unwrap();
    }
    assert_eq!(names(&journal).unwrap().len(), 101);
    assert_eq!(journal.commits(), 2, "of 101 writes");
}

#[tokio::test]
async fn a_full_disk_takes_nothing_and_is_used_again_when_it_has_room() {
    let drive = TestDisk::default();
    let journal = Journal::begin(drive.opener(), None).unwrap();
    journal.write(put("a")).await.unwrap();
    let journal = Arc::new(journal);
    // Who reads while a write is under way that fails.
    let before = drive.kept.load(Ordering::SeqCst);
    drive.is_stuck.store(true, Ordering::SeqCst);
    let writer = journal.clone();
    let writing = tokio::spawn(async move { writer.write(put("b")).await });
    while drive.kept.load(Ordering::SeqCst) == before {
        tokio::task::yield_now().await;
    }
    let read = names_after(&journal, || {
        drive.is_full.store(true, Ordering::SeqCst);
        drive.is_stuck.store(false, Ordering::SeqCst);
        while drive.refused.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
    });
    assert_eq!(writing.await.unwrap().unwrap_err().code.status(), 503);
    for name in ["b", "c"] {
        let error = journal.write(put(name)).await.unwrap_err();
        assert_eq!(error.code.status(), 503);
        assert_eq!(error.retry_after, Some(RETRY));
    }
    drive.is_full.store(false, Ordering::SeqCst);
    // A reader is told of the write that failed before it; that is no damage.
    let error = read.unwrap_err();
    assert!(!error.message.contains("it is damaged"), "{error}");
    journal.write(put("d")).await.unwrap();
    let there = names(&journal).unwrap();
    assert!(there.contains(&"a".into()) && there.contains(&"d".into()), "{there:?}");
    drop(Arc::into_inner(journal));
    assert_eq!(names(&Journal::begin(drive.opener(), None).unwrap()).unwrap(), there);
}

#[tokio::test]
async fn who_reads_has_a_failed_file_opened_again() {
    let drive = TestDisk::default();
    let journal = Journal::begin(drive.opener(), None).unwrap();
    journal.write(put("a")).await.unwrap();
    drive.is_full.store(true, Ordering::SeqCst);
    journal.write(put("b")).await.unwrap_err();
    drive.is_full.store(false, Ordering::SeqCst);
    while names(&journal).is_err() {
        tokio::task::yield_now().await;
    }
    assert!(names(&journal).unwrap().contains(&"a".into()));
}

#[tokio::test]
async fn changes_are_made_in_their_order() {
    let journal = Journal::begin(TestDisk::default().opener(), None).unwrap();
    journal.write(Write { delete: vec!["a".into(), "none".into()], ..put("a") }).await.unwrap();
    assert_eq!(names(&journal).unwrap().len(), 0, "deleted after it was put");
    journal.write(put("a")).await.unwrap();
    journal.write(Write { drop: true, ..put("b") }).await.unwrap();
    assert_eq!(names(&journal).unwrap(), ["b"], "everything is forgotten first");
}

#[test]
fn a_file_that_is_none_is_refused() {
    let drive = TestDisk::default();
    drive.bytes.set_len(4_096).unwrap();
    drive.bytes.write(0, &[7; 4_096]).unwrap();
    let error = Journal::begin(drive.opener(), None).unwrap_err();
    assert!(error.message.starts_with("the file of rows cannot be used"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_damaged_while_it_is_used_is_not_touched_again() {
    for is_read_first in [true, false] {
        let drive = TestDisk::default();
        let journal = Journal::begin(drive.opener(), None).unwrap();
        for number in 0..200 {
            journal.write(put(&format!("{number:03}"))).await.unwrap();
        }
        drive.is_damaged.store(true, Ordering::SeqCst);
        if is_read_first {
            names(&journal).unwrap_err();
        }
        let error = journal.write(put("x")).await.unwrap_err();
        assert_eq!(error.code.status(), 503);
        assert!(error.message.contains("it is damaged"), "{error}");
        // However it came about, it stays that way.
        drive.is_damaged.store(false, Ordering::SeqCst);
        assert_eq!(names(&journal).unwrap_err().message, error.message);
        assert_eq!(journal.write(put("y")).await.unwrap_err().message, error.message);
    }
}
