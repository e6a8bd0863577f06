//! Detects whether the machine stood still during a run.
//!
//! A host that suspends its guest for a while need not report it, neither as steal time nor as waiting for a
//! processor. But a thread on each processor that sleeps and reads the clock (CLOCK_MONOTONIC) notices.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Length of each sleep: long enough to cause no load.
const NAP: Duration = Duration::from_millis(2);
/// A longer delay cannot come only from a polling thread on the same processor: a tick at 100 Hz is at most 10 ms, and
/// a scheduler slice 3 ms.
const STALL: Duration = Duration::from_millis(12);

/// Sleeping threads on every processor that this process may use, until the end is requested.
pub struct Witness {
    is_over: Arc<AtomicBool>,
    sleepers: Vec<JoinHandle<Stalls>>,
}

/// The stalls of one processor, or of the worst.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stalls {
    pub processor: usize,
    pub count: u32,
    pub total: Duration,
    pub longest: Duration,
}

impl Witness {
    pub fn begin() -> Self {
        let allowed = sched_getaffinity(None).expect("the processors of this process");
        let is_over = Arc::new(AtomicBool::new(false));
        let processors = (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor));
        let sleeper = |processor| {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || {
                let mut own = CpuSet::new();
                own.set(processor);
                sched_setaffinity(None, &own).expect("a processor that is allowed");
                let mut stalls = Stalls { processor, ..Stalls::default() };
                while !is_over.load(Ordering::Relaxed) {
                    let due = Instant::now() + NAP;
                    thread::sleep(NAP);
                    stalls.woken(due.elapsed());
                }
                stalls
            })
        };
        let sleepers = processors.map(sleeper).collect();
        Self { is_over, sleepers }
    }

    /// The stalls of the thread that was delayed most in total.
    pub fn end(self) -> Stalls {
        self.is_over.store(true, Ordering::Relaxed);
        let seen = self.sleepers.into_iter().map(|one| one.join().expect("it only sleeps"));
        seen.max_by_key(|stalls| stalls.total).expect("a process may use a processor")
    }
}

impl Stalls {
    fn woken(&mut self, late: Duration) {
        if late > STALL {
            self.count += 1;
            self.total += late;
            self.longest = self.longest.max(late);
        }
    }
}

impl fmt::Display for Stalls {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processor, count, total, longest } = self;
        write!(
            out,
            "processor {processor} stood still {count} times, {total:?} in all, {longest:?} at most"
        )
    }
}

#[test]
fn only_what_is_late_counts_as_a_stall() {
    let mut stalls = Stalls::default();
    for late in [0, 5, 12, 30, 20] {
        stalls.woken(Duration::from_millis(late));
    }
    let (total, longest) = (Duration::from_millis(50), Duration::from_millis(30));
    assert_eq!(stalls, Stalls { processor: 0, count: 2, total, longest });
}
