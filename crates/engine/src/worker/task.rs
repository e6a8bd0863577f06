//! Tasks of a worker, spawned so that the worker notices their panic.

use std::rc::Rc;

use tokio::task::spawn_local;

use super::state::WorkerState;
use crate::clock::Clock;
use crate::driver::Driver;
use crate::transport::Network;

/// Spawns a task of a worker; if it panics, the worker's main task is woken and fails.
pub(super) fn spawn<C: Clock, N: Network, D: Driver>(
    state: &Rc<WorkerState<C, N, D>>,
    task: impl Future<Output = ()> + 'static,
) {
    struct PanicGuard<C: Clock, N: Network, D: Driver>(Rc<WorkerState<C, N, D>>);
    impl<C: Clock, N: Network, D: Driver> Drop for PanicGuard<C, N, D> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                self.0.note_panic();
            }
        }
    }
    let guard = PanicGuard(Rc::clone(state));
    // The block would hold it twice: as what it captured, and as what it awaits.
    let task = Box::pin(task);
    spawn_local(async move {
        let _guard = guard;
        task.await;
    });
}
