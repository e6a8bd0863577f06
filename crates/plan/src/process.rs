//! Processes that a trial starts: services, the system, observers.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

/// A real server that the system needs; started first, stopped last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Service {
    /// Its name, for placeholders such as `{name}`.
    pub name: String,
    /// Command line with placeholders, split like a shell does, run without a shell.
    pub command: Vec<String>,
    /// When it counts as ready.
    pub ready: Ready,
    /// Time limit for readiness; `None` for the launcher's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_within: Option<Duration>,
}

/// When a process counts as ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ready {
    /// Its port accepts a connection.
    Tcp,
    /// It prints the ready line of the contract for systems on stdout.
    Line,
    /// `GET` of this path returns 200.
    Http(String),
}

/// The system under test: one that a program serves by name, or a command.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct System {
    /// What to start.
    pub start: Start,
    /// Settings with placeholders; a served system gets them as `--set key=value`.
    pub set: BTreeMap<String, Value>,
    /// When it counts as ready; a served system always by its ready line.
    pub ready: Ready,
    /// Time limit for readiness; `None` for the launcher's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_within: Option<Duration>,
}

/// What to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// `proofload serve NAME`.
    Serve(String),
    /// A command line with placeholders.
    Command(Vec<String>),
}

/// Counts arrivals elsewhere, in a separate process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Observer {
    /// Its name.
    pub name: String,
    /// What to start; `None` if the system itself answers `/observed` under this name.
    pub start: Option<Start>,
    /// Settings with placeholders.
    pub set: BTreeMap<String, Value>,
    /// What must hold after the drain, such as `received == multicast.delivered`.
    pub expect: Option<String>,
    /// Time limit for readiness; `None` for the launcher's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_within: Option<Duration>,
    /// Time limit for its answer after the drain; `None` for the engine's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers_within: Option<Duration>,
}
