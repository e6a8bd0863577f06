use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use redb::StorageBackend;
use redb::backends::InMemoryBackend;

use super::*;
use crate::watched::RETRY;

/// A disk in memory that can be full or slow; clones are the same disk.
#[derive(Debug, Clone, Default)]
struct Drive {
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

impl Drive {
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

impl StorageBackend for Drive {
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

fn names(keeper: &Keeper) -> Result<Vec<String>, Fault> {
    names_after(keeper, || ())
}

/// Who reads has the file as it is before a wait and looks at it after.
fn names_after(keeper: &Keeper, wait: impl FnOnce()) -> Result<Vec<String>, Fault> {
    use redb::{ReadableDatabase, ReadableTable};
    keeper.with(|database| {
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
    let drive = Drive::default();
    let keeper = Arc::new(Keeper::begin(drive.opener(), None).unwrap());
    let write = |name: String| {
        let keeper = keeper.clone();
        tokio::spawn(async move { keeper.write(put(&name)).await })
    };
    let before = drive.kept.load(Ordering::SeqCst);
    drive.is_stuck.store(true, Ordering::SeqCst);
    let first = write("first".into());
    while drive.kept.load(Ordering::SeqCst) == before {
        tokio::task::yield_now().await;
    }
    let others: Vec<_> = (0..100).map(|number| write(format!("{number:03}"))).collect();
    while keeper.jobs.as_ref().unwrap().capacity() > QUEUE - 100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(names(&keeper).unwrap().len(), 0, "seen before it is on the disk");
    drive.is_stuck.store(false, Ordering::SeqCst);
    first.await.unwrap().unwrap();
    for other in others {
        other.await.unwrap().unwrap();
    }
    assert_eq!(names(&keeper).unwrap().len(), 101);
    assert_eq!(keeper.commits(), 2, "of 101 writes");
}

#[tokio::test]
async fn a_full_disk_takes_nothing_and_is_used_again_when_it_has_room() {
    let drive = Drive::default();
    let keeper = Keeper::begin(drive.opener(), None).unwrap();
    keeper.write(put("a")).await.unwrap();
    let keeper = Arc::new(keeper);
    // Who reads while a write is under way that fails.
    let before = drive.kept.load(Ordering::SeqCst);
    drive.is_stuck.store(true, Ordering::SeqCst);
    let writer = keeper.clone();
    let writing = tokio::spawn(async move { writer.write(put("b")).await });
    while drive.kept.load(Ordering::SeqCst) == before {
        tokio::task::yield_now().await;
    }
    let read = names_after(&keeper, || {
        drive.is_full.store(true, Ordering::SeqCst);
        drive.is_stuck.store(false, Ordering::SeqCst);
        while drive.refused.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
    });
    assert_eq!(writing.await.unwrap().unwrap_err().code.status(), 503);
    for name in ["b", "c"] {
        let fault = keeper.write(put(name)).await.unwrap_err();
        assert_eq!(fault.code.status(), 503);
        assert_eq!(fault.retry_after, Some(RETRY));
    }
    drive.is_full.store(false, Ordering::SeqCst);
    // A reader is told of the write that failed before it; that is no damage.
    let fault = read.unwrap_err();
    assert!(!fault.message.contains("it is damaged"), "{fault}");
    keeper.write(put("d")).await.unwrap();
    let there = names(&keeper).unwrap();
    assert!(there.contains(&"a".into()) && there.contains(&"d".into()), "{there:?}");
    drop(Arc::into_inner(keeper));
    assert_eq!(names(&Keeper::begin(drive.opener(), None).unwrap()).unwrap(), there);
}

#[tokio::test]
async fn who_reads_has_a_failed_file_opened_again() {
    let drive = Drive::default();
    let keeper = Keeper::begin(drive.opener(), None).unwrap();
    keeper.write(put("a")).await.unwrap();
    drive.is_full.store(true, Ordering::SeqCst);
    keeper.write(put("b")).await.unwrap_err();
    drive.is_full.store(false, Ordering::SeqCst);
    while names(&keeper).is_err() {
        tokio::task::yield_now().await;
    }
    assert!(names(&keeper).unwrap().contains(&"a".into()));
}

#[tokio::test]
async fn changes_are_made_in_their_order() {
    let keeper = Keeper::begin(Drive::default().opener(), None).unwrap();
    keeper.write(Write { delete: vec!["a".into(), "none".into()], ..put("a") }).await.unwrap();
    assert_eq!(names(&keeper).unwrap().len(), 0, "deleted after it was put");
    keeper.write(put("a")).await.unwrap();
    keeper.write(Write { drop: true, ..put("b") }).await.unwrap();
    assert_eq!(names(&keeper).unwrap(), ["b"], "everything is forgotten first");
}

#[test]
fn a_file_that_is_none_is_refused() {
    let drive = Drive::default();
    drive.bytes.set_len(4_096).unwrap();
    drive.bytes.write(0, &[7; 4_096]).unwrap();
    let fault = Keeper::begin(drive.opener(), None).unwrap_err();
    assert!(fault.message.starts_with("the file of rows cannot be used"), "{fault}");
}

#[tokio::test]
async fn a_file_that_is_damaged_while_it_is_used_is_not_touched_again() {
    for is_read_first in [true, false] {
        let drive = Drive::default();
        let keeper = Keeper::begin(drive.opener(), None).unwrap();
        for number in 0..200 {
            keeper.write(put(&format!("{number:03}"))).await.unwrap();
        }
        drive.is_damaged.store(true, Ordering::SeqCst);
        if is_read_first {
            names(&keeper).unwrap_err();
        }
        let fault = keeper.write(put("x")).await.unwrap_err();
        assert_eq!(fault.code.status(), 503);
        assert!(fault.message.contains("it is damaged"), "{fault}");
        // However it came about, it stays that way.
        drive.is_damaged.store(false, Ordering::SeqCst);
        assert_eq!(names(&keeper).unwrap_err().message, fault.message);
        assert_eq!(keeper.write(put("y")).await.unwrap_err().message, fault.message);
    }
}
