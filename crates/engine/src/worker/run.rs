//! A worker from start to end: plan, drain, report.

use std::rc::Rc;
use std::sync::Arc;

use plan::load::Model;
use record::{EarlyEnd, Outcome, Sample, Spans, Status};

use super::due_operation::DueOperation;
use super::either::{First, either};
use super::message::{ConductorLink, Message, StopSignals, WorkerReport};
use super::slot::Ended;
use super::state::{Stage, WorkerState};
use super::task::spawn;
use super::workload::Workload;
use super::{actors, journeys, pacer, window_roller};
use crate::clock::Clock;
use crate::driver::Driver;
use crate::transport::Network;

/// Nanoseconds by which a worker may be late at the end of the measure phase before that shortens its drain. One that
/// opens more connections than it can may be late by as much as a time-out.
const LATEST: u64 = 1_000_000_000;

/// Executes one worker's share of a trial. Call it within a local runtime.
///
/// Errors: what happened if one of its tasks panicked
pub(crate) async fn run_worker<C: Clock, N: Network, D: Driver>(
    clock: C,
    network: N,
    workload: Arc<Workload<D>>,
    worker: usize,
    link: ConductorLink,
) -> Result<WorkerReport, String> {
    let ConductorLink { stops, messages } = link;
    let state = Rc::new(WorkerState::new(clock, network, workload, worker, messages));
    let watched = Rc::clone(&state);
    spawn(&state, async move { watched.watchdog.run(&watched.clock).await });
    spawn(&state, window_roller::roll(Rc::clone(&state)));
    let ended = either(run_phases(&state, &stops), state.panicked()).await;
    state.release_connections();
    match ended {
        First::Left(interrupted) => finish(&state, interrupted),
        First::Right(()) => Err(format!("a task of worker {worker} panicked")),
    }
}

/// From the first operation to the last. Returns whether it was stopped.
async fn run_phases<C: Clock, N: Network, D: Driver>(
    state: &Rc<WorkerState<C, N, D>>,
    stops: &StopSignals,
) -> bool {
    let planned = either(plan(state), enough(state, stops));
    let ended = either(planned, stops.requested(1)).await;
    // Everything due up to this instant counts as planned.
    let at = state.clock.now() + 1;
    let interrupted = matches!(ended, First::Right(()));
    if interrupted {
        state.end_measuring(at);
    } else if let First::Left(First::Right(why)) = ended
        && state.end_measuring(at)
    {
        state.send(Message::EndedEarly { why, at });
    }
    state.enter(Stage::Draining);
    let latest = state.phases().measure_to.saturating_add(LATEST);
    let deadline = state.clock.now().min(latest).saturating_add(state.workload.timeline.timeout);
    let too_long = either(state.clock.sleep_until(deadline), stops.requested(2));
    if let First::Right(_) = either(state.settled(), too_long).await {
        give_up(state).await;
    }
    interrupted || stops.user.requests() > 0
}

/// Resolves with the reason when the measure phase must end early while operations are still to
/// begin.
async fn enough<C: Clock, N: Network, D: Driver>(
    state: &Rc<WorkerState<C, N, D>>,
    stops: &StopSignals,
) -> EarlyEnd {
    let why = stops.end.requested().await;
    if state.is_exhausted() {
        // Everything planned has begun, so there is nothing to cut short.
        std::future::pending::<()>().await;
    }
    why
}

/// Begins operations until the measure phase is over.
async fn plan<C: Clock, N: Network, D: Driver>(state: &Rc<WorkerState<C, N, D>>) {
    let workload = Arc::clone(&state.workload);
    if !workload.journeys.is_empty() {
        spawn(state, journeys::run(Rc::clone(state)));
    }
    match &workload.load.model {
        Model::Open { arrivals } => {
            pacer::pace(state, arrivals).await;
            state.clock.sleep_until(state.phases().measure_to).await;
        }
        Model::Closed | Model::Users { .. } => {
            if workload.journeys.is_empty() {
                actors::start(state);
            } else {
                journeys::start_users(state);
            }
            let end = state.clock.sleep_until(workload.timeline.measure_to);
            if let First::Left(()) = either(state.exhausted(), end).await {
                // No operations remain: the phase ends with the last answer.
                state.end_measuring(state.gauge.changed_at() + 1);
            }
        }
    }
}

/// Abandons unfinished operations at the drain deadline.
async fn give_up<C: Clock, N: Network, D: Driver>(state: &Rc<WorkerState<C, N, D>>) {
    let now = state.clock.now();
    for due in state.waiting() {
        state.end(&abandoned(&due, now), None);
        if let Some(step) = due.step {
            let ended = Ended { at: now, connected: false, outcome: Outcome::Abandoned };
            journeys::operation_ended(state, step, ended);
        }
    }
    state.enter(Stage::Abandoning);
    journeys::abandon_waiting(state);
    state.settled().await;
}

fn abandoned(due: &DueOperation, now: u64) -> Sample<'static> {
    Sample {
        operation: due.assignment.operation,
        index: due.assignment.index,
        step: None,
        trace: None,
        intended_at: due.intended_at,
        dispatched_at: due.dispatched_at,
        acquired_at: now,
        started_at: now,
        finished_at: now,
        outcome: Outcome::Abandoned,
        status: Status::None,
        spans: Spans::NONE,
        items: &[],
        bytes_sent: 0,
        bytes_received: 0,
    }
}

fn finish<C: Clock, N: Network, D: Driver>(
    state: &Rc<WorkerState<C, N, D>>,
    interrupted: bool,
) -> Result<WorkerReport, String> {
    let drained_at = state.clock.now();
    state.enter(Stage::Closed);
    state.close_pools(drained_at);
    state.gauge.close(drained_at, &state.phases());
    window_roller::hand_over(state, drained_at.max(state.phases().measure_to));
    let mut recorder = state.take_recorder().ok_or("the recorder was taken twice")?;
    Ok(WorkerReport {
        listed: recorder.take_listed(),
        totals: recorder.finish(),
        in_flight_integral: state.gauge.integral(),
        area: state.gauge.area(),
        in_flight_max: state.gauge.max(),
        pool: *state.facts.borrow(),
        addresses: state.addresses.connections(),
        measure_to: state.phases().measure_to,
        drained_at,
        samples_dropped: state.dropped.get(),
        interrupted,
    })
}
