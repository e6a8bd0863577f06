//! A trial in virtual time: all workers are tasks of one thread, and nothing is waited for.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::task::Poll;

use record::Trial;
use tokio::task::spawn_local;

use super::desk::{Desk, Listener};
use super::facts::Died;
use super::setup::{Setup, briefs};
use super::{ConductError, Output, facts};
use crate::clock::{Clock, Virtual};
use crate::driver::Driver;
use crate::transport::{Address, Endpoint, Network};
use crate::worker::{Brief, Message, Report, work};

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
    means: (&Virtual, N),
    workers: usize,
    on: &mut dyn FnMut(Output),
) -> Result<Trial, ConductError> {
    let setups = std::slice::from_ref(setup);
    let mut trials = run_virtual_together(setups, means, workers, &mut |_, output| on(output))?;
    Ok(trials.remove(0))
}

/// Executes trials at the same time in virtual time; see [`run_together`](super::run_together).
///
/// Errors: as for real trials
pub fn run_virtual_together<D: Driver, N: Network>(
    setups: &[Setup<'_, D>],
    (clock, network): (&Virtual, N),
    workers: usize,
    on: &mut dyn FnMut(usize, Output),
) -> Result<Vec<Trial>, ConductError> {
    let workers = setups.iter().map(|setup| setup.workers(workers)).min().unwrap_or(1);
    let ready = setups.iter().map(|setup| {
        let targets = &setup.arm.targets;
        let endpoints = targets.iter().map(|target| endpoint(&target.url)).collect();
        Ok((endpoints, setup.compile(targets)?))
    });
    let ready = ready.collect::<Result<Vec<_>, ConductError>>()?;
    let briefs = briefs(setups, ready, workers, clock.now());
    let listener: Listener<'_> = RefCell::new(&mut *on);
    let mut desks: Vec<Desk<'_>> = briefs.iter().map(|brief| Desk::new(brief, &listener)).collect();
    let runtime = clock.runtime()?;
    let all = execute(setups, &briefs, (clock, network), &mut desks);
    let (reports, died) = runtime.block_on(all);
    let died = died.map(Died::worker);
    let sides = setups.iter().zip(&briefs).zip(&reports);
    let trials = sides.zip(&mut desks).map(|(((setup, brief), reports), desk)| {
        let mut trial = facts::join(setup, brief, reports, (died.clone(), desk.ended_early()));
        trial.generator.notes.extend(brief.notes());
        desk.finish(trial, clock.now())
    });
    Ok(trials.collect())
}

/// The reports by side, and why a worker died, if one did.
async fn execute<D: Driver, N: Network>(
    setups: &[Setup<'_, D>],
    briefs: &[Arc<Brief<D>>],
    (clock, network): (&Virtual, N),
    desks: &mut [Desk<'_>],
) -> (Vec<Vec<Report>>, Option<String>) {
    let (messages, said) = channel();
    let stops = setups[0].stops();
    for (desk, setup) in desks.iter_mut().zip(setups) {
        desk.event(clock.now(), setup.started());
    }
    let shifts = briefs.iter().flat_map(|brief| (0..brief.workers).map(move |w| (brief, w)));
    let tasks: Vec<_> = shifts
        .map(|(brief, worker)| {
            let (means, brief) = ((clock.clone(), network.clone()), Arc::clone(brief));
            let (side, ends) = (brief.side, (stops.clone(), messages.clone()));
            let conduct = stops.conduct.clone();
            let task = spawn_local(async move {
                let report = work(means, brief, worker, ends).await;
                if report.is_err() {
                    conduct.request();
                }
                report
            });
            (side, task)
        })
        .collect();
    let mut reports: Vec<Vec<Report>> = briefs.iter().map(|_| Vec::new()).collect();
    let mut died = None;
    for (side, task) in tasks {
        match listening(task, clock, &setups[0], (desks, &said)).await {
            Ok(Ok(report)) => reports[side].push(report),
            Ok(Err(reason)) => died = Some(reason),
            Err(panicked) => died = Some(panicked.to_string()),
        }
    }
    listen(desks, &said);
    (reports, died)
}

/// Awaits a worker, and meanwhile takes what all of them say.
async fn listening<T, D: Driver>(
    task: impl Future<Output = T>,
    clock: &Virtual,
    setup: &Setup<'_, D>,
    (desks, said): (&mut [Desk<'_>], &Receiver<(usize, Message)>),
) -> T {
    let mut task = pin!(task);
    loop {
        let mut tick = pin!(clock.sleep_until(clock.now() + TICK));
        let ended = poll_fn(|context| match task.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => tick.as_mut().poll(context).map(|()| None),
        })
        .await;
        desks.iter_mut().for_each(|desk| desk.enter_phases(clock.now()));
        if setup.stop.requests() > 0 {
            desks.iter_mut().for_each(|desk| desk.interrupt(clock.now()));
        }
        listen(desks, said);
        desks.iter_mut().for_each(|desk| desk.tell_progress(clock.now()));
        if let Some(value) = ended {
            return value;
        }
    }
}

fn listen(desks: &mut [Desk<'_>], said: &Receiver<(usize, Message)>) {
    while let Ok((side, message)) = said.try_recv() {
        desks[side].take(message);
    }
}

fn endpoint(url: &str) -> Endpoint {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = host.split('/').next().unwrap_or(host).to_owned();
    Endpoint { address: Address::Memory(authority.clone()), authority, tls: None, upgrade: None }
}
