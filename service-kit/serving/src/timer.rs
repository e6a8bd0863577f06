//! One `timerfd` with absolute deadlines for everything that a thread waits for.
//!
//! tokio's own timers have a grain of a millisecond, which is the size of what is measured here.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::nonce::now_ns;

const SECOND: u64 = 1_000_000_000;

/// Wakes tasks of one thread at absolute instants of [`now_ns`]. Clones are one timer.
#[derive(Debug, Clone)]
pub struct Timer {
    inner: Rc<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: AsyncFd<OwnedFd>,
    /// The waiting tasks, by instant and a unique number.
    pending: RefCell<BTreeMap<(u64, u64), Waker>>,
    waited: Cell<u64>,
    /// The instant that the timer is set to, `u64::MAX` if none.
    armed_for_ns: Cell<u64>,
}

impl Timer {
    /// A timer on the current runtime; nothing is woken unless [`Timer::drive`] runs.
    ///
    /// Errors: the kernel gives no timer
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let file = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe, for types that may close or change their \
                      descriptor while registered; an OwnedFd that nobody else touches does neither"
        )]
        let file = AsyncFd::with_interest(file, Interest::READABLE)?;
        let inner = Inner {
            file,
            pending: RefCell::default(),
            waited: Cell::new(0),
            armed_for_ns: Cell::new(u64::MAX),
        };
        Ok(Self { inner: Rc::new(inner) })
    }

    /// Waits for the timer and wakes tasks that are due, for ever.
    ///
    /// Errors: the kernel takes no further instant
    pub async fn drive(self) -> io::Result<()> {
        loop {
            let mut ready = self.inner.file.readable().await?;
            // The count of expirations says nothing that the clock does not say better.
            let _ = rustix::io::read(self.inner.file.get_ref(), &mut [0; 8]);
            ready.clear_ready();
            self.wake_due()?;
        }
    }

    /// Resolves at the instant `at_ns`, never before, at once if it is past. Cancel-safe, and
    /// forgotten by the timer when it is dropped.
    pub fn sleep_until(&self, at_ns: u64) -> Sleep {
        Sleep { timer: self.clone(), at_ns, waiting: None }
    }

    fn wake_due(&self) -> io::Result<()> {
        self.inner.armed_for_ns.set(u64::MAX);
        let now_ns = now_ns();
        let mut pending = self.inner.pending.borrow_mut();
        while let Some(first) = pending.first_entry() {
            let at_ns = first.key().0;
            if at_ns > now_ns {
                return self.arm(at_ns);
            }
            first.remove().wake();
        }
        Ok(())
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
pub struct Sleep {
    timer: Timer,
    at_ns: u64,
    /// Its number among those that wait.
    waiting: Option<u64>,
}

impl Sleep {
    /// Waits for another instant from now on, as [`Timer::sleep_until`] it.
    pub fn reset(&mut self, at_ns: u64) {
        self.forget();
        self.at_ns = at_ns;
    }

    fn forget(&mut self) {
        if let Some(number) = self.waiting.take() {
            self.timer.inner.pending.borrow_mut().remove(&(self.at_ns, number));
        }
    }
}

impl Future for Sleep {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if now_ns() >= self.at_ns {
            self.forget();
            return Poll::Ready(Ok(()));
        }
        let timer = self.timer.clone();
        let inner = &timer.inner;
        let number = *self.waiting.get_or_insert_with(|| {
            inner.waited.set(inner.waited.get() + 1);
            inner.waited.get()
        });
        inner.pending.borrow_mut().insert((self.at_ns, number), context.waker().clone());
        if self.at_ns < inner.armed_for_ns.get() {
            timer.arm(self.at_ns)?;
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::{Builder, LocalOptions};

    fn on_this_thread(work: impl Future<Output = ()>) {
        let builder = &mut Builder::new_current_thread();
        builder.enable_io().build_local(LocalOptions::default()).unwrap().block_on(work);
    }

    #[test]
    fn sleepers_wake_in_order_and_never_early() {
        let order = Rc::new(RefCell::new(Vec::new()));
        on_this_thread(async {
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
        // On a busy machine several may be due in one wake-up, in any order; the first needs no
        // timer.
        let mut order = order.take();
        assert_eq!(order.first(), Some(&0));
        order.sort_unstable();
        assert_eq!(order, [0, 300, 600, 900]);
    }

    #[test]
    fn who_no_longer_waits_is_forgotten() {
        on_this_thread(async {
            let timer = Timer::new().unwrap();
            let driver = tokio::task::spawn_local(timer.clone().drive());
            let hour = timer.sleep_until(now_ns() + 3_600 * SECOND);
            tokio::select! {
                _ = hour => unreachable!("an hour has not passed"),
                slept = timer.sleep_until(now_ns() + 1_000) => slept.unwrap(),
            }
            assert!(timer.inner.pending.borrow().is_empty());
            driver.abort();
        });
    }
}
