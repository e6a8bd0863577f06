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

use super::Clock;
use super::sleep::{Sleep, Waits};
use super::timers::{Key, Timers};

const NANOSECONDS: u64 = 1_000_000_000;

/// CLOCK_MONOTONIC in nanoseconds, for threads that only read it.
pub fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // CLOCK_MONOTONIC counts from the start of the machine: both fields are never negative.
    now.tv_sec.cast_unsigned() * NANOSECONDS + now.tv_nsec.cast_unsigned()
}

/// The real clock of one worker. Clones share its timer.
#[derive(Debug, Clone)]
pub struct Real {
    inner: Rc<Inner>,
}

#[derive(Debug)]
struct Inner {
    timers: RefCell<Timers>,
    timer: AsyncFd<OwnedFd>,
    /// The instant the timer is set to, `u64::MAX` when it is not.
    armed: Cell<u64>,
    /// Between waking the due tasks and setting the timer anew. Tasks that were woken usually wait
    /// again at once, so setting it once after all of them saves system calls.
    waking: Cell<bool>,
}

impl Real {
    /// Makes the timer and spawns the task that reads it; call it within a local runtime that has
    /// I/O enabled.
    ///
    /// Errors: what the operating system says when there is no descriptor for the timer
    pub fn start() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let inner = Rc::new(Inner {
            timers: RefCell::default(),
            timer: watched(timer)?,
            armed: Cell::new(u64::MAX),
            waking: Cell::new(false),
        });
        let driven = Rc::clone(&inner);
        spawn_local(poll_fn(move |context| driven.drive(context)));
        Ok(Self { inner })
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
            let Some(waker) = self.timers.borrow_mut().pop_due(now) else { return };
            waker.wake();
        }
    }

    /// Sets the timer to the earliest instant, unless it already stands at or before it.
    fn arm(&self) {
        let earliest = self.timers.borrow_mut().earliest();
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

impl Clock for Real {
    fn now(&self) -> u64 {
        monotonic()
    }

    async fn sleep_until(&self, at: u64) {
        Sleep::new(self, at).await;
    }
}

impl Waits for Real {
    fn now(&self) -> u64 {
        monotonic()
    }

    fn register(&self, at: u64, waker: Waker) -> Key {
        let key = self.inner.timers.borrow_mut().insert(at, waker);
        if at < self.inner.armed.get() && !self.inner.waking.get() {
            self.inner.arm();
        }
        key
    }

    fn update(&self, key: Key, waker: &Waker) -> bool {
        self.inner.timers.borrow_mut().update(key, waker)
    }

    fn cancel(&self, key: Key) {
        let waker = self.inner.timers.borrow_mut().cancel(key);
        drop(waker);
    }
}
