//! A disk in memory that can be full, for tests of files.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::backends::InMemoryBackend;
use redb::{Database, DatabaseError, StorageBackend};

/// A disk that can be full; clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct TestDisk {
    bytes: Arc<InMemoryBackend>,
    is_full: Arc<AtomicBool>,
}

impl TestDisk {
    fn room(&self) -> io::Result<()> {
        let full = || Err(io::ErrorKind::StorageFull.into());
        if self.is_full.load(Ordering::SeqCst) { full() } else { Ok(()) }
    }

    /// Makes the disk full, or frees space again.
    pub fn fill(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::SeqCst);
    }

    /// Opens the file on it.
    pub fn opener(&self) -> Box<dyn Fn() -> Result<Database, DatabaseError> + Send> {
        let disk = self.clone();
        Box::new(move || Database::builder().create_with_backend(disk.clone()))
    }
}

impl StorageBackend for TestDisk {
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
