//! The workers' threads: one pinned thread and one runtime each.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Poll;
use std::thread::{self, JoinHandle};

use record::summary::Scheduling;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::task::spawn_local;

use super::polling::poll_on;
use super::scheduling::{SchedulingRequest, ask, keep_within};
use crate::clock::{Real, monotonic};
use crate::driver::Driver;
use crate::placement;
use crate::selfcheck::{Polled, Timing, WorkerThread, current_task};
use crate::transport::Kernel;
use crate::worker::{ConductorLink, Message, StopSignals, WorkerReport, Workload, run_worker};

/// The running workers of trials.
pub(super) struct WorkerThreads {
    running: Vec<JoinHandle<ThreadResult>>,
    /// By worker.
    pub(super) workers: Vec<WorkerThread>,
    /// Messages of the workers; disconnected when all have ended.
    pub(super) messages: Receiver<(usize, Message)>,
    sides: usize,
    /// Keeps ended workers' threads alive until dropped, so that the kernel still has their
    /// figures.
    holds: Vec<Sender<()>>,
}

/// Processors and scheduling of the threads.
#[derive(Debug, Clone, Copy)]
pub(super) struct ThreadSettings<'a> {
    /// One processor a worker.
    pub(super) cores: &'a [usize],
    /// Whether they poll.
    pub(super) busy_poll: bool,
    /// The scheduling that they ask for.
    pub(super) request: SchedulingRequest,
}

/// The scheduling that a worker requested and has; near the limit it gives up `SCHED_FIFO`.
struct FifoLimit {
    request: SchedulingRequest,
    scheduling: Rc<Cell<Scheduling>>,
}

impl FifoLimit {
    /// Call it within the worker's runtime.
    fn watch(self, clock: &Real) {
        spawn_local(keep_within(self.request, clock.clone(), self.scheduling));
    }
}

/// The result of one thread.
struct ThreadResult {
    /// By side.
    reports: Result<Vec<WorkerReport>, String>,
    scheduling: Scheduling,
    note: Option<String>,
}

/// The results of all threads.
#[derive(Default)]
pub(super) struct WorkerResults {
    /// By side, then by worker.
    pub(super) reports: Vec<Vec<WorkerReport>>,
    /// Why a worker died, if one did.
    pub(super) died: Option<String>,
    /// By worker.
    pub(super) scheduling: Vec<Scheduling>,
    /// Sentences for the record.
    pub(super) notes: Vec<String>,
}

impl WorkerThreads {
    /// Starts one thread on each of these processors, for all of these trials.
    ///
    /// Errors: those of the operating system if a thread cannot be started; threads that were
    /// started stop
    pub(super) fn start<D: Driver>(
        workloads: &[Arc<Workload<D>>],
        settings: ThreadSettings<'_>,
        stops: &StopSignals,
    ) -> io::Result<Self> {
        let (sender, messages) = channel();
        let (introduce, introduced) = channel();
        let (running, workers, holds) = (Vec::new(), Vec::new(), Vec::new());
        let mut threads = Self { running, workers, messages, sides: workloads.len(), holds };
        let ThreadSettings { cores, busy_poll, request } = settings;
        for (worker, &core) in cores.iter().enumerate() {
            let (hold, held) = channel::<()>();
            let workloads = workloads.to_vec();
            let link = ConductorLink { stops: stops.clone(), messages: sender.clone() };
            let (abort, introduce) = (stops.abort.clone(), introduce.clone());
            let request = request.shared_by(cores.iter().filter(|&&other| other == core).count());
            let body = move || {
                let note = placement::pin(&[core]).err();
                let scheduling = Rc::new(Cell::new(ask(request)));
                // If another thread could not be started, there is no receiver.
                let polled = Polled::default();
                let thread = WorkerThread { id: current_task(), polled: polled.clone() };
                let _ = introduce.send((worker, thread));
                let polls = busy_poll.then_some(polled);
                let limit = FifoLimit { request, scheduling: Rc::clone(&scheduling) };
                let run = AssertUnwindSafe(|| run(workloads, worker, polls, limit, link));
                let reports =
                    catch_unwind(run).unwrap_or_else(|_| Err(format!("worker {worker} panicked")));
                if reports.is_err() {
                    abort.request();
                }
                // Nothing is ever sent: this ends when the supervisor drops the sender.
                let _ = held.recv();
                let note = note.map(|error| format!("worker {worker} is not pinned: {error}"));
                ThreadResult { reports, scheduling: scheduling.get(), note }
            };
            let thread = thread::Builder::new().name(format!("worker-{worker}")).spawn(body);
            threads.running.push(thread.inspect_err(|_| stops.abort.request())?);
            threads.holds.push(hold);
        }
        let mut workers: Vec<_> = introduced.iter().take(cores.len()).collect();
        workers.sort_unstable_by_key(|&(worker, _)| worker);
        threads.workers = workers.into_iter().map(|(_, thread)| thread).collect();
        Ok(threads)
    }

    /// Lets the threads end and collects their results.
    pub(super) fn join(self) -> WorkerResults {
        drop(self.holds);
        let reports = (0..self.sides).map(|_| Vec::new()).collect();
        let mut results = WorkerResults { reports, ..WorkerResults::default() };
        for thread in self.running {
            match thread.join() {
                Ok(ThreadResult { reports: Ok(reports), scheduling, note }) => {
                    results.scheduling.push(scheduling);
                    let sides = results.reports.iter_mut().zip(reports);
                    sides.for_each(|(side, report)| side.push(report));
                    results.notes.extend(note);
                }
                Ok(ThreadResult { reports: Err(reason), .. }) => {
                    _ = results.died.get_or_insert(reason)
                }
                Err(_) => _ = results.died.get_or_insert("a worker panicked at its end".to_owned()),
            }
        }
        results
    }
}

/// Measures clock and timer as a worker uses them, polling or sleeping.
///
/// Errors: those of the operating system if there is no timer
pub(super) fn timing(busy_poll: bool) -> io::Result<Timing> {
    let waiting = Waiting::start(busy_poll.then(Polled::default))?;
    Ok(Timing::measure(monotonic, |at| waiting.until(at)))
}

/// A worker's way to wait, for a thread that does nothing else.
pub(super) struct Waiting {
    runtime: LocalRuntime,
    clock: Real,
}

impl Waiting {
    /// Sleeping, or polling.
    ///
    /// Errors: those of the operating system if there is no timer
    pub(super) fn start(polls: Option<Polled>) -> io::Result<Self> {
        let runtime = runtime()?;
        let clock = runtime.block_on(async { start(polls) })?;
        Ok(Self { runtime, clock })
    }

    /// Waits until this instant.
    pub(super) fn until(&self, at: u64) {
        self.runtime.block_on(self.clock.sleep_until(at));
    }
}

/// A worker thread: its part of all trials, as one task on one clock.
fn run<D: Driver>(
    workloads: Vec<Arc<Workload<D>>>,
    worker: usize,
    polls: Option<Polled>,
    limit: FifoLimit,
    link: ConductorLink,
) -> Result<Vec<WorkerReport>, String> {
    let lacks = |what, error: io::Error| format!("worker {worker} has no {what}: {error}");
    let runtime = runtime().map_err(|error| lacks("runtime", error))?;
    runtime.block_on(async move {
        let clock = start(polls).map_err(|error| lacks("timer", error))?;
        limit.watch(&clock);
        let part = |workload| {
            let (clock, link) = (clock.clone(), link.clone());
            async move {
                let abort = link.stops.abort.clone();
                let report = run_worker(clock, Kernel, workload, worker, link).await;
                // When one part fails, the others end, too.
                report.inspect_err(|_| abort.request())
            }
        };
        all(workloads.into_iter().map(part).collect()).await.into_iter().collect()
    })
}

/// Starts the clock and, for a worker that polls, the task that polls.
fn start(polls: Option<Polled>) -> io::Result<Real> {
    if let Some(polled) = polls {
        spawn_local(poll_on(polled));
    }
    Real::start()
}

/// Awaits all futures within one task.
async fn all<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut parts: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        for (part, ended) in parts.iter_mut().filter(|(_, ended)| ended.is_none()) {
            if let Poll::Ready(value) = part.as_mut().poll(context) {
                *ended = Some(value);
            }
        }
        let open = parts.iter().any(|(_, ended)| ended.is_none());
        if open { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    parts.into_iter().filter_map(|(_, ended)| ended).collect()
}

fn runtime() -> io::Result<LocalRuntime> {
    Builder::new_current_thread().enable_io().build_local(LocalOptions::default())
}
