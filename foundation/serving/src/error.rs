//! Why a system could not start or go on, and the exit code that says so.

use std::fmt;
use std::net::SocketAddr;

/// What is wrong with the options of a system: every problem at once, in one line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BadOptions {
    /// One sentence a problem, in the order in which they were found; never empty.
    pub problems: Vec<String>,
    /// Those of them that say that there is no such setting.
    pub unknown: Vec<Unknown>,
}

/// A setting that a system does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// What was given.
    pub key: String,
    /// What there is.
    pub known: Vec<&'static str>,
    /// The sentence among the problems.
    pub problem: String,
}

impl BadOptions {
    /// These problems.
    pub fn of(problems: Vec<String>) -> Self {
        Self { problems, unknown: Vec::new() }
    }

    /// A single problem.
    pub fn one(problem: impl Into<String>) -> Self {
        Self::of(vec![problem.into()])
    }
}

impl fmt::Display for BadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("; "))
    }
}

impl std::error::Error for BadOptions {}

/// Everything that ends a system other than the wish to stop it.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The options make no sense: the user's to correct.
    #[error(transparent)]
    Options(#[from] BadOptions),
    /// The address cannot be listened on: the environment's fault.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the kernel said.
        source: std::io::Error,
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
            Self::Listen { .. } | Self::Io { .. } => 4,
        }
    }

    /// For `map_err`: wraps what the kernel said while `doing` something.
    pub fn while_doing(doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}
