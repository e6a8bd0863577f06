//! What a part leaves behind when it ends: processes that it started and that left its group.
//!
//! They come to this process in place of the machine's first one, so that whoever looks after this process finds them
//! below it, and they end with it at the latest.
//!
//! Not here: the parts themselves, which are ended with their groups (see `child`). It is for a process that
//! does nothing but serve: what came to be below it since is ended, whoever started it.

use std::fs;

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid,
};

/// What there is below this process beside those that it had before. When this is dropped, also by a panic, all of it is
/// ended.
#[must_use]
#[derive(Debug)]
pub struct Below {
    /// Whoever became this process by `exec` may have started some; they are not ours.
    before: Vec<Pid>,
}

/// From now on whatever loses its parent below this process comes to it. To be kept until nothing is served any more.
pub fn adopt() -> Below {
    // Where the kernel refuses, they go to the first process, as they would have done.
    let _ = set_child_subreaper(Some(getpid()));
    Below { before: children() }
}

impl Drop for Below {
    fn drop(&mut self) {
        end(&self.before);
    }
}

fn end(before: &[Pid]) {
    // What one of them has started comes here when it is gone.
    loop {
        let mut left = children();
        left.retain(|pid| !before.contains(pid));
        if left.is_empty() {
            return;
        }
        for pid in left {
            // It may have ended by itself, and is collected all the same.
            let _ = kill_process(pid, Signal::KILL);
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero().to_string();
    let is_own = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Behind the name, which stands in parentheses and may have any in it: the state, and the parent.
        stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)) == Some(&*own)
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(is_own).filter_map(Pid::from_raw).collect()
}
