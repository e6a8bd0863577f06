//! The run folder on disk. A new run never overwrites existing files.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use engine::file;
use record::folder::{Folder, names};

use crate::problem::Problem;

/// A folder on disk.
#[derive(Debug, Clone)]
pub struct Disk {
    root: PathBuf,
}

impl Disk {
    /// A new, empty folder.
    ///
    /// Errors: it is not empty, or cannot be created
    pub fn create(root: &Path) -> Result<Self, Problem> {
        if is_occupied(root) {
            return Err(Problem::environment(format!("{} already exists", root.display()))
                .during("making the run folder")
                .hint("name another folder with `--out`; nothing was overwritten"));
        }
        fs::create_dir_all(root).map_err(|error| unwritable(root, &error))?;
        Ok(Self { root: root.to_owned() })
    }

    /// The folder of an earlier run.
    ///
    /// Errors: it does not exist, or contains no run
    pub fn open(root: &Path) -> Result<Self, Problem> {
        if !root.join("plan.json").is_file() && !root.join("summary.json").is_file() {
            return Err(Problem::usage(format!("{} is not a run folder", root.display())).hint(
                "name a folder that `proofload run` made, such as the newest under `runs/`",
            ));
        }
        Ok(Self { root: root.to_owned() })
    }

    /// Locks the run until the returned file is dropped or the process ends.
    ///
    /// Errors: another process holds the lock
    pub fn hold(&self) -> Result<File, Problem> {
        let path = self.root.join(names::ORIGIN);
        let origin = file::open(&path).map_err(|error| unwritable(&path, &error))?;
        match origin.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let what = format!("the run in {} is still running", self.root.display());
                Err(Problem::usage(what).hint("wait for its end, or stop it first"))
            }
            // A file system without locks must not prevent a run.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(origin),
        }
    }

    /// Its path.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

fn is_occupied(root: &Path) -> bool {
    match fs::read_dir(root) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => root.exists(),
    }
}

/// The error if the folder or a file in it cannot be written.
pub fn unwritable(path: &Path, error: &io::Error) -> Problem {
    Problem::environment(format!("cannot write {}: {error}", path.display()))
        .during("writing the record")
        .hint("free some space or name another folder with `--out`")
}

impl Folder for Disk {
    fn create(&self, path: &str) -> io::Result<Box<dyn Write + Send>> {
        let path = self.root.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(Box::new(BufWriter::new(File::create(path)?)))
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(BufReader::new(file::open(&self.root.join(path))?)))
    }

    fn exists(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }
}
