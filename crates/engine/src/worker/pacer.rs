//! Open load: every operation begins at its scheduled time, whether or not earlier ones have ended.

use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use plan::load::ArrivalProcess;
use plan::schedule::Schedule;

use super::due_operation::DueOperation;
use super::journeys::{self, JourneyStart};
use super::slot::Slot;
use super::slot_handle::SlotHandle;
use super::state::{Stage, WorkerState};

use super::share::Arrivals;
use super::task::spawn;
use crate::clock::Clock;
use crate::driver::Driver;
use crate::transport::Network;

/// Dispatches the worker's share of warm-up and measure phase.
pub(super) async fn pace<C: Clock, N: Network, D: Driver>(
    state: &Rc<WorkerState<C, N, D>>,
    process: &ArrivalProcess,
) {
    let workload = Arc::clone(&state.workload);
    let timeline = workload.timeline;
    let length = Duration::from_nanos(timeline.measure_from - timeline.warm_from);
    let seed = workload.warm_seed();
    let schedule = Schedule::warm_up(process, length, &workload.trial);
    let share = workload.share_of(state.worker);
    let mut warm = Arrivals::new(process, (schedule, workload.mix(seed)), share, seed);
    follow(state, &mut warm, timeline.warm_from, seed).await;
    let (schedule, seed) =
        (Schedule::of_trial(process, workload.load.stop, &workload.trial), workload.trial.seed);
    let mut arrivals = Arrivals::new(process, (schedule, workload.mix(seed)), share, seed);
    follow(state, &mut arrivals, timeline.measure_from, seed).await;
    if let Some(offset) = arrivals.cut_at() {
        state.end_measuring(timeline.measure_from + offset);
    }
}

/// Dispatches arrivals, each at its instant. If it is late, it dispatches everything that is due at once, in order:
/// nothing is skipped or slowed down.
async fn follow<C: Clock, N: Network, D: Driver>(
    state: &Rc<WorkerState<C, N, D>>,
    arrivals: &mut Arrivals<'_>,
    from: u64,
    seed: u64,
) {
    for (offset, assignment) in arrivals {
        let intended_at = from + offset;
        let mut now = state.clock.now();
        if now < intended_at {
            state.clock.sleep_until(intended_at).await;
            now = state.clock.now();
        }
        if state.workload.journey(assignment.operation).is_some() {
            let start = JourneyStart { assignment, seed, intended_at, user: None };
            journeys::begin(state, start, now);
            continue;
        }
        let due = DueOperation {
            assignment,
            target: state.workload.prepared[assignment.operation].target.index(assignment.row),
            seed,
            intended_at,
            dispatched_at: now,
            acquired_at: now,
            step: None,
        };
        dispatch(state, due);
    }
}

/// Hands a due operation to a slot, which is made where it is needed.
pub(super) fn dispatch<C: Clock, N: Network, D: Driver>(
    state: &Rc<WorkerState<C, N, D>>,
    due: DueOperation,
) {
    let Some(handle) = state.dispatch(due) else { return };
    let pool = state.pool_of(&due);
    let group = state.group_of(pool);
    spawn(state, serve(Slot::new(Rc::clone(state), handle, group), pool));
}

/// A slot of the pool: performs the operation in its mailbox, then waiting ones, then rests.
async fn serve<C: Clock, N: Network, D: Driver>(mut slot: Slot<C, N, D>, pool: usize) {
    let (state, handle) = (Rc::clone(&slot.state), Rc::clone(&slot.handle));
    while let Some(due) = slot.rest(|_| next_assigned(&handle, &state)).await {
        let mut next = Some(due);
        while let Some(due) = next {
            let ended = slot.perform(due).await;
            next = state.next_or_release(pool, &handle, ended.at);
            if let Some(step) = due.step {
                journeys::operation_ended(&state, step, ended);
            }
        }
    }
}

fn next_assigned<C: Clock, N: Network, D: Driver>(
    handle: &SlotHandle,
    state: &WorkerState<C, N, D>,
) -> Poll<Option<DueOperation>> {
    match handle.take() {
        Some(due) => Poll::Ready(Some(due)),
        None if state.stage() == Stage::Closed => Poll::Ready(None),
        None => Poll::Pending,
    }
}
