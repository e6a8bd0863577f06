//! The inputs and results of reading an experiment.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Cursor};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::arrival_list::Scratch;
use crate::diagnostic::{Colour, Diagnostic, Sources};
use crate::document::Table;
use crate::operation::{Operation, Part};
use crate::plan::Plan;
use crate::protocol::{ProtocolTraits, Scheme};
use crate::secret::Secrets;
use crate::target::Target;

/// The files and variables that a plan may read.
pub trait Inputs {
    /// An environment variable.
    fn env(&self, name: &str) -> Option<String>;

    /// The content of a file; relative paths count from the experiment file.
    ///
    /// Errors: those of the file system
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The same for a file that may be long, and is read as it is used.
    ///
    /// Errors: those of the file system
    fn open(&self, path: &Path) -> io::Result<Box<dyn BufRead>> {
        Ok(Box::new(Cursor::new(self.read(path)?)))
    }

    /// An empty file without a name, for what is too long for memory.
    ///
    /// Errors: those of the file system
    fn scratch(&self) -> io::Result<Box<dyn Scratch>> {
        Ok(Box::new(Vec::new()))
    }

    /// The text of a file that has this name in the experiment file.
    ///
    /// Errors: one clause with the name
    fn text(&self, file: &str) -> Result<String, String> {
        let bytes =
            self.read(Path::new(file)).map_err(|error| format!("cannot read {file}: {error}"))?;
        String::from_utf8(bytes).map_err(|_| format!("{file} is not UTF-8"))
    }

    /// The path of a file that others will open (certificates, for example).
    fn locate(&self, path: &Path) -> PathBuf {
        path.to_path_buf()
    }
}

/// What this build of the program knows in addition to the plan.
pub trait KnownNames {
    /// Names of protocols: the keys of their tables.
    fn protocols(&self) -> &[&str];

    /// Whether there is a program that serves a system of this name.
    ///
    /// Errors: there is none, or it does not describe itself
    fn find(&self, _system: &str) -> Result<(), NoSystem> {
        Ok(())
    }

    /// All problems that a system finds in its settings, which have the form in which it would get them; none if
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

    /// The properties of a protocol.
    fn traits(&self, _protocol: &str) -> ProtocolTraits {
        ProtocolTraits::default()
    }

    /// The schemes of all protocols; those of several protocols more than once.
    fn schemes(&self) -> Vec<&'static Scheme> {
        self.protocols().iter().flat_map(|name| self.traits(name).schemes).collect()
    }

    /// Names of the spans that a protocol stamps for an operation with this table, in addition to those of connecting.
    fn spans(&self, _protocol: &str, _table: &Table) -> &'static [&'static str] {
        &[]
    }

    /// Names of the kinds of failure.
    fn failures(&self) -> &'static [&'static str] {
        &[]
    }

    /// The parts of the target whose times an operation of this protocol reads, without their places.
    fn parts(&self, _protocol: &str, _table: &Table) -> Vec<Part> {
        Vec::new()
    }

    /// All problems that the driver finds in an operation, so that they are reported along with those of the plan.
    fn check(&self, _operation: &Operation, _targets: &[Target]) -> Vec<Diagnostic> {
        Vec::new()
    }
}

/// Why no program can serve a system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoSystem {
    /// No program serves a system of this name.
    Unknown {
        /// The available systems.
        known: Vec<String>,
        /// One thing to do.
        hint: String,
    },
    /// There is a program, but it cannot be used.
    Unusable {
        /// What is wrong with it.
        what: String,
        /// One thing to do.
        hint: String,
    },
}

/// A problem in the settings of a system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadSetting {
    /// Name of the setting; a missing setting for one that is required, empty for a conflict between several.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// The kind of problem.
    pub kind: SettingError,
}

/// The kind of problem with a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingError {
    /// A wrong value, or a conflict with another setting.
    Value,
    /// There is no such setting; the known ones.
    Unknown(Vec<String>),
    /// It has no effect with the other settings; in another arm it may have one.
    Idle,
}

/// Names that a system reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedNames {
    /// Parts whose times its answers contain.
    pub parts: Vec<String>,
    /// Whether its answers may report other parts, too, for example behind a third-party front.
    pub other_parts: bool,
    /// Its own counts as an observer, in addition to the common ones.
    pub counts: Vec<String>,
    /// The addresses in its ready line.
    pub listening: Vec<String>,
    /// The processes in its ready line, besides its main process.
    pub processes: Vec<String>,
}

/// The context for reading an experiment.
#[derive(Clone, Copy)]
pub struct ExperimentContext<'a> {
    /// Files and environment.
    pub inputs: &'a dyn Inputs,
    /// Protocols and systems.
    pub known: &'a dyn KnownNames,
}

/// Changes of flags to the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The values of `--set`: `path=value`.
    pub overrides: Vec<String>,
    /// The values of `--criterion`.
    pub criteria: Vec<String>,
    /// `--seed`; wins over the file's.
    pub seed: Option<u64>,
    /// Used if neither flag nor file has a seed: fresh entropy from the caller.
    pub fresh_seed: u64,
    /// `--quick`: a rehearsal.
    pub quick: bool,
    /// `--warm-up`, as written.
    pub warm_up: Option<String>,
    /// `--workers`, as written.
    pub workers: Option<String>,
    /// `--traceparent`, as written.
    pub traceparent: Option<String>,
    /// `--trace-url`, as written.
    pub trace_url: Option<String>,
    /// `--fail-fast`: ends a run that can no longer pass.
    pub fail_fast: bool,
    /// `--keep-going`: continues a run in which every operation fails.
    pub keep_going: bool,
    /// `--adaptive`: the measure phase is as long as its intervals need.
    pub adaptive: bool,
    /// Treats each arm alone: leaves out comparisons and the repetitions of `[design]`.
    pub each_arm_alone: bool,
}

/// A checked experiment.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// What will be done.
    pub plan: Plan,
    /// Texts that spans refer to, for diagnostics of drivers.
    pub sources: Sources,
    /// Warnings: they do not prevent a run, but are probably mistakes.
    pub warnings: Vec<Diagnostic>,
}

impl Experiment {
    /// All warnings in readable form, secrets redacted; `None` without any.
    pub fn warned(&self, colour: Colour) -> Option<String> {
        let shown = || self.plan.secrets.redact(&self.sources.warn(&self.warnings, colour));
        (!self.warnings.is_empty()).then(shown)
    }
}

/// An experiment that cannot be run.
#[derive(Debug, Clone)]
pub struct InvalidExperiment {
    /// All problems.
    pub problems: Vec<Diagnostic>,
    /// Texts that spans refer to.
    pub sources: Sources,
    /// Secrets that the problems might quote.
    pub secrets: Secrets,
}

impl InvalidExperiment {
    /// All problems in readable form, secrets redacted.
    pub fn render(&self, colour: Colour) -> String {
        self.secrets.redact(&self.sources.render(&self.problems, colour))
    }
}
