//! What the caller gives and gets.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Colour, Diagnostic, Sources};
use crate::document::Table;
use crate::operation::{Operation, Part, ProtocolTraits};
use crate::plan::Plan;
use crate::secret::Secrets;
use crate::target::Target;

/// The outside world, as far as a plan may look at it.
pub trait Inputs {
    /// An environment variable.
    fn env(&self, name: &str) -> Option<String>;

    /// The content of a file; relative paths count from the experiment file.
    ///
    /// Errors: those of the file system
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Where a file lies that others will open (certificates, for example).
    fn locate(&self, path: &Path) -> PathBuf {
        path.to_path_buf()
    }
}

/// What this build of the program knows beyond the plan.
pub trait KnownNames {
    /// Names of protocols: the keys of their tables.
    fn protocols(&self) -> &[&str];

    /// Whether there is a program that serves a system of this name.
    ///
    /// Errors: there is none, or it does not describe itself
    fn find(&self, _system: &str) -> Result<(), NoSystem> {
        Ok(())
    }

    /// Everything that a system finds wrong with its settings, which are as it would be given them; nothing where
    /// [`KnownNames::find`] fails.
    fn settings(&self, _system: &str, _set: &BTreeMap<String, String>) -> Vec<BadSetting> {
        Vec::new()
    }

    /// The names that a system with these settings will report; `None` if unknown.
    fn reported_names(
        &self,
        _system: &str,
        _set: &BTreeMap<String, String>,
    ) -> Option<ReportedNames> {
        None
    }

    /// How a protocol is spoken.
    fn manner<'p>(&self, protocol: &'p str) -> ProtocolTraits<'p> {
        ProtocolTraits::plain(protocol)
    }

    /// Names of the spans that a protocol stamps by itself, after those of connecting.
    fn spans(&self, _protocol: &str) -> &'static [&'static str] {
        &[]
    }

    /// Names of the kinds of failure.
    fn failures(&self) -> &'static [&'static str] {
        &[]
    }

    /// The parts of the target that an operation of this protocol reads the times of, without their places.
    fn parts(&self, _protocol: &str, _table: &Table) -> Vec<Part> {
        Vec::new()
    }

    /// Everything that the driver finds wrong with an operation, so that its problems are
    /// reported along with those of the plan.
    fn check(&self, _operation: &Operation, _targets: &[Target]) -> Vec<Diagnostic> {
        Vec::new()
    }
}

/// Why a system cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoSystem {
    /// No program serves one of this name.
    Unknown {
        /// The names of those that can be served.
        known: Vec<String>,
        /// One thing to do.
        hint: String,
    },
    /// There is a program, which cannot be used.
    Unusable {
        /// What is wrong with it.
        what: String,
        /// One thing to do.
        hint: String,
    },
}

/// Something that is wrong with the settings of a system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadSetting {
    /// Its name; one that was not given where something is missing, and none where several are at odds.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// In which way.
    pub kind: SettingError,
}

/// In which way a setting is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingError {
    /// Its value, or what it stands beside.
    Value,
    /// There is no such setting, but these.
    Unknown(Vec<String>),
    /// Beside the others it changes nothing; in another arm it may.
    Idle,
}

/// Names of what a system tells of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportedNames {
    /// Its parts, whose times stand in its answers.
    pub parts: Vec<String>,
    /// Whether its answers may report other parts, too, as behind a foreign front.
    pub other_parts: bool,
    /// What it counts as an observer, beside what all of them count.
    pub counts: Vec<String>,
    /// The addresses in its ready line.
    pub listening: Vec<String>,
    /// The processes there, beside its own.
    pub processes: Vec<String>,
}

/// What reading an experiment may refer to.
#[derive(Clone, Copy)]
pub struct ExperimentContext<'a> {
    /// Files and environment.
    pub inputs: &'a dyn Inputs,
    /// Protocols and systems.
    pub known: &'a dyn KnownNames,
}

/// What flags add to the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `--set`: `path=value`, each.
    pub overrides: Vec<String>,
    /// `--criterion`, each.
    pub criteria: Vec<String>,
    /// `--seed`; wins over the file's.
    pub seed: Option<u64>,
    /// Taken where neither flag nor file has a seed: fresh entropy, in the caller's hands.
    pub fresh_seed: u64,
    /// `--quick`: a rehearsal.
    pub quick: bool,
    /// `--warm-up`, as written.
    pub warm_up: Option<String>,
    /// `--workers`, as written.
    pub workers: Option<String>,
    /// `--fail-fast`: a hopeless run is ended.
    pub fail_fast: bool,
    /// `--keep-going`: a run in which nothing works is carried out all the same.
    pub keep_going: bool,
    /// `--adaptive`: the measure phase is as long as its intervals need.
    pub adaptive: bool,
    /// Arms are wanted each by itself, so that comparisons and what `[design]` says of repetitions are left out.
    pub each_arm_alone: bool,
}

/// A checked experiment.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// What will be done.
    pub plan: Plan,
    /// Texts that spans refer to, for diagnostics of drivers.
    pub sources: Sources,
    /// What does not keep it from being run, and is hardly meant so.
    pub warnings: Vec<Diagnostic>,
}

impl Experiment {
    /// All warnings as a person reads them, secrets redacted; `None` without any.
    pub fn warned(&self, colour: Colour) -> Option<String> {
        let shown = || self.plan.secrets.redact(&self.sources.warn(&self.warnings, colour));
        (!self.warnings.is_empty()).then(shown)
    }
}

/// An experiment that cannot be run.
#[derive(Debug, Clone)]
pub struct InvalidExperiment {
    /// Everything that is wrong.
    pub problems: Vec<Diagnostic>,
    /// Texts that spans refer to.
    pub sources: Sources,
    /// Secrets that the problems might quote.
    pub secrets: Secrets,
}

impl InvalidExperiment {
    /// All problems as a person reads them, secrets redacted.
    pub fn render(&self, colour: Colour) -> String {
        self.secrets.redact(&self.sources.render(&self.problems, colour))
    }
}
