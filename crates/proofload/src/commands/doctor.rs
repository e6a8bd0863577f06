//! `proofload doctor`: what this machine can measure as it is now, in ten lines.

mod page;

use std::io;
use std::thread::available_parallelism;

use engine::placement::{allowed_cores, place};
use engine::preflight::{self, Demand, Limits, PreflightFinding};
use engine::selfcheck;
use engine::trial::Wakes;
use record::summary::{Machine, Severity};
use rustix::fs::statvfs;
use stats::quantile::rank;

use crate::Exit;
use crate::output;
use crate::problem::Problem;
use crate::systems::Systems;

/// A worker is woken every millisecond for a second.
const WAKES: usize = 1_000;
const EVERY_NS: u64 = 1_000_000;

/// Looks for a second, and prints a line for each property.
///
/// Errors: the kernel denies what every run needs
pub fn doctor() -> Result<Exit, Problem> {
    output::print(&page::page(&Found::here()?))?;
    Ok(Exit::Passed)
}

/// What was found.
struct Found {
    machine: Machine,
    wakes: Wakes,
    limits: Limits,
    /// Processors for which the control group has time.
    paid: u64,
    /// Free bytes where run folders are made.
    space: io::Result<u64>,
    /// Names of systems, and programs that did not answer.
    systems: (Vec<String>, Vec<String>),
}

impl Found {
    fn here() -> Result<Self, Problem> {
        let denied = |what: &str, error: io::Error| {
            Problem::environment(format!("no run is possible here: {what}: {error}"))
                .hint("if this is a container, permit the system call (`--security-opt seccomp=…`)")
        };
        let cores = allowed_cores().map_err(|error| denied("sched_getaffinity", error))?;
        let placement = place(&cores, None);
        may_open_files()?;
        let wakes = Wakes::measure(&placement, WAKES, EVERY_NS)
            .map_err(|error| denied("a thread with a timer (timerfd_create)", error))?;
        let mut systems = (Vec::new(), Vec::new());
        for program in Systems::here().list() {
            match program.systems {
                Ok(named) => systems.0.extend(named.into_iter().map(|(name, _)| name)),
                Err(_) => systems.1.push(program.program.display().to_string()),
            }
        }
        Ok(Self {
            machine: selfcheck::machine(placement),
            wakes,
            limits: Limits::read(),
            paid: available_parallelism().map_or(0, |paid| paid.get() as u64),
            space: free_space(),
            systems,
        })
    }

    /// Processors of the machine; if they are unknown, those that this process may use.
    fn processors(&self) -> u64 {
        match self.machine.cores {
            0 => self.limits.cores,
            cores => u64::from(cores),
        }
    }

    /// How late the worker woke at this rank.
    fn late(&self, q: f64) -> u64 {
        let late = &self.wakes.late_ns;
        let rank = rank(q, late.len() as u64) as usize;
        late.get(rank.saturating_sub(1)).copied().unwrap_or(0)
    }
}

/// Errors: the limit of open files is too low for any run
fn may_open_files() -> Result<(), Problem> {
    let found = preflight::prepare(&Demand::default());
    match found.into_iter().find(|one| one.severity == Severity::Error) {
        Some(PreflightFinding { claim, hint, .. }) => {
            let problem = Problem::environment(format!("no run is possible here: {claim}"));
            Err(hint.into_iter().fold(problem, Problem::hint))
        }
        None => Ok(()),
    }
}

/// Free bytes in the working folder, if a file can be made there.
fn free_space() -> io::Result<u64> {
    tempfile::tempfile_in(".")?;
    let space = statvfs(".")?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}
