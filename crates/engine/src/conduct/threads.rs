//! The workers' threads: one pinned thread and one runtime each.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

use crate::clock::{Clock, Real, monotonic};
use crate::driver::Driver;
use crate::placement;
use crate::selfcheck::{Timing, current_task};
use crate::transport::Kernel;
use crate::worker::{Brief, Message, Report, Stops, work};

/// The workers of a trial that goes on.
pub(super) struct Threads {
    running: Vec<JoinHandle<Ended>>,
    /// Kernel ids, by worker.
    pub(super) ids: Vec<u32>,
    /// What the workers say; disconnected when all have ended.
    pub(super) said: Receiver<Message>,
    /// Workers that have ended stay until these are dropped, so that the kernel still knows them.
    holds: Vec<Sender<()>>,
}

/// What is left of one thread.
struct Ended {
    report: Result<Report, String>,
    note: Option<String>,
}

/// What is left of all of them.
#[derive(Default)]
pub(super) struct Harvest {
    pub(super) reports: Vec<Report>,
    /// Why a worker died, if one did.
    pub(super) died: Option<String>,
    /// Sentences for the record.
    pub(super) notes: Vec<String>,
}

impl Threads {
    /// Starts them, each on its processor.
    ///
    /// Errors: what the operating system says when there is no thread to be had; those that were
    /// started stop
    pub(super) fn start<D: Driver>(
        brief: &Arc<Brief<D>>,
        cores: &[usize],
        stops: &Stops,
    ) -> io::Result<Self> {
        let (messages, said) = channel();
        let (introduce, introduced) = channel();
        let mut threads = Self { running: Vec::new(), ids: Vec::new(), said, holds: Vec::new() };
        for (worker, &core) in cores.iter().enumerate() {
            let (hold, held) = channel::<()>();
            let (brief, ends) = (Arc::clone(brief), (stops.clone(), messages.clone()));
            let (conduct, introduce) = (stops.conduct.clone(), introduce.clone());
            let body = move || {
                let note = placement::pin(&[core]).err();
                // Nobody listens when another thread could not be started.
                let _ = introduce.send((worker, current_task()));
                let run = AssertUnwindSafe(|| run(brief, worker, ends));
                let report =
                    catch_unwind(run).unwrap_or_else(|_| Err(format!("worker {worker} panicked")));
                if report.is_err() {
                    conduct.request();
                }
                // Nothing is ever sent: this ends when the conductor lets go.
                let _ = held.recv();
                let note = note.map(|error| format!("worker {worker} is not pinned: {error}"));
                Ended { report, note }
            };
            let thread = thread::Builder::new().name(format!("worker-{worker}")).spawn(body);
            threads.running.push(thread.inspect_err(|_| stops.conduct.request())?);
            threads.holds.push(hold);
        }
        let mut ids: Vec<(usize, u32)> = introduced.iter().take(cores.len()).collect();
        ids.sort_unstable();
        threads.ids = ids.into_iter().map(|(_, id)| id).collect();
        Ok(threads)
    }

    /// Lets the threads go and gathers what they leave.
    pub(super) fn join(self) -> Harvest {
        drop(self.holds);
        let mut harvest = Harvest::default();
        for thread in self.running {
            match thread.join() {
                Ok(Ended { report: Ok(report), note }) => {
                    harvest.reports.push(report);
                    harvest.notes.extend(note);
                }
                Ok(Ended { report: Err(reason), .. }) => _ = harvest.died.get_or_insert(reason),
                Err(_) => _ = harvest.died.get_or_insert("a worker panicked at its end".to_owned()),
            }
        }
        harvest
    }
}

/// Measures clock and timer as a worker has them.
///
/// Errors: what the operating system says when there is no timer to be had
pub(super) fn timing() -> io::Result<Timing> {
    let runtime = runtime()?;
    let clock = runtime.block_on(async { Real::start() })?;
    Ok(Timing::measure(monotonic, |at| runtime.block_on(clock.sleep_until(at))))
}

/// The whole of a worker.
fn run<D: Driver>(
    brief: Arc<Brief<D>>,
    worker: usize,
    ends: (Stops, Sender<Message>),
) -> Result<Report, String> {
    let lacks = |what, error: io::Error| format!("worker {worker} has no {what}: {error}");
    let runtime = runtime().map_err(|error| lacks("runtime", error))?;
    runtime.block_on(async move {
        let clock = Real::start().map_err(|error| lacks("timer", error))?;
        work((clock, Kernel), brief, worker, ends).await
    })
}

fn runtime() -> io::Result<LocalRuntime> {
    Builder::new_current_thread().enable_io().build_local(LocalOptions::default())
}
