//! What a folder of an earlier server needs: its leftovers removed, its messages on the shelf.

use std::fs::{self, DirEntry, File};
use std::io::{self, BufReader};
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};

use super::name::{Names, given_at};
use super::trace;
use crate::store::shelf::{Arriving, Content, Shelf, Slip};

/// Age from which on anything in `tmp` is a leftover, as the page on maildirs says.
const OLD: Duration = Duration::from_secs(36 * 3600);

/// Removes what nobody will finish: files of processes of this host that are gone, and very old ones.
///
/// Errors: the folder cannot be read; a file that cannot be removed is left alone
pub(super) fn clean(tmp: &Path, names: &Names) -> io::Result<()> {
    for entry in fs::read_dir(tmp)?.flatten() {
        let name = entry.file_name();
        let giver = name.to_str().and_then(|name| names.process_of(name));
        let is_orphan = giver.is_some_and(|process| !lives(process));
        let modified = entry.metadata().and_then(|about| about.modified()).ok();
        let age = modified.and_then(|modified| modified.elapsed().ok());
        if is_orphan || age.is_some_and(|age| age > OLD) {
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Whether a process is there, be it somebody else's. This one has given no names yet.
fn lives(process: u32) -> bool {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let is_other = process != std::process::id();
    is_other && pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// Puts the newest messages on the shelf, oldest first.
///
/// Errors: the folder cannot be read; a message that cannot be read is left out
pub(super) fn list(new: &Path, shelf: &Shelf) -> io::Result<()> {
    // Whoever opened a pipe would wait for somebody to write to it.
    let is_file = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let files = fs::read_dir(new)?.flatten().filter(is_file);
    let names = files.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<(i64, String)> = names.map(|name| (given_at(&name), name)).collect();
    names.sort_unstable();
    let surplus = names.len().saturating_sub(shelf.bounds().messages);
    for (received_at, name) in names.drain(surplus..) {
        let path = new.join(&name);
        let Ok((slip, before, size)) = look(&path, &name) else { continue };
        let Ok(reserved) = shelf.reserve(&slip) else { continue };
        let content = Content::File(path, before);
        let arriving = Arriving { id: Some(name), received_at, slip, size, content };
        shelf.put(arriving, Some(reserved));
    }
    Ok(())
}

/// Who sent a message to whom, where it begins in the file, and how long it is.
fn look(path: &Path, name: &str) -> io::Result<(Slip, usize, u64)> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let (slip, before) = trace::read(BufReader::new(file), name).unwrap_or_default();
    Ok((slip, before, length - before as u64))
}
