//! What can go wrong with a stored run.

use std::io;

/// A file of a run folder that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file system refused.
    #[error("{file}: {source}")]
    Io {
        /// Path in the run folder.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// The content is not what this file should hold.
    #[error("{file}, line {line}: {problem}")]
    Malformed {
        /// Path in the run folder.
        file: String,
        /// Line, from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The content contradicts another file, or itself.
    #[error("{file}: {problem}")]
    Contradictory {
        /// Path in the run folder.
        file: String,
        /// What does not fit.
        problem: String,
    },
}

impl RecordError {
    pub(crate) fn io(file: &str) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { file: file.to_owned(), source }
    }
}
