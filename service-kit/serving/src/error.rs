//! Why a system could not start or continue, and the exit code for it.

use std::fmt;
use std::net::SocketAddr;

use serde::Serialize;

/// What is wrong with the options of a system: every problem at once, in one line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BadOptions {
    /// In the order in which they were found; never empty.
    pub problems: Vec<BadOption>,
}

/// One problem of options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadOption {
    /// The option that it is about, such as `--listen` or the name of a setting; empty where several are at odds.
    pub key: String,
    /// What is wrong, without the key.
    pub what: String,
    /// What kind of problem it is.
    pub kind: Kind,
}

/// Kinds of problems, which an experiment with several arms treats differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The value is wrong, alone or together with another setting.
    Value,
    /// There is no such setting, but these.
    Unknown(Vec<Setting>),
    /// Beside the other settings it changes nothing; beside others it would.
    Idle,
}

/// A setting that a system has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Which values it takes, in words; empty where several parts judge them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub expects: String,
}

impl BadOption {
    /// A problem with the value of one option.
    pub fn of(key: impl Into<String>, what: impl Into<String>) -> Self {
        Self { key: key.into(), what: what.into(), kind: Kind::Value }
    }
}

/// A sentence about several options, or about none.
impl From<String> for BadOption {
    fn from(sentence: String) -> Self {
        Self::of("", sentence)
    }
}

impl From<&str> for BadOption {
    fn from(sentence: &str) -> Self {
        Self::of("", sentence)
    }
}

impl fmt::Display for BadOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, what, .. } = self;
        if key.is_empty() { f.write_str(what) } else { write!(f, "{key}: {what}") }
    }
}

impl BadOptions {
    /// These problems.
    pub fn of(problems: impl IntoIterator<Item = impl Into<BadOption>>) -> Self {
        Self { problems: problems.into_iter().map(Into::into).collect() }
    }

    /// A single problem.
    pub fn one(problem: impl Into<BadOption>) -> Self {
        Self::of([problem])
    }

    /// Each problem as a sentence that begins with its option.
    pub fn sentences(&self) -> Vec<String> {
        self.problems.iter().map(BadOption::to_string).collect()
    }
}

impl fmt::Display for BadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentences().join("; "))
    }
}

impl std::error::Error for BadOptions {}

/// Everything that ends a system except a requested stop.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The options make no sense: the user's to correct.
    #[error(transparent)]
    Options(#[from] BadOptions),
    /// The address cannot be listened on: an error of the environment.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A dependency or the content of a folder prevents the start.
    #[error("cannot {doing}: {why}")]
    Stopped {
        /// What was being done, as in "open the store".
        doing: &'static str,
        /// What is wrong.
        why: String,
        /// What can be done about it.
        hint: &'static str,
    },
    /// A resource of the system failed, such as its runtime or its timer.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was being done, as in "cannot make a timer".
        doing: &'static str,
        /// What the kernel said.
        source: std::io::Error,
    },
}

impl ServeError {
    /// The exit code for it: 2 for bad options, 4 for what the environment refuses.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Options(_) => 2,
            Self::Listen { .. } | Self::Stopped { .. } | Self::Io { .. } => 4,
        }
    }

    /// For `map_err`: wraps what the kernel said while `doing` something.
    pub fn while_doing(doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}
