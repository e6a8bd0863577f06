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
use super::scheduling::{Wish, ask, keep_within};
use crate::clock::{Real, monotonic};
use crate::driver::Driver;
use crate::placement;
use crate::selfcheck::{Polled, Timing, WorkerThread, current_task};
use crate::transport::Kernel;
use crate::worker::{Brief, Message, Report, Stops, work};

/// The workers of trials that go on.
pub(super) struct Threads {
    running: Vec<JoinHandle<Ended>>,
    /// By worker.
    pub(super) workers: Vec<WorkerThread>,
    /// What the workers say; disconnected when all have ended.
    pub(super) said: Receiver<(usize, Message)>,
    sides: usize,
    /// Workers that have ended stay until these are dropped, so that the kernel still knows them.
    holds: Vec<Sender<()>>,
}

/// What the threads have of the machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conditions<'a> {
    /// One processor a worker.
    pub(super) cores: &'a [usize],
    /// Whether they poll.
    pub(super) busy_poll: bool,
    /// The scheduling that they ask for.
    pub(super) wish: Wish,
}

/// What was asked for, and what is had, of which a worker may have to give up some.
struct Limit {
    wish: Wish,
    scheduling: Rc<Cell<Scheduling>>,
}

impl Limit {
    /// Call it within the worker's runtime.
    fn watch(self, clock: &Real) {
        spawn_local(keep_within(self.wish, clock.clone(), self.scheduling));
    }
}

/// What is left of one thread.
struct Ended {
    /// By side.
    reports: Result<Vec<Report>, String>,
    scheduling: Scheduling,
    note: Option<String>,
}

/// What is left of all of them.
#[derive(Default)]
pub(super) struct Harvest {
    /// By side, then by worker.
    pub(super) reports: Vec<Vec<Report>>,
    /// Why a worker died, if one did.
    pub(super) died: Option<String>,
    /// By worker.
    pub(super) scheduling: Vec<Scheduling>,
    /// Sentences for the record.
    pub(super) notes: Vec<String>,
}

impl Threads {
    /// Starts them, each on its processor, for all of these trials.
    ///
    /// Errors: what the operating system says when there is no thread to be had; those that were
    /// started stop
    pub(super) fn start<D: Driver>(
        briefs: &[Arc<Brief<D>>],
        conditions: Conditions<'_>,
        stops: &Stops,
    ) -> io::Result<Self> {
        let (messages, said) = channel();
        let (introduce, introduced) = channel();
        let (running, workers, holds) = (Vec::new(), Vec::new(), Vec::new());
        let mut threads = Self { running, workers, said, sides: briefs.len(), holds };
        let Conditions { cores, busy_poll, wish } = conditions;
        for (worker, &core) in cores.iter().enumerate() {
            let (hold, held) = channel::<()>();
            let (briefs, ends) = (briefs.to_vec(), (stops.clone(), messages.clone()));
            let (conduct, introduce) = (stops.conduct.clone(), introduce.clone());
            let wish = wish.shared_by(cores.iter().filter(|&&other| other == core).count());
            let body = move || {
                let note = placement::pin(&[core]).err();
                let scheduling = Rc::new(Cell::new(ask(wish)));
                // Nobody listens when another thread could not be started.
                let polled = Polled::default();
                let thread = WorkerThread { id: current_task(), polled: polled.clone() };
                let _ = introduce.send((worker, thread));
                let polls = busy_poll.then_some(polled);
                let limit = Limit { wish, scheduling: Rc::clone(&scheduling) };
                let run = AssertUnwindSafe(|| run(briefs, (worker, polls, limit), ends));
                let reports =
                    catch_unwind(run).unwrap_or_else(|_| Err(format!("worker {worker} panicked")));
                if reports.is_err() {
                    conduct.request();
                }
                // Nothing is ever sent: this ends when the conductor lets go.
                let _ = held.recv();
                let note = note.map(|error| format!("worker {worker} is not pinned: {error}"));
                Ended { reports, scheduling: scheduling.get(), note }
            };
            let thread = thread::Builder::new().name(format!("worker-{worker}")).spawn(body);
            threads.running.push(thread.inspect_err(|_| stops.conduct.request())?);
            threads.holds.push(hold);
        }
        let mut workers: Vec<_> = introduced.iter().take(cores.len()).collect();
        workers.sort_unstable_by_key(|&(worker, _)| worker);
        threads.workers = workers.into_iter().map(|(_, thread)| thread).collect();
        Ok(threads)
    }

    /// Lets the threads go and gathers what they leave.
    pub(super) fn join(self) -> Harvest {
        drop(self.holds);
        let reports = (0..self.sides).map(|_| Vec::new()).collect();
        let mut harvest = Harvest { reports, ..Harvest::default() };
        for thread in self.running {
            match thread.join() {
                Ok(Ended { reports: Ok(reports), scheduling, note }) => {
                    harvest.scheduling.push(scheduling);
                    let sides = harvest.reports.iter_mut().zip(reports);
                    sides.for_each(|(side, report)| side.push(report));
                    harvest.notes.extend(note);
                }
                Ok(Ended { reports: Err(reason), .. }) => _ = harvest.died.get_or_insert(reason),
                Err(_) => _ = harvest.died.get_or_insert("a worker panicked at its end".to_owned()),
            }
        }
        harvest
    }
}

/// Measures clock and timer as a worker has them, one that polls or one that sleeps.
///
/// Errors: what the operating system says when there is no timer to be had
pub(super) fn timing(busy_poll: bool) -> io::Result<Timing> {
    let runtime = runtime()?;
    let polls = busy_poll.then(Polled::default);
    let clock = runtime.block_on(async { start(polls) })?;
    Ok(Timing::measure(monotonic, |at| runtime.block_on(clock.sleep_until(at))))
}

/// The whole of a worker: its shifts in all trials, as one task on one clock.
fn run<D: Driver>(
    briefs: Vec<Arc<Brief<D>>>,
    (worker, polls, limit): (usize, Option<Polled>, Limit),
    ends: (Stops, Sender<(usize, Message)>),
) -> Result<Vec<Report>, String> {
    let lacks = |what, error: io::Error| format!("worker {worker} has no {what}: {error}");
    let runtime = runtime().map_err(|error| lacks("runtime", error))?;
    runtime.block_on(async move {
        let clock = start(polls).map_err(|error| lacks("timer", error))?;
        limit.watch(&clock);
        let shift = |brief| {
            let (means, ends) = ((clock.clone(), Kernel), ends.clone());
            async move {
                let conduct = ends.0.conduct.clone();
                // Where one falls the others end, too.
                work(means, brief, worker, ends).await.inspect_err(|_| conduct.request())
            }
        };
        all(briefs.into_iter().map(shift).collect()).await.into_iter().collect()
    })
}

/// The clock, and beside it what polls, if it shall.
fn start(polls: Option<Polled>) -> io::Result<Real> {
    if let Some(polled) = polls {
        spawn_local(poll_on(polled));
    }
    Real::start()
}

/// Awaits all of them within one task.
async fn all<T>(shifts: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut shifts: Vec<_> = shifts.into_iter().map(|shift| (Box::pin(shift), None)).collect();
    poll_fn(|context| {
        for (shift, ended) in shifts.iter_mut().filter(|(_, ended)| ended.is_none()) {
            if let Poll::Ready(value) = shift.as_mut().poll(context) {
                *ended = Some(value);
            }
        }
        let open = shifts.iter().any(|(_, ended)| ended.is_none());
        if open { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    shifts.into_iter().filter_map(|(_, ended)| ended).collect()
}

fn runtime() -> io::Result<LocalRuntime> {
    Builder::new_current_thread().enable_io().build_local(LocalOptions::default())
}
