//! A scratch folder, removed afterwards.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A folder that exists as long as this value.
#[derive(Debug)]
pub struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// A fresh folder below `root`, which is created if it is missing.
    ///
    /// Errors: those of the file system
    pub fn new(root: &Path, name: &str) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        let root = root.canonicalize()?;
        let own = std::process::id();
        for number in 0_u32.. {
            let path = root.join(format!("{name}-{own}-{number}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // Errors cannot be reported here; the rest stays below the root that the caller chose.
        let _ = fs::remove_dir_all(&self.0);
    }
}
