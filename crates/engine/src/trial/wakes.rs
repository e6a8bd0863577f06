//! How late this machine wakes a worker that has nothing else to do: what `cyclictest` measures.

use std::io;
use std::thread;

use record::GeneratorFacts;
use record::summary::Placement;

use super::scheduling::{Circumstances, SchedulingRequest, TargetPlacement, ask};
use super::threads::{Waiting, timing};
use crate::clock::monotonic;
use crate::placement;
use crate::selfcheck::{Polled, SelfCheck, WorkerThread, current_task, real_time_share};

/// The wakes of one idle worker.
#[derive(Debug, Clone)]
pub struct Wakes {
    /// How late each was, in nanoseconds, ascending.
    pub late_ns: Vec<u64>,
    /// The kernel's figures meanwhile, and the scheduling that the worker was granted.
    pub facts: GeneratorFacts,
}

impl Wakes {
    /// Wakes a worker so often, at this distance in nanoseconds. It is prepared like that of an open load against another
    /// machine.
    ///
    /// Errors: those of the operating system if there is no thread or no timer
    pub fn measure(placement: &Placement, wakes: usize, every_ns: u64) -> io::Result<Self> {
        let worker = || worker(placement, wakes, every_ns);
        thread::scope(|scope| {
            let thread = thread::Builder::new().name("worker-0".to_owned());
            let ended = thread.spawn_scoped(scope, worker)?.join();
            ended.unwrap_or_else(|_| Err(io::Error::other("the worker panicked")))
        })
    }
}

fn worker(placement: &Placement, wakes: usize, every_ns: u64) -> io::Result<Wakes> {
    let pinned = placement::pin(&placement.workers);
    let scheduling = ask(SchedulingRequest::of(Circumstances {
        real_time: true,
        polls: false,
        closed: false,
        targets: TargetPlacement::OtherMachines,
        share: real_time_share(),
    }));
    let timing = timing(false)?;
    let waiting = Waiting::start(None)?;
    let this = WorkerThread { id: current_task(), polled: Polled::default() };
    let begin = monotonic();
    let check = SelfCheck::begin(begin, &[this], timing, placement.clone());
    let dues = (1..=wakes as u64).map(|wake| begin + wake * every_ns);
    let mut late_ns: Vec<u64> = dues
        .map(|due| {
            waiting.until(due);
            monotonic().saturating_sub(due)
        })
        .collect();
    let (mut facts, _) = check.end(monotonic());
    facts.worker_scheduling = vec![scheduling];
    facts.notes.extend(pinned.err().map(|error| format!("the worker is not pinned: {error}")));
    late_ns.sort_unstable();
    Ok(Wakes { late_ns, facts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::{allowed_cores, place};

    #[test]
    fn each_wake_is_measured_and_none_is_early() {
        let placement = place(&allowed_cores().unwrap(), Some(1));
        let begin = monotonic();
        let found = Wakes::measure(&placement, 20, 500_000).unwrap();
        let took = monotonic() - begin;
        assert_eq!(found.late_ns.len(), 20);
        assert!(found.late_ns.is_sorted());
        assert!(took > 10_000_000, "20 wakes at a distance of 0.5 ms, in {took} ns");
        assert!(found.late_ns[19] < took, "no wake is later than the whole is long");
        assert_eq!(found.facts.worker_scheduling.len(), 1);
        assert!(found.facts.watched_ns >= 10_000_000 && found.facts.timer_grain_ns > 0);
    }
}
