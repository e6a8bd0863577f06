//! A terminal that a test opens, in which it starts the binary, and which it closes.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::process::Running;
use super::{Lab, PROOFLOAD};

/// A terminal; it is closed when this is dropped.
pub struct Terminal {
    /// The controlling side. Nothing reads it: its buffer is large enough for a minute of output.
    _master: OwnedFd,
    own: File,
}

impl Terminal {
    pub fn open() -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a terminal");
        grantpt(&master).expect("it is ours");
        unlockpt(&master).expect("it can be opened");
        let name = OsString::from_vec(ptsname(&master, Vec::new()).expect("its name").into_bytes());
        let own = OpenOptions::new().read(true).write(true).open(name).expect("its other side");
        Self { _master: master, own }
    }

    /// Starts the binary in its foreground, under these commands (`nohup`). SIGHUP ends it unless these commands
    /// prevent that.
    pub fn start(&self, lab: &Lab, under: &[&str], arguments: &[&str]) -> Running {
        let end = || Stdio::from(self.own.try_clone().expect("one more descriptor"));
        let mut command = Command::new("setsid");
        command.args(["--ctty", "env", "--default-signal=HUP"]).args(under).arg(PROOFLOAD);
        let mut command = lab.prepare(command);
        command.args(arguments).stdin(end()).stdout(end()).stderr(end());
        Running::new(command.spawn().expect("setsid of util-linux starts"))
    }
}
