//! What a part leaves behind when it ends: processes that it started and that left its group.
//!
//! They become children of this process instead of process 1, so that an observer of this process
//! finds them below it, and they end with it at the latest.
//!
//! Not here: the parts themselves, which are ended with their groups (see `child`). Use it only in
//! a process that does nothing but serve: every process below it that appeared since is ended.

use std::fs;

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid,
};

/// What there is below this process beside those that it had before. When this is dropped, also by a panic, all of it is
/// ended.
#[must_use]
#[derive(Debug)]
pub struct Below {
    /// The program that became this process by `exec` may have started some; they are not ours.
    before: Vec<Pid>,
}

/// From now on orphans below this process become its children. Keep the value until serving has
/// ended.
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
            // It may have ended already, and is reaped all the same.
            let _ = kill_process(pid, Signal::KILL);
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero().to_string();
    let is_own = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // After the name, which is in parentheses and may contain parentheses: the state, and the
        // parent.
        stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)) == Some(&*own)
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(is_own).filter_map(Pid::from_raw).collect()
}
