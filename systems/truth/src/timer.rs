//! CLOCK_MONOTONIC, and one `timerfd` with absolute deadlines for every pending answer.
//!
//! tokio's own timers have a grain of a millisecond, which is the size of what is measured here.

use std::cell::{Cell, RefCell};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

const SECOND: u64 = 1_000_000_000;

/// Nanoseconds of CLOCK_MONOTONIC, which all processes of the machine share.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * SECOND + now.tv_nsec as u64
}

/// Wakes tasks of one thread at absolute instants. Clones are one timer.
#[derive(Debug, Clone)]
pub(crate) struct Timer {
    inner: Rc<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: AsyncFd<OwnedFd>,
    pending: RefCell<BinaryHeap<Reverse<Pending>>>,
    /// The instant that the kernel was told, `u64::MAX` if none.
    armed_for_ns: Cell<u64>,
}

/// A task that waits. Ordered by instant alone.
#[derive(Debug)]
struct Pending {
    at_ns: u64,
    waker: Waker,
}

impl Timer {
    /// A timer on the current runtime; nothing is woken unless [`Timer::drive`] runs.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let file = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe, for types that may close or change their \
                      descriptor while registered; an OwnedFd that nobody else touches does neither"
        )]
        let file = AsyncFd::with_interest(file, Interest::READABLE)?;
        let inner = Inner { file, pending: RefCell::default(), armed_for_ns: Cell::new(u64::MAX) };
        Ok(Self { inner: Rc::new(inner) })
    }

    /// Waits for the kernel and wakes whatever is due, for ever.
    pub(crate) async fn drive(self) -> io::Result<()> {
        loop {
            let mut ready = self.inner.file.readable().await?;
            // The count of expirations says nothing that the clock does not say better.
            let _ = rustix::io::read(self.inner.file.get_ref(), &mut [0; 8]);
            ready.clear_ready();
            self.wake_due()?;
        }
    }

    /// Resolves at the instant `at_ns`, never before, at once if it is past. Cancel-safe.
    pub(crate) fn sleep_until(&self, at_ns: u64) -> Sleep<'_> {
        Sleep { timer: self, at_ns, waiting: None }
    }

    fn wake_due(&self) -> io::Result<()> {
        self.inner.armed_for_ns.set(u64::MAX);
        let now_ns = now_ns();
        let mut pending = self.inner.pending.borrow_mut();
        while let Some(Reverse(first)) = pending.peek() {
            if first.at_ns > now_ns {
                return self.arm(first.at_ns);
            }
            if let Some(Reverse(due)) = pending.pop() {
                due.waker.wake();
            }
        }
        Ok(())
    }

    fn push(&self, at_ns: u64, waker: Waker) -> io::Result<()> {
        self.inner.pending.borrow_mut().push(Reverse(Pending { at_ns, waker }));
        if at_ns < self.inner.armed_for_ns.get() { self.arm(at_ns) } else { Ok(()) }
    }

    fn arm(&self, at_ns: u64) -> io::Result<()> {
        self.inner.armed_for_ns.set(at_ns);
        // Instant 0 would disarm it.
        let at_ns = at_ns.max(1);
        let value = Timespec { tv_sec: (at_ns / SECOND) as i64, tv_nsec: (at_ns % SECOND) as i64 };
        let once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let spec = Itimerspec { it_interval: once, it_value: value };
        timerfd_settime(self.inner.file.get_ref(), TimerfdTimerFlags::ABSTIME, &spec)?;
        Ok(())
    }
}

/// See [`Timer::sleep_until`].
#[derive(Debug)]
pub(crate) struct Sleep<'a> {
    timer: &'a Timer,
    at_ns: u64,
    waiting: Option<Waker>,
}

impl Future for Sleep<'_> {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if now_ns() >= self.at_ns {
            return Poll::Ready(Ok(()));
        }
        let waker = context.waker();
        if self.waiting.as_ref().is_some_and(|waiting| waiting.will_wake(waker)) {
            return Poll::Pending;
        }
        self.waiting = Some(waker.clone());
        match self.timer.push(self.at_ns, waker.clone()) {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl Ord for Pending {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at_ns.cmp(&other.at_ns)
    }
}

impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        self.at_ns == other.at_ns
    }
}

impl Eq for Pending {}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::{Builder, LocalOptions};

    #[test]
    fn sleepers_wake_in_order_and_never_early() {
        let runtime =
            Builder::new_current_thread().enable_io().build_local(LocalOptions::default()).unwrap();
        let order = Rc::new(RefCell::new(Vec::new()));
        runtime.block_on(async {
            let timer = Timer::new().unwrap();
            let driver = tokio::task::spawn_local(timer.clone().drive());
            let start = now_ns();
            let mut sleepers = Vec::new();
            for after_us in [900, 300, 600, 0] {
                let (timer, order) = (timer.clone(), Rc::clone(&order));
                sleepers.push(tokio::task::spawn_local(async move {
                    let at_ns = start + after_us * 1_000;
                    timer.sleep_until(at_ns).await.unwrap();
                    assert!(now_ns() >= at_ns);
                    order.borrow_mut().push(after_us);
                }));
            }
            for sleeper in sleepers {
                sleeper.await.unwrap();
            }
            driver.abort();
        });
        // On a busy machine several may be due in one wake-up, whose order is theirs to choose;
        // the first needs no timer.
        let mut order = order.take();
        assert_eq!(order.first(), Some(&0));
        order.sort_unstable();
        assert_eq!(order, [0, 300, 600, 900]);
    }
}
