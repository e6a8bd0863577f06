//! Where the sockets of a producer are: a folder that only its user can look into.

use std::fs::DirBuilder;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// How many names of a fresh folder are tried.
const TRIES: u32 = 1_000;

/// A folder; one that was made here is removed when dropped, if it is empty by then.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    is_made: bool,
}

impl Folder {
    /// The folder that was given, made if there is none, or else a fresh one.
    pub(super) fn open(given: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = given else { return Self::fresh() };
        let path = path.to_owned();
        match make(&path) {
            Ok(()) => Ok(Self { path, is_made: true }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {
                Ok(Self { path, is_made: false })
            }
            Err(error) => Err(error),
        }
    }

    /// One that nobody else has: under the user's runtime folder where there is one.
    fn fresh() -> Result<Self, Error> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let base = runtime.filter(|path| path.is_dir()).unwrap_or_else(std::env::temp_dir);
        for number in 0..TRIES {
            let path = base.join(format!("exchange-{}-{number}", std::process::id()));
            match make(&path) {
                Ok(()) => return Ok(Self { path, is_made: true }),
                // Somebody's, who had this process's number before: not ours to use.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// A file in it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

fn make(path: &Path) -> Result<(), Error> {
    DirBuilder::new().mode(0o700).create(path)
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_made {
            // What others put there is theirs.
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// One test, for a name that is free again is anybody's of this process.
    #[test]
    fn folders_come_and_go() {
        a_fresh_folder_is_its_users_alone_and_goes();
        a_folder_that_was_there_stays_and_so_does_what_others_put_into_ours();
    }

    fn a_fresh_folder_is_its_users_alone_and_goes() {
        let folders = [(); 2].map(|()| Folder::open(None).unwrap());
        let paths = folders.each_ref().map(|folder| folder.path.clone());
        assert_ne!(paths[0], paths[1]);
        for path in &paths {
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        }
        drop(folders);
        assert!(paths.iter().all(|path| !path.exists()));
    }

    fn a_folder_that_was_there_stays_and_so_does_what_others_put_into_ours() {
        let outer = Folder::open(None).unwrap();
        let given = outer.file("given");
        drop(Folder::open(Some(&given)).unwrap());
        assert!(!given.exists(), "it was made here");
        std::fs::create_dir(&given).unwrap();
        drop(Folder::open(Some(&given)).unwrap());
        assert!(given.exists(), "it was there");
        std::fs::remove_dir(&given).unwrap();
        std::fs::write(&given, "a file").unwrap();
        assert!(Folder::open(Some(&given)).is_err());
        let path = outer.path.clone();
        drop(outer);
        assert!(given.exists());
        std::fs::remove_dir_all(path).unwrap();
    }
}
