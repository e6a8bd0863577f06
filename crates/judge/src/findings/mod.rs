//! Findings about a trial, an arm or a run: one table, with one row per kind of finding.
//!
//! Effects decide, resources explain: a row about a resource applies only where lag, missed operations or a failed
//! plan show that something was wrong, or where nothing could show it, as in a closed loop. Not here: whether a trial
//! may be used (see [`crate::validity`]) and how findings look (see `pages`).
//!
//! In reading order: `kind` is a row, `table` holds all rows and runs their checks, `codes` names the findings that
//! other modules look for. The rows are in `generator`, `load` and `replay` (the instrument, and the offered load), `answers`,
//! `distribution`, `time_patterns`, `steady` and `work` (the answers), `journeys` (their steps), `agents` (several machines), `kernel`, `signatures`, `under_test` and
//! `parts` (causes and places), `level_adds_outside` and `level_adds_in_part` (an `added_time`) and
//! `compared_while_bound` (each about an `arm_pair`), `race`, `run` and `scaling` (several trials), `design`
//! (comparisons), `noise` (A/A pairs), `criterion`, `capacity` (a search), `all_failed` and `execution` (how the run
//! went). `groups` combines findings that say the same about several trials.

mod added_time;
mod agents;
pub mod all_failed;
mod answers;
mod arm_pair;
pub(crate) mod capacity;
mod codes;
mod compared_while_bound;
pub(crate) mod criterion;
pub(crate) mod design;
mod distribution;
pub(crate) mod execution;
mod generator;
mod groups;
mod journeys;
mod kernel;
mod kind;
mod level_adds_in_part;
mod level_adds_outside;
mod load;
mod noise;
mod parts;
mod race;
mod replay;
mod run;
mod scaling;
mod signatures;
mod steady;
mod table;
mod time_patterns;
mod under_test;
mod work;

pub use codes::{
    ALL_FAILED, AUDIT_CONTRADICTION, INTERRUPTED, NOT_EXECUTED, PLANNED_FAULTS, PROCESS_DIED,
    REPEATED, UNDECIDED_CRITERION,
};
pub(crate) use codes::{CROWDED, ROLE, SYSTEM_CROWDED, crowded, trials_with};
pub use design::{place, plain};
pub use groups::{FindingGroup, groups};
pub(crate) use kind::in_arm;
pub use kind::{FindingKind, Noticed};
pub(crate) use table::{Subject, findings};
pub use table::{TABLE, kind};

#[cfg(test)]
mod tests;
