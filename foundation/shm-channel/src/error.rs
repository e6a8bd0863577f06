//! What can go wrong, on either side.

use std::io;
use std::path::PathBuf;

/// Bytes of a socket's path: those of `sun_path` without the zero at its end.
pub(crate) const LONGEST_PATH: usize = 107;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused something.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Settings that no channel can have.
    #[error("{0}")]
    Settings(String),
    /// Another process answers at this path already.
    #[error("{}: another process is listening there already; choose another path", .0.display())]
    InUse(PathBuf),
    /// There is a file at this path that is not a socket; it is left alone.
    #[error("{}: there is a file that is not a socket; remove it or choose another path", .0.display())]
    NotASocket(PathBuf),
    /// The kernel has no room for the path of this socket.
    #[error(
        "{}: a socket's path has at most {LONGEST_PATH} bytes, this one has {}",
        .0.display(),
        .0.as_os_str().len()
    )]
    LongPath(PathBuf),
    /// What answers at the path is not a producer.
    #[error("this is no producer of a shared-memory channel")]
    NotAProducer,
    /// The producer has another version of the layout.
    #[error("the producer has version {theirs} of the layout, we have {ours}")]
    Version {
        /// The producer's.
        theirs: u32,
        /// Ours.
        ours: u32,
    },
    /// There are as many clients as there may be.
    #[error("the producer has its {limit} clients already")]
    Crowded {
        /// How many there may be.
        limit: u32,
    },
    /// The producer runs as another user.
    #[error("the producer lets in processes of its own user alone")]
    OtherUser,
    /// The producer could not take us in: its system is short of memory or descriptors, or the
    /// worker whose turn it was has ended.
    #[error("the producer could not take us in")]
    ProducerFailed,
    /// The producer is gone; connect anew.
    #[error("the producer is gone")]
    Gone,
    /// No answer came in time. The slots stay with the request until its answer comes.
    #[error("no answer in time")]
    Deadline,
    /// No run of so many neighbouring slots is free: answers are held, or requests under way.
    #[error("no {slots} neighbouring slots are free")]
    NoSlot {
        /// How many were wanted.
        slots: u32,
    },
    /// A payload that the room has no place for.
    #[error("{needed} bytes are needed where there is room for {most}")]
    TooLarge {
        /// Length of the payload.
        needed: u64,
        /// What there was room for.
        most: u64,
    },
    /// The producer's handler refused the request, with a number of its own.
    #[error("refused: {0}")]
    Refused(u64),
    /// Shared memory holds something invalid; connect again.
    #[error("the channel is damaged: {0}")]
    Damaged(&'static str),
}

/// An error of the system, with what was being done.
pub(crate) fn while_doing<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Error {
    move |source| Error::Io { doing, source: source.into() }
}
