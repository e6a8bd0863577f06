//! Where the sockets of a producer are: a folder that only its user can look into.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::{SHM, UNIX};
use crate::race;

/// How many names of a fresh folder are tried.
const TRIES: u32 = 1_000;
/// What names of fresh folders begin with; the process's number and another one follow.
const FRESH: &str = "exchange-";

/// A folder; one that was made here is removed when dropped, if it is empty by then.
#[derive(Debug)]
pub(super) struct SocketFolder {
    path: PathBuf,
    is_made: bool,
    /// Locked while its producer lives; `None` if the file system has no locks.
    _held: Option<File>,
}

impl SocketFolder {
    /// The given folder, created if missing, or else a fresh one.
    ///
    /// Errors: the system's, with the path
    pub(super) fn open(given: Option<&Path>) -> Result<Self, Error> {
        match given {
            Some(path) => Self::given(path),
            None => Self::fresh(&base()),
        }
    }

    fn given(path: &Path) -> Result<Self, Error> {
        for _ in 0..TRIES {
            let is_made = match make(path) {
                Ok(()) => true,
                Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => false,
                Err(error) => return Err(at(path, &error)),
            };
            if let Some(folder) = Self::hold(path.to_owned(), is_made) {
                return Ok(folder);
            }
        }
        Err(at(path, &ErrorKind::NotFound.into()))
    }

    /// A unique folder; those of dead producers beside it are removed.
    fn fresh(base: &Path) -> Result<Self, Error> {
        sweep(base);
        for _ in 0..TRIES {
            // Drawn, so that no name comes again: one that was swept before it was locked could by
            // then be another producer's of this process.
            let number = RandomState::new().hash_one(base);
            let path = base.join(format!("{FRESH}{}-{number}", std::process::id()));
            match make(&path) {
                Ok(()) => {
                    if let Some(folder) = Self::hold(path, true) {
                        return Ok(folder);
                    }
                }
                // It belongs to an earlier process with this number: not ours to use.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(at(&path, &error)),
            }
        }
        Err(at(base, &ErrorKind::AlreadyExists.into()))
    }

    /// Locks it; `None` if another process removed it meanwhile as a dead producer's.
    fn hold(path: PathBuf, is_made: bool) -> Option<Self> {
        // What cannot be locked is not taken for a dead one's, either.
        let held = File::open(&path).ok().filter(|folder| folder.lock_shared().is_ok());
        let folder = Self { path, is_made, _held: held };
        folder.path.is_dir().then_some(folder)
    }

    /// A file in it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for SocketFolder {
    fn drop(&mut self) {
        if self.is_made {
            // What others put there is theirs.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

fn make(path: &Path) -> Result<(), Error> {
    DirBuilder::new().mode(0o700).create(path)
}

fn at(path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Where fresh folders are: the user's runtime folder if there is one.
fn base() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    runtime.filter(|path| path.is_dir()).unwrap_or_else(std::env::temp_dir)
}

/// Removes the folders of producers that were killed.
fn sweep(base: &Path) {
    let user = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let is_ours = || entry.metadata().is_ok_and(|it| it.is_dir() && it.uid() == user);
        if is_fresh_name(&entry.file_name()) && is_ours() {
            remove_dead(&entry.path());
        }
    }
}

fn is_fresh_name(name: &OsStr) -> bool {
    let numbers = name.to_str().and_then(|name| name.strip_prefix(FRESH)?.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

/// Removes a producer's folder, unless a process holds it or answers there. The number in its name
/// does not matter: a restarted producer may use the folder of another one, and the number may be
/// reused.
fn remove_dead(path: &Path) {
    let Ok(folder) = File::open(path) else { return };
    if folder.try_lock().is_err() {
        return;
    }
    // Only a dead one's place can be taken; given up again at once, its file is gone.
    let is_dead = |name: &&str| shm_channel::listen(&path.join(name)).is_ok();
    if [UNIX, SHM].iter().all(is_dead) {
        let _ = race::File::at(path.join(race::NAME)).remove();
        // What others put there stays.
        let _ = fs::remove_dir(path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;
    use std::time::{Duration, Instant};

    use super::*;

    /// One test, because a free name may be taken by any test of this process.
    #[test]
    fn folders_come_and_go() {
        a_fresh_folder_is_its_users_alone_and_goes();
        a_folder_that_was_there_stays_and_so_does_what_others_put_into_ours();
        what_dead_producers_left_goes_with_the_next_fresh_folder_and_nothing_else();
        what_cannot_be_made_is_named();
        no_two_producers_get_the_same_folder();
    }

    fn a_fresh_folder_is_its_users_alone_and_goes() {
        let folders = [(); 2].map(|()| SocketFolder::open(None).unwrap());
        let paths = folders.each_ref().map(|folder| folder.path.clone());
        assert_ne!(paths[0], paths[1]);
        for path in &paths {
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        }
        drop(folders);
        assert!(paths.iter().all(|path| !path.exists()));
    }

    fn a_folder_that_was_there_stays_and_so_does_what_others_put_into_ours() {
        let outer = SocketFolder::open(None).unwrap();
        let given = outer.file("given");
        drop(SocketFolder::open(Some(&given)).unwrap());
        assert!(!given.exists(), "it was made here");
        fs::create_dir(&given).unwrap();
        drop(SocketFolder::open(Some(&given)).unwrap());
        assert!(given.exists(), "it was there");
        fs::remove_dir(&given).unwrap();
        fs::write(&given, "a file").unwrap();
        let text = SocketFolder::open(Some(&given)).unwrap_err().to_string();
        assert!(text.starts_with(&format!("{}: File exists", given.display())), "{text}");
        let path = outer.path.clone();
        drop(outer);
        assert!(given.exists());
        fs::remove_dir_all(path).unwrap();
    }

    fn what_dead_producers_left_goes_with_the_next_fresh_folder_and_nothing_else() {
        let outer = SocketFolder::open(None).unwrap();
        let folder = |name: &str| {
            let path = outer.file(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let (dead, empty) = (folder("exchange-1-0"), folder("exchange-2-17"));
        drop([UNIX, SHM].map(|name| UnixListener::bind(dead.join(name)).unwrap()));
        fs::write(dead.join(race::NAME), "what nobody read").unwrap();
        let (answers, others) = (folder("exchange-3-0"), folder("exchange-4-0"));
        let _listener = UnixListener::bind(answers.join(UNIX)).unwrap();
        fs::write(others.join("file"), "somebody's").unwrap();
        let (named, target) = (folder("exchange-test-5-0"), folder("exchange-6"));
        symlink(&target, outer.file("exchange-7-0")).unwrap();
        let mine = SocketFolder::fresh(&outer.path).unwrap();
        // Started again in the place of one that is dead.
        let again = SocketFolder::given(&folder("exchange-8-0")).unwrap();
        let next = SocketFolder::fresh(&outer.path).unwrap();
        assert!(!dead.exists() && !empty.exists());
        let stay = [answers.join(UNIX), others.join("file"), named, target];
        assert!(stay.iter().all(|path| path.exists()), "{stay:?}");
        assert!([&mine, &again, &next].iter().all(|folder| folder.path.is_dir()));
        drop((mine, again, next));
        // A child that another test is starting has copies of the locks until it runs its program.
        let begun = Instant::now();
        while outer.file("exchange-8-0").exists() {
            assert!(begun.elapsed() < Duration::from_secs(30), "its second producer is dead, too");
            drop(SocketFolder::fresh(&outer.path).unwrap());
        }
        fs::remove_dir_all(&outer.path).unwrap();
    }

    fn what_cannot_be_made_is_named() {
        let text = SocketFolder::open(Some(Path::new("/proc/nope"))).unwrap_err().to_string();
        assert!(text.starts_with("/proc/nope: "), "{text}");
    }

    /// While each sweeps away what it takes for a dead one's.
    fn no_two_producers_get_the_same_folder() {
        let outer = SocketFolder::open(None).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let folder = SocketFolder::fresh(&outer.path).unwrap();
                        let socket = folder.file(UNIX);
                        let bound = UnixListener::bind(&socket);
                        drop(bound.expect("nobody else listens there"));
                        fs::remove_file(socket).unwrap();
                    }
                });
            }
        });
        fs::remove_dir_all(&outer.path).unwrap();
    }
}
