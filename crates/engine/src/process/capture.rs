//! Runs a program and captures its output, within limits of time and size.

use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use rustix::thread::CpuSet;

use super::child::{PAUSE, prepare};

/// Most bytes of its stderr that are kept.
const STDERR_LIMIT: u64 = 4 << 10;

/// Limits of a captured program.
#[derive(Debug, Clone, Copy)]
pub struct CaptureLimits {
    /// Time limit for the program to end.
    pub within: Duration,
    /// Bytes on its stdout.
    pub bytes: u64,
}

/// Why the output of a program could not be captured.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// It cannot be run.
    #[error("it cannot be started: {0}")]
    Spawn(#[source] io::Error),
    /// It had not ended in time, and was killed.
    #[error("it did not end within {0:?}")]
    Late(Duration),
    /// It printed too much, and was killed.
    #[error("it printed more than {0} bytes")]
    TooLong(u64),
    /// It failed.
    #[error("it ended with {status}{}", complaint.as_ref().map(|line| format!(": {line}")).unwrap_or_default())]
    Failed {
        /// Exit status or signal, in words.
        status: String,
        /// The first line that it printed on stderr.
        complaint: Option<String>,
    },
}

/// Runs a program without input and returns its stdout.
///
/// Errors: it fails or exceeds the limits; then it is killed with its whole group
pub fn capture(
    program: &Path,
    arguments: &[String],
    limits: CaptureLimits,
) -> Result<Vec<u8>, CaptureError> {
    let mut command = Command::new(program);
    command.args(arguments).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    prepare(&mut command, CpuSet::new());
    let process = command.spawn().map_err(CaptureError::Spawn)?;
    let mut child = CapturedProcess { process, has_ended: false };
    let deadline = Instant::now() + limits.within;
    let stdout = child.process.stdout.take().map(|pipe| read(pipe, limits.bytes));
    let stderr = child.process.stderr.take().map(|pipe| read(pipe, STDERR_LIMIT));
    let late = || CaptureError::Late(limits.within);
    let printed = stdout.map_or(Some(Vec::new()), |printed| received(&printed, deadline));
    let printed = printed.ok_or_else(late)?;
    if printed.len() as u64 > limits.bytes {
        return Err(CaptureError::TooLong(limits.bytes));
    }
    let status = child.ended(deadline).ok_or_else(late)?;
    if status.success() {
        return Ok(printed);
    }
    let complaint = stderr.and_then(|complaint| received(&complaint, deadline));
    let complaint = complaint.as_deref().map(String::from_utf8_lossy);
    let complaint = complaint.and_then(|text| Some(text.lines().next()?.to_owned()));
    Err(CaptureError::Failed { status: in_words(status), complaint })
}

/// Reads a pipe up to one byte beyond a limit, on a separate thread: a pipe may stay open longer than the deadline.
fn read(pipe: impl Read + Send + 'static, limit: u64) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // After an error, the bytes read so far are the result.
        let _ = pipe.take(limit + 1).read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

fn received(bytes: &Receiver<Vec<u8>>, deadline: Instant) -> Option<Vec<u8>> {
    bytes.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
}

/// A child that is killed, with its group, and reaped when dropped, unless it has ended by itself.
struct CapturedProcess {
    process: Child,
    has_ended: bool,
}

impl CapturedProcess {
    fn ended(&mut self, deadline: Instant) -> Option<ExitStatus> {
        loop {
            match self.process.try_wait() {
                Ok(Some(status)) => {
                    self.has_ended = true;
                    return Some(status);
                }
                Err(_) => return None,
                Ok(None) if Instant::now() >= deadline => return None,
                Ok(None) => thread::sleep(PAUSE),
            }
        }
    }
}

impl Drop for CapturedProcess {
    fn drop(&mut self) {
        // Its process id is not reused until it is reaped.
        if !self.has_ended {
            let _ = kill_process_group(Pid::from_child(&self.process), Signal::KILL);
            let _ = self.process.wait();
        }
    }
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENT: CaptureLimits = CaptureLimits { within: Duration::from_secs(60), bytes: 1_000 };

    fn shell(script: &str, limits: CaptureLimits) -> Result<String, String> {
        let arguments = ["-c".to_owned(), script.to_owned()];
        let printed = capture(Path::new("/bin/sh"), &arguments, limits);
        printed.map(|bytes| String::from_utf8(bytes).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_printed_on_stdout_is_the_answer() {
        assert_eq!(shell("echo no >&2; printf yes", PATIENT).unwrap(), "yes");
    }

    #[test]
    fn a_failure_is_reported_with_the_first_line_of_stderr() {
        let reported = shell("echo why >&2; echo more >&2; exit 7", PATIENT).unwrap_err();
        assert_eq!(reported, "it ended with exit status 7: why");
        assert_eq!(shell("kill -9 $$", PATIENT).unwrap_err(), "it ended with signal 9");
        let missing = capture(Path::new("/nowhere/program"), &[], PATIENT).unwrap_err();
        assert!(missing.to_string().starts_with("it cannot be started: "), "{missing}");
    }

    #[test]
    fn one_that_does_not_end_in_time_is_killed() {
        let short = CaptureLimits { within: Duration::from_millis(300), ..PATIENT };
        for script in ["sleep 1000", "sleep 1000 & wait", "exec >&- 2>&-; sleep 1000"] {
            assert_eq!(
                shell(script, short).unwrap_err(),
                "it did not end within 300ms",
                "{script}"
            );
        }
    }

    #[test]
    fn one_that_prints_without_end_is_killed() {
        assert_eq!(shell("yes", PATIENT).unwrap_err(), "it printed more than 1000 bytes");
        assert_eq!(shell("head -c 1000 /dev/zero", PATIENT).unwrap().len(), 1_000);
    }
}
