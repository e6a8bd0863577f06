//! A worker's share of the mix and of the schedule.
//!
//! Every worker walks the whole plan and keeps its own share, so all workers together execute
//! exactly the plan, for any number of workers, on any number of machines.

use plan::load::ArrivalProcess;
use plan::mix::{Assignment, Mix};
use plan::plan_share::PlanShare;
use plan::schedule::Schedule;

/// Worker `worker` of the `workers` that perform a share of the plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkerShare {
    pub(super) worker: usize,
    pub(super) workers: usize,
    pub(super) share: PlanShare,
}

impl WorkerShare {
    /// Of connections, users and their operations, which are dealt.
    pub(super) fn owns(self, index: u64) -> bool {
        self.takes(self.share.dealt(index))
    }

    fn owns_arrival(self, process: &ArrivalProcess, index: u64, seed: u64) -> bool {
        self.takes(self.share.place(process, index, seed))
    }

    fn takes(self, place: Option<u64>) -> bool {
        place.is_some_and(|place| place % self.workers as u64 == self.worker as u64)
    }
}

/// Assignments of one worker, without times.
#[derive(Debug)]
pub(super) struct Assignments {
    mix: Mix,
    share: WorkerShare,
    below: u64,
}

impl Assignments {
    /// The share of the indices below `below`.
    pub(super) fn new(mix: Mix, share: WorkerShare, below: u64) -> Self {
        Self { mix, share, below }
    }
}

impl Iterator for Assignments {
    type Item = Assignment;

    fn next(&mut self) -> Option<Assignment> {
        let (share, below) = (self.share, self.below);
        self.mix
            .by_ref()
            .take_while(|assignment| assignment.index < below)
            .find(|assignment| share.owns(assignment.index))
    }
}

/// Assignments of one worker with the offset of each from the start of the phase.
#[derive(Debug)]
pub(super) struct Arrivals<'a> {
    process: &'a ArrivalProcess,
    schedule: Schedule,
    mix: Mix,
    share: WorkerShare,
    seed: u64,
    cut_at: Option<u64>,
}

impl<'a> Arrivals<'a> {
    /// The share of a whole phase, whose schedule and mix have this seed.
    pub(super) fn new(
        process: &'a ArrivalProcess,
        (schedule, mix): (Schedule, Mix),
        share: WorkerShare,
        seed: u64,
    ) -> Self {
        Self { process, schedule, mix, share, seed, cut_at: None }
    }

    /// Offset of the first arrival without an operation, if the rows ran out.
    pub(super) fn cut_at(&self) -> Option<u64> {
        self.cut_at
    }
}

impl Iterator for Arrivals<'_> {
    type Item = (u64, Assignment);

    fn next(&mut self) -> Option<(u64, Assignment)> {
        while self.cut_at.is_none() {
            let arrival = self.schedule.next()?;
            match self.mix.next() {
                Some(assignment)
                    if self.share.owns_arrival(self.process, arrival.index, self.seed) =>
                {
                    return Some((arrival.offset_ns, assignment));
                }
                Some(_) => {}
                None => self.cut_at = Some(arrival.offset_ns),
            }
        }
        None
    }
}
