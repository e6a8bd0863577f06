//! The file: written in place, read, removed.

use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::de::IgnoredAny;

use crate::failure::Failure;

/// Its name, the same for all requests.
pub(crate) const NAME: &str = "users_shm";
/// Longest payload that is read.
const LONGEST: u64 = 64 << 20;

/// One file for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    path: PathBuf,
}

impl File {
    /// The one at this path.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Removes what is there, and writes in its place.
    ///
    /// Errors: the system's
    pub fn write(&self, payload: &[u8]) -> io::Result<()> {
        self.remove()?;
        let length = u32::try_from(payload.len()).map_err(io::Error::other)?;
        let mut file = fs::File::create(&self.path)?;
        file.write_all(&length.to_be_bytes())?;
        file.write_all(payload)
    }

    /// Reads what is there, decodes it, and removes it.
    ///
    /// Errors: there is no file, only a part of one, or no JSON in it; these are left there
    pub fn take(&self) -> Result<Vec<u8>, Failure> {
        let payload = self.read().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Failure::Damaged("the file does not exist".to_owned()),
            io::ErrorKind::UnexpectedEof => {
                Failure::Damaged("the file is shorter than its header says".to_owned())
            }
            _ => Failure::Damaged(format!("the file cannot be read: {error}")),
        })?;
        serde_json::from_slice::<IgnoredAny>(&payload)
            .map_err(|error| Failure::Damaged(format!("the file is not JSON: {error}")))?;
        // What was read is delivered in any case.
        let _ = self.remove();
        Ok(payload)
    }

    /// Removes what is there, if anything.
    ///
    /// Errors: the system's
    pub fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let mut file = fs::File::open(&self.path)?;
        let mut length = [0; 4];
        file.read_exact(&mut length)?;
        let length = u64::from(u32::from_be_bytes(length)).min(LONGEST);
        let mut payload = Vec::new();
        let read = file.take(length).read_to_end(&mut payload)? as u64;
        if read < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(payload) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file in a folder of the test's own.
    struct TempFile(PathBuf, File);

    impl TempFile {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("race-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            let file = File::at(path.join(NAME));
            Self(path, file)
        }
    }

    impl Drop for TempFile {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn damage(taken: Result<Vec<u8>, Failure>) -> String {
        match taken {
            Err(Failure::Damaged(what)) => what,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_written_is_read_once() {
        let place = TempFile::new("once");
        place.1.write(b"[1]").unwrap();
        assert_eq!(fs::read(place.0.join(NAME)).unwrap(), b"\0\0\0\x03[1]");
        assert_eq!(place.1.take().unwrap(), b"[1]");
        assert_eq!(damage(place.1.take()), "the file does not exist");
    }

    /// The race that was taken for a property of shared memory.
    #[test]
    fn the_first_reader_gets_what_the_last_writer_wrote() {
        let place = TempFile::new("last");
        place.1.write(b"[\"mine\"]").unwrap();
        place.1.write(b"[\"yours\"]").unwrap();
        assert_eq!(place.1.take().unwrap(), b"[\"yours\"]");
        assert_eq!(damage(place.1.take()), "the file does not exist");
    }

    #[test]
    fn a_part_of_a_file_is_told_and_left() {
        let place = TempFile::new("part");
        for (bytes, text) in [
            (&b"\0\0"[..], "the file is shorter than its header says"),
            (b"\0\0\0\x03[1", "the file is shorter than its header says"),
            (b"\0\0\0\x02[1]", "the file is not JSON"),
            (b"", "the file is shorter than its header says"),
        ] {
            fs::write(place.0.join(NAME), bytes).unwrap();
            let what = damage(place.1.take());
            assert!(what.starts_with(text), "{bytes:?}: {what}");
            assert!(place.0.join(NAME).exists());
        }
    }
}
