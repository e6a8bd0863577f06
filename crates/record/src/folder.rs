//! The run folder: which files it has, who writes them and who reads them.
//!
//! Everything goes through [`Folder`], so that this crate never sees a disk; the one on disk lives in the binary.

mod intact;
mod memory;
mod merging;
pub mod names;
mod origin;
mod reader;
mod samples;
#[cfg(test)]
mod tests;
mod writer;

use std::io::{self, Read, Write};

pub use memory::MemoryFolder;
pub use merging::{JoinedFacts, MergeError, MergedTrial};
pub use origin::{RunOrigin, RunRequest};
pub use reader::{Events, RunReader, WindowQuantity};
pub use samples::Samples;
pub use writer::{TrialHeader, TrialWriter, write_facts};

/// Named files, some of them in folders (`trials/001/events.jsonl`).
pub trait Folder {
    /// Begins a file, and the folders above it; an older file of the name is replaced.
    fn create(&self, path: &str) -> io::Result<Box<dyn Write + Send>>;

    /// Reads a file.
    fn open(&self, path: &str) -> io::Result<Box<dyn Read>>;

    /// Whether the file is there.
    fn exists(&self, path: &str) -> bool;
}
