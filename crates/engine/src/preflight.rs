//! Problems that can be foreseen, reported before the run: file descriptors, ports, memory, processors.
//!
//! [`judge`] is pure: it compares the run's needs with the machine's limits. Not here: whether the target answers (see
//! `transport::check_reachable`).

use std::fs;
use std::path::Path;

use plan::journey::{Connections, Journey};
use plan::load::{Model, Reuse};
use plan::plan::Arm;
use record::Recorder;
use record::summary::Severity;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::placement::allowed_cores;
use crate::selfcheck::{open_files, status_field};
use crate::transport::{Address, Endpoint};

/// Descriptors that a run may need besides connections: files of the run folder, timers, pipes of processes, the
/// sockets of a resolver.
const FILES_MARGIN: u64 = 64;
/// Seconds for which a closed connection keeps its port (TCP_TIMEWAIT_LEN of the kernel).
const TIME_WAIT_SECONDS: f64 = 60.0;
/// Seconds after which a port in TIME_WAIT may be used again, if the kernel allows that.
const REUSE_SECONDS: f64 = 1.0;

/// A foreseen problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreflightFinding {
    /// `Error`: the run will not be as planned. `Warning`: it may not be. `Info`: the problem was fixed.
    pub severity: Severity,
    /// One sentence, with numbers.
    pub claim: String,
    /// One thing to do, if one is known.
    pub hint: Option<String>,
}

/// The resources that a run needs; by default those of a run without connections.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Demand {
    /// Connections open at a time, over all targets.
    pub connections: u64,
    /// File descriptors that they hold.
    pub descriptors: u64,
    /// Those of them that the run certainly needs: not the pool of an open load, nor more than one connection of each
    /// journey.
    pub certain: u64,
    /// New connections a second to the busiest target, if each operation or journey opens one; infinite if only the
    /// target's speed bounds it; 0 if connections are kept or need no port.
    pub new_connections: f64,
    /// Whether all targets are on this machine.
    pub is_local: bool,
    /// Generator threads.
    pub workers: u64,
    /// Whether they poll.
    pub busy_poll: bool,
    /// Memory of the recorders and of what is made of them, in bytes; see [`Demand::recording`].
    pub recorder_bytes: u64,
}

/// The resources that the machine provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// File descriptors open now.
    pub files_open: u64,
    /// File descriptors allowed.
    pub files_soft: u64,
    /// The highest value that this limit can be raised to.
    pub files_hard: u64,
    /// Local ports for connections to one address.
    pub ports: Option<u64>,
    /// The kernel's `tcp_tw_reuse`: 0 never, 1 always, 2 on loopback.
    pub time_wait_reuse: u64,
    /// Processors that this process may use.
    pub cores: u64,
    /// Available memory in bytes: of the machine, or of the control group if that is less.
    pub memory_available: u64,
}

impl Demand {
    /// The needs of this arm's load towards these targets.
    ///
    /// Several targets are taken to share the load evenly, except for connections of journeys' own.
    pub fn of(arm: &Arm, targets: &[Endpoint], workers: usize) -> Self {
        let load = &arm.load;
        let places = targets.len().max(1) as u64;
        let actors = u64::from(load.connections);
        let (each, most) = held(targets);
        let is_open = matches!(load.model, Model::Open { .. });
        let (pooled, of_pool) = match arm.uses_pool() {
            false => (0, 0),
            true if is_open => (actors * places, actors * each),
            true => (actors, actors * most),
        };
        let own = arm.own_connections();
        Self {
            connections: pooled + own,
            descriptors: of_pool + own * most,
            certain: if is_open { 0 } else { actors * most },
            new_connections: new_connections(arm, targets),
            is_local: targets.iter().all(Endpoint::is_local),
            workers: workers as u64,
            busy_poll: load.busy_poll,
            recorder_bytes: 0,
        }
    }

    /// The same plus the memory for recorders: of this many operations, each with this many spans.
    pub fn recording(self, operations: usize, spans: usize) -> Self {
        // One more recorder for the sum of all workers.
        let recorders = self.workers + 1;
        Self { recorder_bytes: recorders * Recorder::memory(operations, spans), ..self }
    }

    /// The needs of one of so many shares.
    pub fn divided(self, shares: u64) -> Self {
        Self {
            connections: self.connections.div_ceil(shares),
            descriptors: self.descriptors.div_ceil(shares),
            certain: self.certain.div_ceil(shares),
            new_connections: self.new_connections / shares as f64,
            ..self
        }
    }

    /// The needs of two loads that run at the same time on the same workers.
    pub fn beside(self, other: Self) -> Self {
        Self {
            connections: self.connections + other.connections,
            descriptors: self.descriptors + other.descriptors,
            certain: self.certain + other.certain,
            // Both targets may have the same address.
            new_connections: self.new_connections + other.new_connections,
            is_local: self.is_local && other.is_local,
            workers: self.workers.max(other.workers),
            busy_poll: self.busy_poll || other.busy_poll,
            recorder_bytes: self.recorder_bytes + other.recorder_bytes,
        }
    }

    fn files(&self, limits: &Limits) -> u64 {
        files_with(self.descriptors, limits)
    }
}

/// File descriptors of a run with so many for connections.
fn files_with(connections: u64, limits: &Limits) -> u64 {
    limits.files_open + connections + FILES_MARGIN
}

/// New connections a second to the busiest target; see [`Demand::new_connections`].
fn new_connections(arm: &Arm, targets: &[Endpoint]) -> f64 {
    let load = &arm.load;
    if !targets.iter().any(|one| matches!(one.address, Address::Tcp(_))) {
        return 0.0;
    }
    let always = load.reuse == Reuse::NewPerOperation;
    let pooled = arm.journeys.iter().filter(|one| one.connections == Connections::Pool);
    let alone = arm.operations.iter().filter(|one| !one.is_step).map(|one| one.weight);
    let pooled: f64 = pooled.map(|one| one.weight).chain(alone).sum();
    let own = arm.journeys.iter().filter(|one| one.connections == Connections::Own);
    let sum = pooled + own.map(|one| one.weight).sum::<f64>();
    let to = |target| {
        let each = |one: &Journey| one.certain_connections(&arm.operations, target) as f64;
        arm.journeys.iter().map(|one| one.weight * each(one)).sum::<f64>()
    };
    let pooled = if always { pooled / targets.len() as f64 } else { 0.0 };
    let opening = pooled + (0..targets.len()).map(to).fold(0.0, f64::max);
    if opening == 0.0 {
        return 0.0;
    }
    let share = opening / sum;
    let thinking = arm.journeys.iter().map(|journey| journey.thinking()).min().unwrap_or_default();
    match &load.model {
        Model::Open { arrivals } => share * arrivals.peak_rate(),
        Model::Users { users, think, .. } if !(think.mean() + thinking).is_zero() => {
            share * f64::from(*users) / (think.mean() + thinking).as_secs_f64()
        }
        Model::Closed | Model::Users { .. } => f64::INFINITY,
    }
}

impl Limits {
    /// Reads the limits of this process and of the kernel.
    pub fn read() -> Self {
        let files = getrlimit(Resource::Nofile);
        Self {
            files_open: open_files(),
            files_soft: files.current.unwrap_or(u64::MAX),
            files_hard: files.maximum.unwrap_or(u64::MAX),
            ports: local_ports(),
            time_wait_reuse: number("/proc/sys/net/ipv4/tcp_tw_reuse").unwrap_or(0),
            cores: allowed_cores().map_or(1, |cores| cores.len() as u64),
            memory_available: memory_available(),
        }
    }

    /// New connections a second to one address, as long as each closed one holds its port; `None` if the kernel does not
    /// say how many ports there are.
    pub fn new_connections(&self, is_local: bool) -> Option<f64> {
        Some(self.ports? as f64 / self.port_held(is_local))
    }

    /// Seconds for which a closed connection holds its port.
    fn port_held(&self, is_local: bool) -> f64 {
        let is_reused = self.time_wait_reuse == 1 || (self.time_wait_reuse == 2 && is_local);
        if is_reused { REUSE_SECONDS } else { TIME_WAIT_SECONDS }
    }
}

/// Raises the soft limit of file descriptors as far as the run needs and the hard limit allows, reports that, and then
/// reports the remaining problems. Processes started afterwards inherit the raised limit.
pub fn prepare(demand: &Demand) -> Vec<PreflightFinding> {
    let mut limits = Limits::read();
    let mut problems = Vec::new();
    let wanted = demand.files(&limits).min(limits.files_hard);
    if wanted > limits.files_soft && raise_files(wanted, limits.files_hard).is_ok() {
        problems.push(PreflightFinding {
            severity: Severity::Info,
            claim: format!(
                "the limit of file descriptors was raised from {} to {wanted} for this run",
                limits.files_soft
            ),
            hint: None,
        });
        limits.files_soft = wanted;
    }
    problems.extend(judge(demand, &limits));
    problems
}

/// The foreseen problems, most severe first.
pub fn judge(demand: &Demand, limits: &Limits) -> Vec<PreflightFinding> {
    let found = [
        files(demand, limits),
        ports(demand, limits),
        memory(demand, limits),
        processors(demand, limits),
        polling(demand, limits),
    ];
    let mut problems: Vec<PreflightFinding> = found.into_iter().flatten().collect();
    problems.sort_by_key(|problem| problem.severity);
    problems
}

/// Descriptors of one connection to each target together, and of one connection to the most expensive target.
fn held(targets: &[Endpoint]) -> (u64, u64) {
    let held = targets.iter().map(|one| one.address.descriptors());
    (held.clone().sum::<u64>().max(1), held.max().unwrap_or(1))
}

fn files(demand: &Demand, limits: &Limits) -> Option<PreflightFinding> {
    let needed = demand.files(limits);
    let who = match demand.connections {
        0 => "a run needs".to_owned(),
        many => format!("{many} connections need"),
    };
    (needed > limits.files_soft).then(|| PreflightFinding {
        severity: match files_with(demand.certain, limits) > limits.files_soft {
            true => Severity::Error,
            false => Severity::Warning,
        },
        claim: format!(
            "{who} about {needed} file descriptors, and {} are allowed",
            limits.files_soft
        ),
        hint: Some(format!(
            "raise the limit (`ulimit -n {needed}`) or lower `connections` (or `users`)"
        )),
    })
}

fn ports(demand: &Demand, limits: &Limits) -> Option<PreflightFinding> {
    let ports = limits.ports?;
    let budget = limits.new_connections(demand.is_local)?;
    let held = limits.port_held(demand.is_local);
    let is_reused = held < TIME_WAIT_SECONDS;
    if demand.new_connections <= budget {
        return None;
    }
    let (severity, wanted) = if demand.new_connections.is_finite() {
        (Severity::Error, format!("{:.0} new connections a second", demand.new_connections))
    } else if is_reused {
        return None;
    } else {
        (Severity::Warning, "new connections as fast as the target answers".to_owned())
    };
    Some(PreflightFinding {
        severity,
        claim: format!(
            "{wanted}: the {ports} local ports allow {budget:.0} a second to one address, since each \
             is held for {held:.0} s after closing"
        ),
        hint: Some(
            "keep connections alive (in a journey: `connections = \"pool\"`), or widen \
             net.ipv4.ip_local_port_range"
                .to_owned(),
        ),
    })
}

fn memory(demand: &Demand, limits: &Limits) -> Option<PreflightFinding> {
    let (needed, available) = (demand.recorder_bytes, limits.memory_available);
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    (needed > available / 2).then(|| PreflightFinding {
        severity: if needed > available { Severity::Error } else { Severity::Warning },
        claim: format!(
            "the histograms of all operations on {} workers need {} MiB of memory, and {} MiB are \
             available",
            demand.workers,
            mib(needed),
            mib(available)
        ),
        hint: Some("use fewer `--workers`, or give similar operations one name".to_owned()),
    })
}

fn processors(demand: &Demand, limits: &Limits) -> Option<PreflightFinding> {
    (demand.workers > limits.cores).then(|| PreflightFinding {
        severity: Severity::Warning,
        claim: format!(
            "{} workers share {} processors, and will wait for each other",
            demand.workers, limits.cores
        ),
        hint: Some(format!("use `--workers {}` or fewer", limits.cores)),
    })
}

fn polling(demand: &Demand, limits: &Limits) -> Option<PreflightFinding> {
    (demand.busy_poll && demand.workers >= limits.cores).then(|| PreflightFinding {
        severity: Severity::Warning,
        claim: format!(
            "`busy_poll` will be ignored: beside the workers ({}) none of the processors ({}) is left",
            demand.workers, limits.cores
        ),
        hint: Some(match limits.cores {
            0 | 1 => "leave `busy_poll` out on a machine of one processor".to_owned(),
            cores => format!("use `--workers {}` or fewer", cores - 1),
        }),
    })
}

fn raise_files(soft: u64, hard: u64) -> rustix::io::Result<()> {
    let maximum = (hard != u64::MAX).then_some(hard);
    setrlimit(Resource::Nofile, Rlimit { current: Some(soft), maximum })
}

/// Available memory of the machine, or of the control group if that is less. Unknown counts as unlimited.
fn memory_available() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| status_field(&text, "MemAvailable"))
        .map(|kibibytes| kibibytes << 10);
    let group = Path::new("/sys/fs/cgroup");
    let group = number(group.join("memory.max"))
        .map(|most| most.saturating_sub(number(group.join("memory.current")).unwrap_or(0)));
    [machine, group].into_iter().flatten().min().unwrap_or(u64::MAX)
}

/// Local ports that the kernel assigns for connections to one address.
pub(crate) fn local_ports() -> Option<u64> {
    parse_range(&fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?)
}

fn parse_range(text: &str) -> Option<u64> {
    let mut ends = text.split_ascii_whitespace().map(str::parse::<u64>);
    let (Some(Ok(low)), Some(Ok(high))) = (ends.next(), ends.next()) else { return None };
    high.checked_sub(low).map(|span| span + 1)
}

fn number(path: impl AsRef<Path>) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
