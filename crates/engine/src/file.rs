//! Reads files that a user names: regular files only, completely, and up to a size limit.
//!
//! Reading a pipe without a writer would block for ever, and a device may never end.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// The content of a regular file that is no larger than `most` bytes.
///
/// Errors: those of the file system; it is not a regular file, or larger
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    within(open(path)?, most)
}

/// Reads everything from a source that ends after at most `most` bytes.
///
/// Errors: those of reading; it is larger
pub fn within(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        let limit = format!("it is larger than {} MiB", most >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, limit));
    }
    Ok(content)
}

/// A regular file, open for reading.
///
/// Errors: those of the file system; it is not a regular file
pub fn open(path: &Path) -> io::Result<File> {
    // Non-blocking, because opening a pipe would block until it has a writer.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() {
        return Ok(file);
    }
    let what = format!("it is a {}, not a regular file", kind(&metadata));
    Err(io::Error::new(ErrorKind::InvalidInput, what))
}

fn kind(metadata: &Metadata) -> &'static str {
    let kind = metadata.file_type();
    match () {
        () if kind.is_dir() => "folder",
        () if kind.is_fifo() => "pipe",
        () if kind.is_socket() => "socket",
        () => "device",
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn refusal(path: &Path) -> String {
        read(path, 10).expect_err("it is no file of ten bytes").to_string()
    }

    #[test]
    fn a_regular_file_is_read_up_to_its_bound() {
        let path = std::env::temp_dir().join(format!("file-{}", std::process::id()));
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read(&path, 10).unwrap(), b"0123456789");
        assert_eq!(read(&path, 9).unwrap_err().kind(), ErrorKind::FileTooLarge);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read(&path, 10).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn what_has_no_end_is_refused_without_waiting() {
        assert_eq!(refusal(Path::new("/dev/zero")), "it is a device, not a regular file");
        assert_eq!(refusal(Path::new("/")), "it is a folder, not a regular file");
        let pipe = std::env::temp_dir().join(format!("pipe-{}", std::process::id()));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(refusal(&pipe), "it is a pipe, not a regular file");
        std::fs::remove_file(&pipe).unwrap();
    }
}
