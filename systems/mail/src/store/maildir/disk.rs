//! The disk operations, one by one, so that tests can make each of them fail.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::refusal::Refusal;

/// The disk operations of a delivery.
pub(super) trait Disk: Send + Sync + std::fmt::Debug + 'static {
    /// Creates a file that must not exist yet.
    fn create(&self, path: &Path) -> io::Result<File>;
    /// Writes all bytes.
    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()>;
    /// Returns when the file's content is on the disk.
    fn sync(&self, file: &File) -> io::Result<()>;
    /// Moves a file to its final path, which must not exist yet.
    fn publish(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Returns when the names in a folder are on the disk.
    fn sync_folder(&self, folder: &File) -> io::Result<()>;
}

/// The real disk.
#[derive(Debug)]
pub(super) struct RealDisk;

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        // A clock that was set back, or a reused process id, may produce a name twice. Only one
        // thread publishes, so there is no race.
        if to.try_exists()? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        fs::rename(from, to)
    }

    fn sync_folder(&self, folder: &File) -> io::Result<()> {
        folder.sync_all()
    }
}

/// Creates the maildir's folders if they are missing.
///
/// Errors: those of the kernel, for example that a file has the folder's name
pub(super) fn make(root: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    let made: Vec<&Path> = root.ancestors().take_while(|place| !place.exists()).collect();
    for name in ["tmp", "new", "cur"] {
        builder.create(root.join(name))?;
    }
    File::open(root)?.sync_all()?;
    // A new folder is durable once its parent is synced.
    for parent in made.iter().filter_map(|place| place.parent()) {
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        File::open(parent)?.sync_all()?;
    }
    Ok(())
}

/// The reply to the client after a disk error.
pub(super) fn refusal(error: &io::Error) -> Refusal {
    use rustix::io::Errno;
    const FULL: [Errno; 3] = [Errno::NOSPC, Errno::DQUOT, Errno::FBIG];
    if Errno::from_io_error(error).is_some_and(|errno| FULL.contains(&errno)) {
        Refusal::new(452, (4, 3, 1), "the disk is full")
    } else {
        Refusal::new(451, (4, 3, 0), "the disk failed")
    }
}
