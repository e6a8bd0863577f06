//! The signals by which a process is asked to end, for programs of either side.
//!
//! Not here: what is done about them.

use std::fs;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals by which the outside wishes an end: SIGTERM, SIGINT, and SIGHUP, which comes when the terminal is closed.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// None once it came: a terminal that is closed may say so several times, and means one wish.
    hangup: Option<Signal>,
}

impl Signals {
    /// Hears them from now on, but not a SIGHUP that was ignored before; call it within a runtime that has its drivers on.
    ///
    /// Errors: the kernel refuses a signal handler
    pub fn listen() -> io::Result<Self> {
        let hangup = match ignores_hangups() {
            true => None,
            false => Some(signal(SignalKind::hangup())?),
        };
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self { terminate, interrupt: signal(SignalKind::interrupt())?, hangup })
    }

    /// Resolves with the next of them. Cancel-safe.
    pub async fn next(&mut self) {
        let Self { terminate, interrupt, hangup } = self;
        let hung_up = async {
            match hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hung_up => self.hangup = None,
        }
    }
}

/// Whether this process was started to outlive its terminal, as by `nohup`.
fn ignores_hangups() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // One bit for each signal, the first for SIGHUP.
    ignored
        .and_then(|mask| mask.trim().chars().last()?.to_digit(16))
        .is_some_and(|low| low & 1 == 1)
}
