//! Virtual time: it stops while any task can run, and jumps ahead when every task waits.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

use timer::{Key, Queue, Sleep, Waits};

use super::Clock;

/// A clock for the tasks of one thread, advanced by that thread's runtime.
///
/// tokio's own paused time has a resolution of 1 ms; this clock counts single nanoseconds. Tasks
/// that wait for the same instant wake in the order in which they began to wait. The lock is only
/// there because the runtime requires `Send` hooks; a single thread takes it.
#[derive(Debug, Clone, Default)]
pub struct Virtual {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    now: u64,
    waits: Queue,
}

impl Virtual {
    /// A clock at instant 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// A runtime for this thread that advances the clock whenever no task can run.
    ///
    /// It has neither sockets nor timers of its own. It panics if every task waits and none of them
    /// for an instant, because then nothing could ever happen again.
    ///
    /// Errors: what the operating system says when the runtime cannot be made
    pub fn runtime(&self) -> io::Result<LocalRuntime> {
        let clock = self.clone();
        Builder::new_current_thread()
            .on_thread_park(move || clock.advance())
            .build_local(LocalOptions::default())
    }

    /// Lets time pass while a task runs, as work does on a real clock; tasks wake when no other can run.
    #[cfg(test)]
    pub(crate) fn pass(&self, nanoseconds: u64) {
        self.state().now += nanoseconds;
    }

    /// Jumps to the earliest instant and wakes all tasks that wait for it.
    fn advance(&self) {
        let now = {
            let mut state = self.state();
            let Some(at) = state.waits.earliest() else {
                panic!("virtual time cannot advance: every task waits, but none for an instant");
            };
            state.now = state.now.max(at);
            state.now
        };
        while let Some(waker) = self.pop_due(now) {
            waker.wake();
        }
    }

    /// Releases the lock before the task is woken: waking may drop a task, and with it a wait.
    fn pop_due(&self, now: u64) -> Option<Waker> {
        self.state().waits.pop_due(now)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for Virtual {
    fn now(&self) -> u64 {
        self.state().now
    }

    async fn sleep_until(&self, at: u64) {
        Sleep::new(self, at).await;
    }
}

impl Waits for Virtual {
    fn now(&self) -> u64 {
        self.state().now
    }

    fn register(&self, at: u64, waker: Waker) -> Key {
        self.state().waits.insert(at, waker)
    }

    fn update(&self, key: Key, waker: &Waker) -> bool {
        self.state().waits.update(key, waker)
    }

    fn cancel(&self, key: Key) {
        let waker = self.state().waits.cancel(key);
        drop(waker);
    }
}
