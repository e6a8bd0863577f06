//! Fixtures for tests of the binary: a folder for each test, the real binary, and real servers as children that are
//! always reaped.
//!
//! Tests share the machine, so a generator that is sometimes late is no bug: if only counts matter, tests accept a run
//! that reports it ([`assert_measured`]). Tests that compare times are undisturbed ([`Lab::undisturbed`]).

pub mod answering;
pub mod brokers;
pub mod nats_client;
pub mod nginx;
pub mod postfix;
pub mod process;
#[path = "../../programs/mod.rs"]
mod programs;
pub mod prometheus;
pub mod relay;
pub mod server;
pub mod terminal;
pub mod witness;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use process::Running;
pub use programs::files_below;
use record::summary::{Summary, TrialSummary};

/// The binary under test.
pub const PROOFLOAD: &str = env!("CARGO_BIN_EXE_proofload");

/// The binary. SIGHUP ends it, even if `nohup` started the tests, which would make it ignore the signal.
fn proofload() -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", PROOFLOAD]);
    command
}

/// All tests hold it shared; tests that compare times hold it exclusively.
static BENCH: RwLock<()> = RwLock::new(());

thread_local! {
    /// Whether this test holds it.
    static HELD: Cell<bool> = const { Cell::new(false) };
}

/// A folder that goes away with the test.
#[derive(Debug)]
pub struct Lab {
    root: PathBuf,
    _place: Place,
}

#[derive(Debug)]
#[expect(dead_code, reason = "guards are held, not read")]
enum Place {
    Shared(RwLockReadGuard<'static, ()>),
    Undisturbed(RwLockWriteGuard<'static, ()>),
    /// A further lab of a test that holds the bench.
    Second,
}

impl Drop for Place {
    fn drop(&mut self) {
        if !matches!(self, Self::Second) {
            HELD.set(false);
        }
    }
}

/// The result of running the binary.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Lab {
    /// Runs alongside other tests.
    pub fn new() -> Self {
        // A thread that waits for a second place while a test wants to be undisturbed would wait for ever.
        if HELD.get() {
            return Self::at(Place::Second);
        }
        HELD.set(true);
        // A failed test elsewhere does not affect this one.
        Self::at(Place::Shared(BENCH.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// No other test of this suite runs meanwhile. Such tests stand in [`crate::undisturbed`].
    pub fn undisturbed() -> Self {
        assert!(!HELD.replace(true), "this test has a lab already, beside which others run");
        Self::at(Place::Undisturbed(BENCH.write().unwrap_or_else(PoisonError::into_inner)))
    }

    fn at(place: Place) -> Self {
        programs::ready();
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root =
            std::env::temp_dir().join(format!("proofload-lab-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&root).expect("a folder for the test");
        Self { root, _place: place }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("writes into the test's folder");
        path
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = proofload();
        command.args(arguments);
        self.prepare(command)
    }

    /// Runs a shell script that sets limits and then executes the binary (`$PROOFLOAD`).
    pub fn shell(&self, script: &str) -> Ran {
        Ran::from(self.in_shell(script).output().expect("a shell"))
    }

    /// The same, without waiting for its end.
    pub fn start_in_shell(&self, script: &str) -> Running {
        let mut command = self.in_shell(script);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Running::new(child.expect("a shell"))
    }

    fn in_shell(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("PROOFLOAD", PROOFLOAD);
        self.prepare(command)
    }

    fn prepare(&self, mut command: Command) -> Command {
        command.current_dir(&self.root).stdin(Stdio::null()).env_remove("NO_COLOR");
        command
    }

    /// Runs the binary to its end.
    pub fn proofload(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().expect("the binary starts"))
    }

    /// Starts the binary and does not wait.
    pub fn start(&self, arguments: &[&str]) -> Running {
        let child = self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Running::new(child.expect("the binary starts"))
    }

    /// Runs `proofload run … --out run --quiet` and reads its summary.
    ///
    /// Checks that the exit code matches the summary's verdict and that no number contradicts another, in addition to
    /// the test's own checks.
    pub fn run(&self, arguments: &[&str]) -> (Ran, Summary) {
        let ran = self.proofload(&[&["run"], arguments, &["--out", "run", "--quiet"]].concat());
        let summary = self.summary("run").unwrap_or_else(|| panic!("no summary: {ran:?}"));
        assert_eq!(ran.code, judge::verdict::exit(&summary) as i32, "{ran:?}");
        assert!(finding(&summary, "audit-contradiction").is_none(), "{:?}", summary.findings);
        assert_eq!(ran.stderr, "", "--quiet talks");
        (ran, summary)
    }

    pub fn summary(&self, folder: &str) -> Option<Summary> {
        let text = std::fs::read_to_string(self.path(folder).join("summary.json")).ok()?;
        Some(serde_json::from_str(&text).expect("a summary of the documented form"))
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name))
            .unwrap_or_else(|error| panic!("reading {name}: {error}"))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The only trial of a run with one trial.
pub fn only_trial(summary: &Summary) -> &TrialSummary {
    assert_eq!(summary.arms.len(), 1, "one arm");
    assert_eq!(summary.arms[0].trials.len(), 1, "one trial");
    &summary.arms[0].trials[0]
}

/// Exit 0; or 3 if the machine was too busy for the generator, which the run must report.
pub fn assert_measured(ran: &Ran, summary: &Summary) {
    let was_late = finding(summary, "late-generator").is_some();
    assert_eq!(ran.code, if was_late { 3 } else { 0 }, "{ran:?}");
}

/// The claim of the first finding with this code.
pub fn finding<'s>(summary: &'s Summary, code: &str) -> Option<&'s str> {
    summary.findings.iter().find(|finding| finding.code == code).map(|found| found.claim.as_str())
}

/// The two identities of the accounting.
pub fn assert_accounting(trial: &TrialSummary) {
    let sums = trial.accounting;
    assert_eq!(sums.planned, sums.started + sums.missed, "{sums:?}");
    assert_eq!(sums.started, sums.succeeded + sums.failed + sums.abandoned, "{sums:?}");
}

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
