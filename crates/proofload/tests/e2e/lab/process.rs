//! Running binaries: signals, and waiting for their output without guessing how long it takes.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use super::{Lab, Ran};

/// The running binary; the test ends and reaps it.
#[derive(Debug)]
pub struct Running {
    child: Option<Child>,
}

impl Running {
    pub fn new(child: Child) -> Self {
        Self { child: Some(child) }
    }

    pub fn pid(&self) -> Pid {
        pid(self.child.as_ref().expect("it runs"))
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the process takes signals");
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Ran {
        let child = self.child.take().expect("it runs");
        Ran::from(child.wait_with_output().expect("the binary ends"))
    }

    /// Waits until the first trial in the folder `run` has closed this many windows.
    pub fn await_windows(&self, lab: &Lab, many: usize) {
        self.await_events(lab, "window_closed", many);
    }

    /// Waits until its record has this many events of this name.
    pub fn await_events(&self, lab: &Lab, name: &str, many: usize) {
        let trial = lab.path("run/trials/001");
        let events = trial.join("events.jsonl");
        let name = format!("\"event\":\"{name}\"");
        self.await_in(lab, &trial, || {
            let text = std::fs::read_to_string(&events).unwrap_or_default();
            text.matches(&name).count() >= many
        });
    }

    /// Waits until `holds`, which can only change when something is written in `folder`.
    ///
    /// The folder may not exist yet, so its parents are watched, too. Panics if the process ends.
    pub fn await_in(&self, lab: &Lab, folder: &Path, holds: impl Fn() -> bool) {
        let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).expect("inotify");
        let end = pidfd_open(self.pid(), PidfdFlags::empty()).expect("the process is there");
        let within = folder.ancestors().take_while(|place| place.starts_with(lab.path("")));
        let mut places: Vec<&Path> = within.collect();
        // The outermost first: if a folder is created too late to be watched, its parent reports an event.
        places.reverse();
        loop {
            // Watches come before the check, so that any later change wakes the poll below.
            for place in &places {
                let _ = inotify::add_watch(&watch, *place, WatchFlags::CREATE | WatchFlags::MODIFY);
            }
            if holds() {
                return;
            }
            let mut events = [PollFd::new(&watch, PollFlags::IN), PollFd::new(&end, PollFlags::IN)];
            poll(&mut events, None).expect("waits");
            let ended = !events[1].revents().is_empty();
            assert!(!ended || holds(), "the binary ended early");
            let mut buffer = [0_u8; 4096];
            while rustix::io::read(&watch, &mut buffer).is_ok_and(|bytes| bytes > 0) {}
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn pid(child: &Child) -> Pid {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id")
}

/// Stops a process for this time, which the test needs exactly; it does not wait for an event.
///
/// Returns the longest possible stop in milliseconds: the sleeping test may wake late.
pub fn stop_for(pid: Pid, milliseconds: u64) -> f64 {
    let from = Instant::now();
    kill_process(pid, Signal::STOP).expect("stops the process");
    std::thread::sleep(Duration::from_millis(milliseconds));
    kill_process(pid, Signal::CONT).expect("continues the process");
    from.elapsed().as_secs_f64() * 1e3
}
