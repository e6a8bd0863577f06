use std::io;
use std::sync::atomic::AtomicBool;

use redb::StorageBackend;
use redb::backends::InMemoryBackend;
use serde_json::Map;

use super::*;
use crate::fault::Code;
use crate::filter::Filter;
use crate::store::Registration;
use crate::store::embedded::spaces::Space;

/// A disk that can be full; clones are the same disk.
#[derive(Debug, Clone, Default)]
struct Disk {
    bytes: Arc<InMemoryBackend>,
    is_full: Arc<AtomicBool>,
}

impl Disk {
    fn room(&self) -> io::Result<()> {
        let full = || Err(io::ErrorKind::StorageFull.into());
        if self.is_full.load(Ordering::SeqCst) { full() } else { Ok(()) }
    }

    fn opener(&self) -> Open {
        let disk = self.clone();
        Box::new(move || Database::builder().create_with_backend(disk.clone()))
    }

    /// Everybody on it, as a store that begins now reads it.
    fn everybody(&self) -> Vec<String> {
        let database = (self.opener())().unwrap();
        names(&load(&database).unwrap())
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.bytes.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.bytes.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.room()?;
        self.bytes.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.room()?;
        self.bytes.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.room()?;
        self.bytes.write(offset, data)
    }
}

fn names(spaces: &Spaces) -> Vec<String> {
    let everybody = |space: &Space| space.view.targets(&Filter::default(), 0);
    let there = spaces.look("here", everybody).unwrap_or_default();
    let mut names: Vec<String> = there.iter().map(|name| name.to_string()).collect();
    names.sort();
    names
}

fn registration(name: &str) -> Wish {
    let metadata = Map::new();
    let name = name.into();
    let registration = Registration { name, metadata, ttl_ms: None, replace: false, quota: 0 };
    Wish::Register("here".into(), registration)
}

#[tokio::test]
async fn a_full_disk_admits_nobody_and_is_used_again_when_it_has_room() {
    let disk = Disk::default();
    let spaces = Arc::<Spaces>::default();
    let journal = Journal::begin(disk.opener(), spaces.clone()).unwrap();
    journal.write(registration("ada")).await.unwrap();
    disk.is_full.store(true, Ordering::SeqCst);
    for name in ["bob", "cleo"] {
        let fault = journal.write(registration(name)).await.unwrap_err();
        assert_eq!(fault.code, Code::Unavailable);
        assert_eq!(names(&spaces), ["ada"], "who is not on the disk is not there");
    }
    disk.is_full.store(false, Ordering::SeqCst);
    journal.write(registration("dan")).await.unwrap();
    let there = names(&spaces);
    assert!(there.contains(&"ada".into()) && there.contains(&"dan".into()), "{there:?}");
    drop(journal);
    assert_eq!(disk.everybody(), there, "memory and disk differ");
}
