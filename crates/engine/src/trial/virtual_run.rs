//! A trial in virtual time: all workers are tasks of one thread, and nothing waits for real time.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::task::Poll;

use record::TrialFacts;
use tokio::task::spawn_local;

use super::collector::{Collector, OutputSink};
use super::facts::Abort;
use super::setup::{PreparedMix, Setup, workloads};
use super::{TrialError, TrialOutput, facts};
use crate::clock::{Clock, Virtual};
use crate::driver::Driver;
use crate::transport::{Address, Endpoint, Network};
use crate::worker::{ConductorLink, Message, WorkerReport, Workload, run_worker};

/// Virtual nanoseconds between reads of the workers' messages.
const TICK: u64 = 1_000_000_000;

/// Executes a trial in virtual time, against servers of this network. The host of a target's URL is
/// the server's name.
///
/// It starts no processes, and does not check the generator, which is never late.
///
/// Errors: as for a real trial
pub fn run_virtual<D: Driver, N: Network>(
    setup: &Setup<'_, D>,
    clock: &Virtual,
    network: N,
    workers: usize,
    on: &mut dyn FnMut(TrialOutput),
) -> Result<TrialFacts, TrialError> {
    let setups = std::slice::from_ref(setup);
    let mut trials =
        run_virtual_together(setups, clock, network, workers, &mut |_, output| on(output))?;
    Ok(trials.remove(0))
}

/// Executes trials at the same time in virtual time; see [`run_together`](super::run_together).
///
/// Errors: as for real trials
pub fn run_virtual_together<D: Driver, N: Network>(
    setups: &[Setup<'_, D>],
    clock: &Virtual,
    network: N,
    workers: usize,
    on: &mut dyn FnMut(usize, TrialOutput),
) -> Result<Vec<TrialFacts>, TrialError> {
    let workers = setups.iter().map(|setup| setup.workers(workers)).min().unwrap_or(1);
    let mixes = setups.iter().map(|setup| {
        let targets = &setup.arm.targets;
        let endpoints = targets.iter().map(|target| endpoint(&target.url)).collect();
        Ok(PreparedMix::new(&*setup.driver, endpoints, setup.compile(targets)?))
    });
    let mixes = mixes.collect::<Result<Vec<_>, TrialError>>()?;
    let workloads = workloads(setups, mixes, workers, clock.now());
    let sink: OutputSink<'_> = RefCell::new(&mut *on);
    let mut collectors: Vec<Collector<'_>> =
        workloads.iter().map(|workload| Collector::new(workload, &sink)).collect();
    let runtime = clock.runtime()?;
    let all = execute(setups, &workloads, clock, network, &mut collectors);
    let (reports, died) = runtime.block_on(all);
    let sides = setups.iter().zip(&workloads).zip(&reports);
    let trials = sides.zip(&mut collectors).map(|(((setup, workload), reports), collector)| {
        let mut trial = facts::join(setup, workload, reports, collector.ended_early());
        if let Some(why) = &died {
            facts::abort(&mut trial, Abort::worker(why.clone()), setup.ending(workload));
        }
        trial.generator.notes.extend(workload.notes());
        collector.finish(trial, clock.now())
    });
    Ok(trials.collect())
}

/// The reports by side, and why a worker died, if one did.
async fn execute<D: Driver, N: Network>(
    setups: &[Setup<'_, D>],
    workloads: &[Arc<Workload<D>>],
    clock: &Virtual,
    network: N,
    collectors: &mut [Collector<'_>],
) -> (Vec<Vec<WorkerReport>>, Option<String>) {
    let (sender, messages) = channel();
    let stops = setups[0].stops();
    for (collector, setup) in collectors.iter_mut().zip(setups) {
        collector.event(clock.now(), setup.started());
    }
    let parts =
        workloads.iter().flat_map(|workload| (0..workload.workers).map(move |w| (workload, w)));
    let tasks: Vec<_> = parts
        .map(|(workload, worker)| {
            let (clock, network) = (clock.clone(), network.clone());
            let (side, workload) = (workload.side, Arc::clone(workload));
            let link = ConductorLink { stops: stops.clone(), messages: sender.clone() };
            let abort = stops.abort.clone();
            let task = spawn_local(async move {
                let report = run_worker(clock, network, workload, worker, link).await;
                report.inspect_err(|_| abort.request())
            });
            (side, task)
        })
        .collect();
    let mut reports: Vec<Vec<WorkerReport>> = workloads.iter().map(|_| Vec::new()).collect();
    let mut died = None;
    for (side, task) in tasks {
        match listening(task, clock, &setups[0], collectors, &messages).await {
            Ok(Ok(report)) => reports[side].push(report),
            Ok(Err(reason)) => died = Some(reason),
            Err(panicked) => died = Some(panicked.to_string()),
        }
    }
    listen(collectors, &messages);
    (reports, died)
}

/// Awaits a worker, and meanwhile receives the messages of all workers.
async fn listening<T, D: Driver>(
    task: impl Future<Output = T>,
    clock: &Virtual,
    setup: &Setup<'_, D>,
    collectors: &mut [Collector<'_>],
    messages: &Receiver<(usize, Message)>,
) -> T {
    let mut task = pin!(task);
    loop {
        let mut tick = pin!(clock.sleep_until(clock.now() + TICK));
        let ended = poll_fn(|context| match task.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => tick.as_mut().poll(context).map(|()| None),
        })
        .await;
        collectors.iter_mut().for_each(|collector| collector.enter_phases(clock.now()));
        if setup.stop.requests() > 0 {
            collectors.iter_mut().for_each(|collector| collector.interrupt(clock.now()));
        }
        listen(collectors, messages);
        collectors.iter_mut().for_each(|collector| collector.emit_progress(clock.now()));
        if let Some(value) = ended {
            return value;
        }
    }
}

fn listen(collectors: &mut [Collector<'_>], messages: &Receiver<(usize, Message)>) {
    while let Ok((side, message)) = messages.try_recv() {
        collectors[side].receive(message);
    }
}

pub(super) fn endpoint(url: &str) -> Endpoint {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = host.split('/').next().unwrap_or(host).to_owned();
    Endpoint {
        address: Address::Memory(authority.clone()),
        authority,
        tls: None,
        upgrade: None,
        is_web: true,
    }
}
