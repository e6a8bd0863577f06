//! The bench on which the binary is tried: a folder of its own for each test, the real binary,
//! real servers as children that are always reaped.

pub mod nginx;
pub mod server;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use record::summary::{Summary, Trial};

/// The binary under test.
pub const PROOFLOAD: &str = env!("CARGO_BIN_EXE_proofload");

/// A folder that goes away with the test.
#[derive(Debug)]
pub struct Lab {
    root: PathBuf,
}

/// What the binary left.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Lab {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root =
            std::env::temp_dir().join(format!("proofload-lab-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&root).expect("a folder for the test");
        Self { root }
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
        let mut command = Command::new(PROOFLOAD);
        command.args(arguments).current_dir(&self.root).stdin(Stdio::null());
        command.env_remove("NO_COLOR");
        command
    }

    /// Runs the binary to its end.
    pub fn proofload(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().expect("the binary starts"))
    }

    /// Starts the binary and does not wait.
    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts")
    }

    /// Runs `proofload run … --out run --quiet` and reads its summary.
    pub fn run(&self, arguments: &[&str]) -> (Ran, Summary) {
        let mut all = vec!["run"];
        all.extend(arguments);
        all.extend(["--out", "run", "--quiet"]);
        let ran = self.proofload(&all);
        (ran.clone_text(), self.summary("run").unwrap_or_else(|| panic!("no summary: {ran:?}")))
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

impl Ran {
    fn clone_text(&self) -> Self {
        Self { code: self.code, stdout: self.stdout.clone(), stderr: self.stderr.clone() }
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

/// The only trial of a run of one.
pub fn only_trial(summary: &Summary) -> &Trial {
    assert_eq!(summary.arms.len(), 1, "one arm");
    assert_eq!(summary.arms[0].trials.len(), 1, "one trial");
    &summary.arms[0].trials[0]
}

/// The two identities of the accounting.
pub fn assert_accounting(trial: &Trial) {
    let sums = trial.accounting;
    assert_eq!(sums.planned, sums.started + sums.missed, "{sums:?}");
    assert_eq!(sums.started, sums.succeeded + sums.failed + sums.abandoned, "{sums:?}");
}

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
