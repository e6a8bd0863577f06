//! CLOCK_MONOTONIC, waited for through one `timerfd` with absolute deadlines.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::spawn_local;

use crate::queue::{Key, Queue};
use crate::sleep::{Sleep, Waits};

const NANOSECONDS: u64 = 1_000_000_000;

/// CLOCK_MONOTONIC in nanoseconds, for threads that only read it.
pub fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // CLOCK_MONOTONIC counts from the start of the machine: both fields are never negative.
    now.tv_sec.cast_unsigned() * NANOSECONDS + now.tv_nsec.cast_unsigned()
}

/// Wakes tasks of one thread at instants of [`monotonic`]. Clones are one timer.
#[derive(Debug, Clone)]
pub struct Timer {
    inner: Rc<Inner>,
}

#[derive(Debug)]
struct Inner {
    waits: RefCell<Queue>,
    timer: AsyncFd<OwnedFd>,
    /// The instant the timer is set to, `u64::MAX` when it is not.
    armed: Cell<u64>,
    /// Between waking the due tasks and setting the timer anew. Tasks that were woken usually wait
    /// again at once, so setting it once after all of them saves system calls.
    waking: Cell<bool>,
}

impl Timer {
    /// Makes the timer and spawns the task that reads it; call it within a local runtime that has
    /// I/O enabled.
    ///
    /// Errors: what the operating system says when there is no descriptor for the timer
    pub fn start() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let inner = Rc::new(Inner {
            waits: RefCell::default(),
            timer: watched(timer)?,
            armed: Cell::new(u64::MAX),
            waking: Cell::new(false),
        });
        let driven = Rc::clone(&inner);
        spawn_local(poll_fn(move |context| driven.drive(context)));
        Ok(Self { inner })
    }

    /// Resolves at the instant `at`, in nanoseconds, at once if it is past. Cancel-safe.
    pub fn sleep_until(&self, at: u64) -> Sleep<Self> {
        Sleep::new(self.clone(), at)
    }
}

#[expect(deprecated, reason = "its safe successor needs unsafe; an `OwnedFd` keeps its promise")]
fn watched(timer: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(timer, Interest::READABLE)
}

impl Inner {
    /// Two turns for each expiry: wake who is due, then, after they ran, set the timer.
    ///
    /// The timer is never read. Setting it resets its count, and readiness is reported by edge.
    fn drive(&self, context: &mut Context<'_>) -> Poll<()> {
        if self.waking.replace(false) {
            self.arm();
        }
        if let Poll::Ready(Ok(mut guard)) = self.timer.poll_read_ready(context) {
            guard.clear_ready();
            self.armed.set(u64::MAX);
            self.waking.set(true);
            self.wake_due();
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }

    fn wake_due(&self) {
        let now = monotonic();
        loop {
            // The borrow must end before the task is woken: waking may drop a wait.
            let Some(waker) = self.waits.borrow_mut().pop_due(now) else { return };
            waker.wake();
        }
    }

    /// Sets the timer to the earliest instant, unless it is already set to that or an earlier one.
    fn arm(&self) {
        let earliest = self.waits.borrow_mut().earliest();
        let Some(at) = earliest.filter(|&at| at < self.armed.get()) else { return };
        self.armed.set(at);
        let value = Timespec {
            tv_sec: (at / NANOSECONDS).cast_signed(),
            tv_nsec: (at % NANOSECONDS).cast_signed(),
        };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let setting = Itimerspec { it_interval: never, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &setting)
            .expect("an open timerfd takes every instant that is not negative");
    }
}

impl Waits for Timer {
    fn now(&self) -> u64 {
        monotonic()
    }

    fn register(&self, at: u64, waker: Waker) -> Key {
        let key = self.inner.waits.borrow_mut().insert(at, waker);
        if at < self.inner.armed.get() && !self.inner.waking.get() {
            self.inner.arm();
        }
        key
    }

    fn update(&self, key: Key, waker: &Waker) -> bool {
        self.inner.waits.borrow_mut().update(key, waker)
    }

    fn cancel(&self, key: Key) {
        let waker = self.inner.waits.borrow_mut().cancel(key);
        drop(waker);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use tokio::runtime::{Builder, LocalOptions};

    use super::*;

    fn on_this_thread(work: impl Future<Output = ()>) {
        let builder = &mut Builder::new_current_thread();
        builder.enable_io().build_local(LocalOptions::default()).unwrap().block_on(work);
    }

    #[test]
    fn sleepers_wake_in_order_and_never_early() {
        let order = Rc::new(RefCell::new(Vec::new()));
        on_this_thread(async {
            let timer = Timer::start().unwrap();
            let start = monotonic();
            let mut sleepers = Vec::new();
            for after_us in [900, 300, 600, 0] {
                let (timer, order) = (timer.clone(), Rc::clone(&order));
                sleepers.push(spawn_local(async move {
                    let at = start + after_us * 1_000;
                    timer.sleep_until(at).await;
                    assert!(monotonic() >= at);
                    order.borrow_mut().push(after_us);
                }));
            }
            for sleeper in sleepers {
                sleeper.await.unwrap();
            }
        });
        // On a busy machine several may be due in one wake-up, in any order; the first needs no
        // timer.
        let mut order = order.take();
        assert_eq!(order.first(), Some(&0));
        order.sort_unstable();
        assert_eq!(order, [0, 300, 600, 900]);
    }

    #[test]
    fn a_dropped_wait_is_forgotten() {
        on_this_thread(async {
            let timer = Timer::start().unwrap();
            let hour = timer.sleep_until(monotonic() + 3_600 * NANOSECONDS);
            tokio::select! {
                () = hour => unreachable!("an hour has not passed"),
                () = timer.sleep_until(monotonic() + 1_000) => {}
            }
            assert_eq!(timer.inner.waits.borrow_mut().earliest(), None);
        });
    }

    #[test]
    fn a_sleep_waits_for_the_instant_that_it_was_set_to_last() {
        on_this_thread(async {
            let timer = Timer::start().unwrap();
            let mut sleep = pin!(timer.sleep_until(monotonic() + 3_600 * NANOSECONDS));
            let polled = poll_fn(|context| Poll::Ready(sleep.as_mut().poll(context))).await;
            assert_eq!(polled, Poll::Pending);
            let soon = monotonic() + 100_000;
            sleep.reset(soon);
            sleep.await;
            assert!(monotonic() >= soon);
        });
    }
}
