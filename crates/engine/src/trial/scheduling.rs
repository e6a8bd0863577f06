//! The scheduling that workers request from the kernel, so that other programs on the machine do not make them late.
//!
//! `SCHED_FIFO` runs before every ordinary thread. A thread under it that uses its whole processor starves the rest of
//! the machine, and the kernel stops it for a while. So a worker gives it up when it comes near the kernel's limit,
//! and a worker that polls does not request it.
//!
//! A worker with a closed load does not request it either: it is never late, and its waiting shows that the machine is
//! busy. A target on the worker's own processor would be delayed and look slow, so workers do not request it there.
//!
//! A nice value is the second choice, and only for targets on other machines: if the kernel shares processors between
//! groups (sessions, control groups), a nice worker takes its group's share away from a target in the same group, on
//! any processor.

use std::cell::Cell;
use std::rc::Rc;

use plan::load::{Load, Model};
use record::summary::{Scheduling, SchedulingPolicy, SchedulingReason};
use rustix::process::{Resource, getpriority_process, getrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use crate::clock::{Clock, Real};
use crate::process::{become_fifo, become_nice, thread_cpu_ns};

/// The best nice value.
const BEST_NICE: i32 = -20;
/// Share of the kernel's limit up to which a worker keeps `SCHED_FIFO`.
const NEAR: f64 = 0.9;
/// Interval over which a worker's use of its processor is measured. Two intervals are much shorter than the time until
/// the kernel throttles, so a worker gives up `SCHED_FIFO` before the kernel stops it.
const SLICE_NS: u64 = 100_000_000;

/// Where the targets run, including the processes that were started for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TargetPlacement {
    /// On other machines, all of them.
    OtherMachines,
    /// On this machine, which has processors without workers.
    OtherProcessors,
    /// On the workers' processors.
    SameProcessors,
}

/// The circumstances that decide the requested scheduling, besides the kernel's permission.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Circumstances {
    /// Whether the user allows priority.
    pub(super) real_time: bool,
    /// Whether the workers poll.
    pub(super) polls: bool,
    /// Whether each operation starts as soon as the one before it has ended.
    pub(super) closed: bool,
    /// Where the targets run.
    pub(super) targets: TargetPlacement,
    /// The share of its time that a real-time thread may use.
    pub(super) share: f64,
}

/// The scheduling to request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SchedulingRequest {
    /// `SCHED_FIFO` while the worker uses less than this share of its processor, in (0, 1]; or why not to request it.
    fifo: Result<f64, SchedulingReason>,
    /// Whether to request the best nice value without `SCHED_FIFO`.
    nice: bool,
}

impl SchedulingRequest {
    /// The request for these circumstances.
    pub(super) fn of(circumstances: Circumstances) -> Self {
        let Circumstances { real_time, polls, closed, targets, share } = circumstances;
        let fifo = match () {
            () if !real_time => Err(SchedulingReason::SwitchedOff),
            () if polls => Err(SchedulingReason::Polling),
            () if closed => Err(SchedulingReason::ClosedLoad),
            () if targets == TargetPlacement::SameProcessors => {
                Err(SchedulingReason::SharedProcessors)
            }
            () if share <= 0.0 => Err(SchedulingReason::NoBudget),
            () => Ok(NEAR * share),
        };
        Self { fifo, nice: real_time && targets == TargetPlacement::OtherMachines }
    }

    /// The same for a worker that shares its processor with others: together they must stay below the kernel's limit.
    pub(super) fn shared_by(self, workers: usize) -> Self {
        Self { fifo: self.fifo.map(|limit| limit / workers.max(1) as f64), ..self }
    }
}

/// A request to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ask {
    Fifo,
    Nice(i32),
}

/// Whether each operation of a load starts as soon as the one before it has ended.
pub(super) fn is_closed(load: &Load) -> bool {
    match load.model {
        Model::Open { .. } => false,
        Model::Closed => true,
        Model::Users { think, .. } => think.mean().is_zero(),
    }
}

/// The nice value of a thread, and its permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Permissions {
    /// Nice value now.
    nice: i32,
    /// The best nice value that RLIMIT_NICE permits.
    nice_limit: i32,
    /// Whether CAP_SYS_NICE or RLIMIT_RTPRIO permits `SCHED_FIFO`.
    may_fifo: bool,
}

impl Permissions {
    fn read() -> Self {
        let limit = |resource| getrlimit(resource).current.unwrap_or(u64::MAX);
        let capable =
            capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_NICE));
        Self {
            nice: getpriority_process(None).unwrap_or(0),
            // RLIMIT_NICE counts from 1, for a nice value of 19, to 40 for one of -20.
            nice_limit: 20 - limit(Resource::Nice).min(40) as i32,
            may_fifo: capable || limit(Resource::Rtprio) >= 1,
        }
    }
}

/// Requests each in turn until one is granted.
fn settle(
    request: SchedulingRequest,
    has: Permissions,
    mut grant: impl FnMut(Ask) -> bool,
) -> Scheduling {
    let Permissions { nice, nice_limit, may_fifo } = has;
    let reason = Some(match request.fifo {
        Ok(_) if grant(Ask::Fifo) => {
            return Scheduling { policy: SchedulingPolicy::Fifo, nice: 0, reason: None };
        }
        Ok(_) if may_fifo => SchedulingReason::NoBudget,
        Ok(_) => SchedulingReason::NotPermitted,
        Err(reason) => reason,
    });
    for better in [BEST_NICE, nice_limit] {
        if request.nice && better < nice && grant(Ask::Nice(better)) {
            return Scheduling { policy: SchedulingPolicy::Nice, nice: better, reason };
        }
    }
    Scheduling { policy: SchedulingPolicy::Ordinary, nice, reason }
}

/// Makes the request for the calling thread alone.
pub(super) fn ask(request: SchedulingRequest) -> Scheduling {
    raise_capability();
    settle(request, Permissions::read(), |ask| match ask {
        Ask::Fifo => become_fifo().is_ok(),
        Ask::Nice(nice) => become_nice(nice).is_ok(),
    })
}

/// Lets the calling thread use CAP_SYS_NICE where it has the capability and does not use it: a file that permits a
/// capability without giving it (`setcap cap_sys_nice=p`) starts also where nothing grants it, as in a container.
fn raise_capability() {
    let Ok(sets) = capabilities(None) else { return };
    if sets.permitted.contains(CapabilitySet::SYS_NICE) {
        let effective = sets.effective | CapabilitySet::SYS_NICE;
        // What is permitted can be used.
        let _ = set_capabilities(None, CapabilitySets { effective, ..sets });
    }
}

/// Gives `SCHED_FIFO` up.
fn give_up_fifo(request: SchedulingRequest) -> Scheduling {
    let had = ask(SchedulingRequest { fifo: Err(SchedulingReason::NearLimit), ..request });
    if had.policy == SchedulingPolicy::Ordinary {
        // Returning to the earlier scheduling is always permitted.
        let _ = become_nice(had.nice);
    }
    had
}

/// Watches how much of its processor the calling worker uses, until it has no `SCHED_FIFO` to give up.
pub(super) async fn keep_within(
    request: SchedulingRequest,
    clock: Real,
    held: Rc<Cell<Scheduling>>,
) {
    let Ok(limit) = request.fifo else { return };
    let mut use_of = Use { since: clock.now(), cpu_ns: thread_cpu_ns() };
    while held.get().policy == SchedulingPolicy::Fifo {
        clock.sleep_until(use_of.since + SLICE_NS).await;
        if use_of.until(clock.now(), thread_cpu_ns()) > limit {
            held.set(give_up_fifo(request));
        }
    }
}

/// A worker's use of its processor up to some instant.
struct Use {
    since: u64,
    cpu_ns: u64,
}

impl Use {
    /// The share since the last call.
    fn until(&mut self, now: u64, cpu_ns: u64) -> f64 {
        let before = std::mem::replace(self, Self { since: now, cpu_ns });
        cpu_ns.saturating_sub(before.cpu_ns) as f64 / now.saturating_sub(before.since).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::{fs, thread};

    use rustix::thread::set_capabilities;
    use tokio::runtime::{Builder, LocalOptions};

    use super::*;

    const HERE: Circumstances = Circumstances {
        real_time: true,
        polls: false,
        closed: false,
        targets: TargetPlacement::OtherProcessors,
        share: 0.95,
    };
    const ELSEWHERE: Circumstances =
        Circumstances { targets: TargetPlacement::OtherMachines, ..HERE };
    const BESIDE: Circumstances =
        Circumstances { targets: TargetPlacement::SameProcessors, ..HERE };

    #[test]
    fn what_is_asked_for_follows_from_the_circumstances() {
        let check = |circumstances, fifo, nice| {
            assert_eq!(
                SchedulingRequest::of(circumstances),
                SchedulingRequest { fifo, nice },
                "{circumstances:?}"
            );
        };
        check(HERE, Ok(0.9 * 0.95), false);
        check(ELSEWHERE, Ok(0.9 * 0.95), true);
        check(BESIDE, Err(SchedulingReason::SharedProcessors), false);
        check(Circumstances { closed: true, ..HERE }, Err(SchedulingReason::ClosedLoad), false);
        check(Circumstances { closed: true, ..ELSEWHERE }, Err(SchedulingReason::ClosedLoad), true);
        check(Circumstances { polls: true, ..HERE }, Err(SchedulingReason::Polling), false);
        check(Circumstances { polls: true, ..ELSEWHERE }, Err(SchedulingReason::Polling), true);
        check(Circumstances { share: 0.0, ..HERE }, Err(SchedulingReason::NoBudget), false);
        check(Circumstances { share: 0.0, ..ELSEWHERE }, Err(SchedulingReason::NoBudget), true);
        check(
            Circumstances { real_time: false, ..ELSEWHERE },
            Err(SchedulingReason::SwitchedOff),
            false,
        );
    }

    #[test]
    fn workers_of_one_processor_share_its_limit() {
        let request = SchedulingRequest { fifo: Ok(0.8), nice: false };
        assert_eq!(request.shared_by(2).fifo, Ok(0.4));
        let polling = SchedulingRequest { fifo: Err(SchedulingReason::Polling), nice: true };
        assert_eq!(polling.shared_by(2), polling);
    }

    /// Permissions by user.
    const ROOT: Permissions = Permissions { nice: 0, nice_limit: 20, may_fifo: true };
    const NOBODY: Permissions = Permissions { nice: 0, nice_limit: 20, may_fifo: false };
    const NICE_LIMIT: Permissions = Permissions { nice: 0, nice_limit: -11, may_fifo: false };

    #[track_caller]
    fn check(
        request: SchedulingRequest,
        has: Permissions,
        granted: &[Ask],
        expect: (SchedulingPolicy, i32, Option<SchedulingReason>),
    ) {
        let had = settle(request, has, |ask| granted.contains(&ask));
        assert_eq!((had.policy, had.nice, had.reason), expect);
    }

    #[test]
    fn the_best_that_is_granted_is_taken_and_the_record_says_why_it_is_no_better() {
        use SchedulingPolicy::{Fifo, Nice, Ordinary};
        let (all, limited) = ([Ask::Fifo, Ask::Nice(-20)], [Ask::Nice(-11)]);
        let polls = Circumstances { polls: true, ..ELSEWHERE };
        let off = Circumstances { real_time: false, ..ELSEWHERE };
        for circumstances in [HERE, ELSEWHERE] {
            let request = SchedulingRequest::of(circumstances);
            check(request, ROOT, &all, (Fifo, 0, None));
            check(request, NOBODY, &[], (Ordinary, 0, Some(SchedulingReason::NotPermitted)));
            // A control group without a real-time budget refuses even a permitted thread.
            check(request, ROOT, &[], (Ordinary, 0, Some(SchedulingReason::NoBudget)));
        }
        check(
            SchedulingRequest::of(polls),
            ROOT,
            &all,
            (Nice, -20, Some(SchedulingReason::Polling)),
        );
        check(
            SchedulingRequest::of(off),
            ROOT,
            &all,
            (Ordinary, 0, Some(SchedulingReason::SwitchedOff)),
        );
        let elsewhere = SchedulingRequest::of(ELSEWHERE);
        check(elsewhere, NICE_LIMIT, &limited, (Nice, -11, Some(SchedulingReason::NotPermitted)));
        check(
            SchedulingRequest::of(polls),
            NICE_LIMIT,
            &limited,
            (Nice, -11, Some(SchedulingReason::Polling)),
        );
        check(elsewhere, ROOT, &[Ask::Nice(-20)], (Nice, -20, Some(SchedulingReason::NoBudget)));
    }

    #[test]
    fn a_target_on_this_machine_keeps_its_share_of_the_group() {
        let polls = Circumstances { polls: true, ..HERE };
        let all = [Ask::Fifo, Ask::Nice(-20), Ask::Nice(-11)];
        check(
            SchedulingRequest::of(polls),
            ROOT,
            &all,
            (SchedulingPolicy::Ordinary, 0, Some(SchedulingReason::Polling)),
        );
        let limited = (SchedulingPolicy::Ordinary, 0, Some(SchedulingReason::NotPermitted));
        check(SchedulingRequest::of(HERE), NICE_LIMIT, &all[2..], limited);
    }

    #[test]
    fn a_nice_value_from_outside_is_bettered_or_kept() {
        let slow = Permissions { nice: 19, ..NOBODY };
        let kept = (SchedulingPolicy::Ordinary, 19, Some(SchedulingReason::NotPermitted));
        check(SchedulingRequest::of(ELSEWHERE), slow, &[], kept);
        let best = Permissions { nice: -20, ..NOBODY };
        let kept = (SchedulingPolicy::Ordinary, -20, Some(SchedulingReason::NotPermitted));
        check(SchedulingRequest::of(ELSEWHERE), best, &[], kept);
    }

    /// Nice value and policy from the thread's `stat`.
    fn nice_and_policy(stat: &str) -> (i32, i32) {
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        // Fields start at the third, the state: these are the 19th and the 41st of proc_pid_stat(5).
        (fields[16].parse().unwrap(), fields[38].trim_end().parse().unwrap())
    }

    fn own() -> (i32, i32) {
        nice_and_policy(&fs::read_to_string("/proc/thread-self/stat").unwrap())
    }

    /// Checks that the kernel reports the same for this thread.
    #[track_caller]
    fn is_so(had: Scheduling, before: i32) {
        let expect = match had.policy {
            SchedulingPolicy::Fifo => (before, libc::SCHED_FIFO),
            SchedulingPolicy::Nice | SchedulingPolicy::Ordinary => (had.nice, libc::SCHED_OTHER),
        };
        assert_eq!(own(), expect, "{had:?}");
    }

    fn on_a_thread(body: impl FnOnce() + Send + 'static) {
        thread::spawn(body).join().unwrap();
    }

    /// `NoBudget` is also allowed, because the control group may have no budget where these tests run.
    #[track_caller]
    fn is_what_is_permitted(had: Scheduling, permissions: Permissions) {
        match had.reason {
            None => {
                assert!(permissions.may_fifo && had.policy == SchedulingPolicy::Fifo, "{had:?}")
            }
            Some(SchedulingReason::NoBudget) => assert!(permissions.may_fifo, "{had:?}"),
            Some(reason) => {
                assert_eq!((reason, permissions.may_fifo), (SchedulingReason::NotPermitted, false));
            }
        }
    }

    #[test]
    fn a_thread_has_what_the_record_says_and_its_children_are_ordinary() {
        let polls = Circumstances { polls: true, ..ELSEWHERE };
        let off = Circumstances { real_time: false, ..HERE };
        for request in [HERE, polls, off].map(SchedulingRequest::of) {
            on_a_thread(move || {
                let permissions = Permissions::read();
                let had = ask(request);
                is_so(had, permissions.nice);
                if request.fifo.is_ok() {
                    is_what_is_permitted(had, permissions);
                }
                let thread = thread::spawn(own).join().unwrap();
                let child = Command::new("cat").arg("/proc/self/stat").output().unwrap();
                let child = nice_and_policy(&String::from_utf8(child.stdout).unwrap());
                // For a new thread or process the kernel resets any request to 0, even a nice value above 0.
                let nice =
                    if had.policy == SchedulingPolicy::Ordinary { permissions.nice } else { 0 };
                let ordinary = (nice, libc::SCHED_OTHER);
                assert_eq!((thread, child), (ordinary, ordinary), "{had:?}");
            });
        }
    }

    #[test]
    fn without_the_capability_limits_decide() {
        on_a_thread(|| {
            // Capabilities belong to a thread: the other threads of this process keep theirs.
            let mut sets = capabilities(None).unwrap();
            sets.effective.remove(CapabilitySet::SYS_NICE);
            sets.permitted.remove(CapabilitySet::SYS_NICE);
            set_capabilities(None, sets).unwrap();
            let permissions = Permissions::read();
            let had = ask(SchedulingRequest::of(HERE));
            is_so(had, permissions.nice);
            is_what_is_permitted(had, permissions);
        });
    }

    #[test]
    fn a_capability_that_is_only_permitted_is_used() {
        on_a_thread(|| {
            let all = Permissions::read();
            let mut sets = capabilities(None).unwrap();
            sets.effective.remove(CapabilitySet::SYS_NICE);
            set_capabilities(None, sets).unwrap();
            let had = ask(SchedulingRequest::of(HERE));
            is_so(had, all.nice);
            is_what_is_permitted(had, all);
        });
    }

    #[test]
    fn a_worker_that_comes_near_the_limit_gives_fifo_up() {
        on_a_thread(|| {
            let before = Permissions::read().nice;
            let had = ask(SchedulingRequest::of(HERE));
            let held = Rc::new(Cell::new(had));
            let mut runtime = Builder::new_current_thread();
            let runtime = runtime.enable_io().build_local(LocalOptions::default()).unwrap();
            // Any running thread uses more than nothing of its processor.
            runtime.block_on(async {
                let request = SchedulingRequest { fifo: Ok(0.0), nice: false };
                keep_within(request, Real::start().unwrap(), Rc::clone(&held)).await;
            });
            let expect = if had.policy == SchedulingPolicy::Fifo {
                Some(SchedulingReason::NearLimit)
            } else {
                had.reason
            };
            assert_eq!(
                (held.get().policy, held.get().reason),
                (SchedulingPolicy::Ordinary, expect)
            );
            is_so(held.get(), before);
        });
    }

    #[test]
    fn use_is_taken_from_one_look_to_the_next() {
        let mut use_of = Use { since: 1_000, cpu_ns: 50 };
        assert_eq!(use_of.until(1_100, 140), 0.9);
        assert_eq!(use_of.until(1_200, 150), 0.1);
        assert_eq!(use_of.until(1_200, 150), 0.0);
    }
}
