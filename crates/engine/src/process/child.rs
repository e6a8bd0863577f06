//! One child process: started in its own group, its output read, and always reaped.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, kill_process_group,
    set_parent_process_death_signal, test_kill_process, test_kill_process_group, waitpgid, waitpid,
};
use rustix::thread::{CpuSet, sched_setaffinity};

use super::ready::ReadyLine;
use super::usage;

/// The listen address of a system: the kernel chooses the port.
pub(super) const ANY_PORT: &str = "127.0.0.1:0";
/// Lines of output that are kept for a message.
const LINES_KEPT: usize = 12;
/// Characters of each of them.
const LINE_KEPT: usize = 500;
/// Longest line that is read whole; a longer one comes in pieces.
const LINE_LIMIT: u64 = 1 << 20;
/// Pause between two checks of a process.
pub(super) const PAUSE: Duration = Duration::from_millis(2);
/// How long a killed process may take to disappear; that is immediate unless the kernel holds it.
const KILLED_WITHIN: Duration = Duration::from_secs(5);
/// How long to wait for the last output of a dead process.
const LAST_WORDS_WITHIN: Duration = Duration::from_millis(250);

/// A running child. Dropping it stops it and everything that it started.
#[derive(Debug)]
pub(super) struct Child {
    argv: Vec<String>,
    cores: CpuSet,
    process: std::process::Child,
    group: Pid,
    ended: Option<ExitStatus>,
    tail: Arc<Mutex<VecDeque<String>>>,
    ready: Receiver<ReadyLine>,
    readers: Vec<JoinHandle<()>>,
    stop_within: Duration,
    stopped: bool,
}

impl Child {
    /// Starts a program without a shell, on these processors.
    ///
    /// The kernel ends it when the calling thread ends, for any reason. So the caller's thread must
    /// live as long as the child should.
    ///
    /// Errors: those of the operating system, for example that the program does not exist
    pub fn spawn(argv: &[String], cores: CpuSet, stop_within: Duration) -> io::Result<Self> {
        let (program, arguments) =
            argv.split_first().ok_or_else(|| io::Error::other("the command is empty"))?;
        let mut command = Command::new(program);
        command.args(arguments).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        prepare(&mut command, cores);
        let mut process = command.spawn()?;
        let group = Pid::from_child(&process);
        let tail = Arc::new(Mutex::new(VecDeque::with_capacity(LINES_KEPT)));
        let (sender, ready) = channel();
        let mut readers = Vec::new();
        if let Some(stdout) = process.stdout.take() {
            readers.push(listen(stdout, tail.clone(), Some(sender)));
        }
        if let Some(stderr) = process.stderr.take() {
            readers.push(listen(stderr, tail.clone(), None));
        }
        Ok(Self {
            argv: argv.to_vec(),
            cores,
            process,
            group,
            ended: None,
            tail,
            ready,
            readers,
            stop_within,
            stopped: false,
        })
    }

    /// Starts the same program again; if its port was assigned, it gets the address of the first
    /// start.
    ///
    /// Errors: as [`Child::spawn`]
    pub fn again(&self, listened: Option<&str>) -> io::Result<Self> {
        let address = |argument: &String| match listened {
            Some(listened) if argument == ANY_PORT => listened.to_owned(),
            _ => argument.clone(),
        };
        let argv: Vec<String> = self.argv.iter().map(address).collect();
        Self::spawn(&argv, self.cores, self.stop_within)
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The ready line, once it was printed.
    pub fn ready_line(&self) -> Option<ReadyLine> {
        self.ready.try_recv().ok()
    }

    /// How it ended, in words, if it has ended.
    pub fn ended(&mut self) -> Option<String> {
        if self.ended.is_none() {
            self.ended = self.process.try_wait().ok().flatten();
        }
        self.ended.map(in_words)
    }

    /// The last lines that it printed; waits a moment for those of a dead process.
    pub fn output(&self) -> Vec<String> {
        if self.ended.is_some() {
            let deadline = Instant::now() + LAST_WORDS_WITHIN;
            while !self.readers.iter().all(JoinHandle::is_finished) && Instant::now() < deadline {
                thread::sleep(PAUSE);
            }
        }
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.iter().cloned().collect()
    }

    /// Ends it and everything that it started: asks, waits, kills. Returns whether it had to be
    /// killed.
    pub fn stop(&mut self) -> bool {
        if self.stopped {
            return false;
        }
        self.stopped = true;
        let strays = self.strays();
        self.signal(Signal::TERM, &strays);
        // A frozen process can end only after it continues.
        self.signal(Signal::CONT, &strays);
        if self.wait_until_gone(self.stop_within, &strays) {
            return false;
        }
        self.signal(Signal::KILL, &strays);
        self.wait_until_gone(KILLED_WITHIN, &strays);
        true
    }

    /// Kills it and everything that it started, and reaps them.
    pub fn kill(&mut self) {
        self.stopped = true;
        let strays = self.strays();
        self.signal(Signal::KILL, &strays);
        self.wait_until_gone(KILLED_WITHIN, &strays);
    }

    /// Sends a signal to it and everything that it started.
    pub fn send(&self, signal: Signal) {
        self.signal(signal, &self.strays());
    }

    /// Descendants that left the group.
    fn strays(&self) -> Vec<Pid> {
        usage::family(self.pid(), &[])
            .values()
            .filter(|usage| usage.group != self.pid())
            .filter_map(|usage| Pid::from_raw(i32::try_from(usage.pid).ok()?))
            .collect()
    }

    fn signal(&self, signal: Signal, strays: &[Pid]) {
        // A process that has already ended is fine.
        let _ = kill_process_group(self.group, signal);
        for stray in strays {
            let _ = kill_process(*stray, signal);
        }
    }

    fn wait_until_gone(&mut self, within: Duration, strays: &[Pid]) -> bool {
        let deadline = Instant::now() + within;
        loop {
            if self.ended().is_some() {
                self.reap(strays);
                let is_gone = test_kill_process_group(self.group).is_err()
                    && strays.iter().all(|stray| test_kill_process(*stray).is_err());
                if is_gone {
                    return true;
                }
            }
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(PAUSE);
        }
    }

    /// Reaps orphans, which become children of this process because it is a subreaper (see the
    /// launcher). This must happen after the leader was reaped, so that the leader's status is not
    /// lost here.
    fn reap(&self, strays: &[Pid]) {
        while matches!(waitpgid(self.group, WaitOptions::NOHANG), Ok(Some(_))) {}
        for stray in strays {
            let _ = waitpid(Some(*stray), WaitOptions::NOHANG);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Sets the process attributes that must be set between fork and exec.
#[expect(unsafe_code, reason = "the standard library has no other way to run code before exec")]
pub(super) fn prepare(command: &mut Command, cores: CpuSet) {
    let parent = getpid();
    let before_exec = move || {
        set_parent_process_death_signal(Some(Signal::TERM))?;
        // The parent may have died before the line above took effect.
        if getppid() != Some(parent) {
            return Err(io::ErrorKind::NotConnected.into());
        }
        if cores.count() > 0 {
            sched_setaffinity(None, &cores)?;
        }
        Ok(())
    };
    // SAFETY: the closure runs in the forked child, where only async-signal-safe calls are allowed.
    // It makes three bare system calls, and neither allocates nor takes a lock: `cores` and `parent`
    // are plain values, and errors are made of plain numbers.
    unsafe {
        command.pre_exec(before_exec);
    }
}

/// Reads a pipe to its end, so that the child never blocks on it; keeps the last lines.
fn listen(
    pipe: impl Read + Send + 'static,
    tail: Arc<Mutex<VecDeque<String>>>,
    ready: Option<Sender<ReadyLine>>,
) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        let mut ready = ready;
        loop {
            line.clear();
            match pipe.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if let Some(parsed) = ready.as_ref().and_then(|_| ReadyLine::parse(&line)) {
                if let Some(sender) = ready.take() {
                    // The launcher may have given up waiting.
                    let _ = sender.send(parsed);
                }
                continue;
            }
            let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
            if tail.len() == LINES_KEPT {
                tail.pop_front();
            }
            let text = String::from_utf8_lossy(line.trim_ascii_end());
            tail.push_back(text.chars().take(LINE_KEPT).collect());
        }
    })
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}
