//! Hands over the recorded results at the end of each window of wall time.

use std::rc::Rc;

use super::message::Message;
use super::state::WorkerState;
use crate::clock::Clock;
use crate::driver::Driver;
use crate::transport::Network;

/// Runs until the worker has ended. Its wait is registered after those of operations that are due
/// in the same window, so these begin before the window is handed over.
pub(super) async fn roll<C: Clock, N: Network, D: Driver>(state: Rc<WorkerState<C, N, D>>) {
    let timeline = state.workload.timeline;
    let mut at = timeline.measure_from;
    // Windows of the same length before the measure phase, for the live view.
    at -= (at - timeline.start) / timeline.window * timeline.window;
    loop {
        state.clock.sleep_until(at).await;
        let now = state.clock.now();
        if !hand_over(&state, now) {
            return;
        }
        at += timeline.window * (1 + now.saturating_sub(at) / timeline.window);
    }
}

/// Hands over once; false once the worker has ended.
pub(super) fn hand_over<C: Clock, N: Network, D: Driver>(
    state: &WorkerState<C, N, D>,
    now: u64,
) -> bool {
    let count = state.take_lost_idle();
    if count > 0 {
        state.send(Message::Lost { count, at: now });
    }
    let batch = state.with_recorder(|recorder| recorder.roll(now));
    let working = batch.is_some();
    if let Some(mut batch) = batch {
        let samples = batch.samples.len() as u64;
        let backlog = state.workload.samples.as_ref();
        if samples > 0 && !backlog.is_some_and(|backlog| backlog.admit(state.worker, samples)) {
            batch.samples = Vec::new();
            state.dropped.set(state.dropped.get() + samples);
        }
        state.send(Message::Batch(batch));
    }
    working
}
