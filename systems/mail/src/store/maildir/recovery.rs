//! Recovery of an earlier server's folder: removes leftovers, lists messages.

use std::fs::{self, DirEntry, File};
use std::io::{self, BufReader};
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};

use super::name::{UniqueNames, given_at};
use super::trace;
use crate::store::retained::{MessageSummary, NewMessage, RetainedMessages, StoredContent};

/// Minimum age at which any file in `tmp` is a leftover, from the specification of maildirs.
const OLD: Duration = Duration::from_secs(36 * 3600);

/// Removes unfinished files: those of ended processes of this host, and very old ones.
///
/// Errors: the folder cannot be read; a file that cannot be removed is left alone
pub(super) fn clean(tmp: &Path, names: &UniqueNames) -> io::Result<()> {
    for entry in fs::read_dir(tmp)?.flatten() {
        let name = entry.file_name();
        let giver = name.to_str().and_then(|name| names.process_of(name));
        let is_orphan = giver.is_some_and(|process| !process_exists(process));
        let modified = entry.metadata().and_then(|about| about.modified()).ok();
        let age = modified.and_then(|modified| modified.elapsed().ok());
        if is_orphan || age.is_some_and(|age| age > OLD) {
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Whether a process of any user exists. This process has no files yet.
fn process_exists(process: u32) -> bool {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let is_other = process != std::process::id();
    is_other && pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// Lists the newest messages, oldest first.
///
/// Errors: the folder cannot be read; a message that cannot be read is left out
pub(super) fn list(new: &Path, retained: &RetainedMessages) -> io::Result<()> {
    // Opening a pipe would block until another process opens it for writing.
    let is_file = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let files = fs::read_dir(new)?.flatten().filter(is_file);
    let names = files.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<(i64, String)> = names.map(|name| (given_at(&name), name)).collect();
    names.sort_unstable();
    let surplus = names.len().saturating_sub(retained.bounds().messages);
    for (received_at, name) in names.drain(surplus..) {
        let path = new.join(&name);
        let Ok((summary, before, size)) = read_summary(&path, &name) else { continue };
        let Ok(reserved) = retained.reserve(&summary) else { continue };
        let content = StoredContent::File(path, before);
        let arriving = NewMessage { id: Some(name), received_at, summary, size, content };
        retained.put(arriving, Some(reserved));
    }
    Ok(())
}

/// A message's envelope, the offset of its content in the file, and its length.
fn read_summary(path: &Path, name: &str) -> io::Result<(MessageSummary, usize, u64)> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let (summary, before) = trace::read(BufReader::new(file), name).unwrap_or_default();
    Ok((summary, before, length - before as u64))
}
