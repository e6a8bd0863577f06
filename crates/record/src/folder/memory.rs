//! A run folder in memory, for tests and for reports that are not kept.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Folder;

/// Files in memory; clones share them. What was written can be read at once, whether flushed or not.
#[derive(Debug, Clone, Default)]
pub struct MemoryFolder {
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

impl MemoryFolder {
    /// The bytes of a file, if it is there.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        self.files().get(path).cloned()
    }

    /// Names of all files, sorted.
    pub fn names(&self) -> Vec<String> {
        self.files().keys().cloned().collect()
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        // A writer that panicked leaves a file that is shorter, not one that is wrong.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Folder for MemoryFolder {
    fn create(&self, path: &str) -> io::Result<Box<dyn Write + Send>> {
        self.files().insert(path.to_owned(), Vec::new());
        Ok(Box::new(MemoryFile { folder: self.clone(), path: path.to_owned() }))
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn Read>> {
        let content = self.content(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(content)))
    }

    fn exists(&self, path: &str) -> bool {
        self.files().contains_key(path)
    }
}

struct MemoryFile {
    folder: MemoryFolder,
    path: String,
}

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.folder.files().entry(self.path.clone()).or_default().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
