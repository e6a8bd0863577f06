//! A trial in virtual time: all workers are tasks of one thread, and nothing is waited for.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::task::Poll;

use record::event::EventKind;
use record::{Role, Trial};
use tokio::task::spawn_local;

use super::desk::Desk;
use super::setup::Setup;
use super::{ConductError, Output, facts};
use crate::clock::{Clock, Virtual};
use crate::driver::Driver;
use crate::stop::StopSignal;
use crate::transport::{Address, Endpoint, Network};
use crate::worker::{Brief, Message, Report, Stops, work};

/// Virtual nanoseconds between looks at what the workers said.
const TICK: u64 = 1_000_000_000;

/// Executes a trial in virtual time, against servers of this network. The host of a target's URL is
/// the server's name.
///
/// Processes are not started, and there is nothing to check about the generator: it is never late.
///
/// Errors: as for a real trial
pub fn run_virtual<D: Driver, N: Network>(
    setup: &Setup<'_, D>,
    (clock, network): (&Virtual, N),
    workers: usize,
    on: &mut dyn FnMut(Output),
) -> Result<Trial, ConductError> {
    let targets = &setup.arm.targets;
    let endpoints = targets.iter().map(|target| endpoint(&target.url)).collect();
    let workers = setup.workers(workers);
    let prepared = setup.compile(targets)?;
    let brief = Arc::new(setup.brief(prepared, endpoints, workers, clock.now()));
    let mut desk = Desk::new(&brief, on);
    let runtime = clock.runtime()?;
    let (reports, died) = runtime.block_on(execute(setup, &brief, (clock, network), &mut desk));
    let died = died.map(|why| (Role::Worker, why));
    let trial = facts::join(setup, &brief, &reports, (died, desk.ended_early()));
    desk.close();
    let accounting = facts::accounting(&trial.totals.total());
    desk.event(clock.now(), EventKind::TrialFinished { accounting });
    Ok(trial)
}

async fn execute<D: Driver, N: Network>(
    setup: &Setup<'_, D>,
    brief: &Arc<Brief<D>>,
    (clock, network): (&Virtual, N),
    desk: &mut Desk<'_>,
) -> (Vec<Report>, Option<String>) {
    let (messages, said) = channel();
    let (user, end) = (setup.stop.clone(), setup.end.clone());
    let stops = Stops { user, conduct: StopSignal::new(), end };
    desk.event(clock.now(), setup.started());
    let tasks: Vec<_> = (0..brief.workers)
        .map(|worker| {
            let (means, brief) = ((clock.clone(), network.clone()), Arc::clone(brief));
            let ends = (stops.clone(), messages.clone());
            let conduct = stops.conduct.clone();
            spawn_local(async move {
                let report = work(means, brief, worker, ends).await;
                if report.is_err() {
                    conduct.request();
                }
                report
            })
        })
        .collect();
    let mut reports = Vec::new();
    let mut died = None;
    for task in tasks {
        match listening(task, clock, setup, (desk, &said)).await {
            Ok(Ok(report)) => reports.push(report),
            Ok(Err(reason)) => died = Some(reason),
            Err(panicked) => died = Some(panicked.to_string()),
        }
    }
    listen(desk, &said);
    (reports, died)
}

/// Awaits a worker, and meanwhile takes what all of them say.
async fn listening<T, D: Driver>(
    task: impl Future<Output = T>,
    clock: &Virtual,
    setup: &Setup<'_, D>,
    (desk, said): (&mut Desk<'_>, &Receiver<Message>),
) -> T {
    let mut task = pin!(task);
    loop {
        let mut tick = pin!(clock.sleep_until(clock.now() + TICK));
        let ended = poll_fn(|context| match task.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => tick.as_mut().poll(context).map(|()| None),
        })
        .await;
        desk.enter_phases(clock.now());
        if setup.stop.requests() > 0 {
            desk.interrupt(clock.now());
        }
        listen(desk, said);
        desk.tell_progress(clock.now());
        if let Some(value) = ended {
            return value;
        }
    }
}

fn listen(desk: &mut Desk<'_>, said: &Receiver<Message>) {
    while let Ok(message) = said.try_recv() {
        desk.take(message);
    }
}

fn endpoint(url: &str) -> Endpoint {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = host.split('/').next().unwrap_or(host).to_owned();
    Endpoint { address: Address::Memory(authority.clone()), authority, tls: None }
}
