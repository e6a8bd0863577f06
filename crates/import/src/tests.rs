//! What tests of several formats share: processor time, in which other work on the machine does not count.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What `work` makes, and the processor time that this thread spends on it.
pub(crate) fn processor_time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let began = now();
    let made = work();
    (made, now() - began)
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanoseconds) = (time.tv_sec as u64, time.tv_nsec as u32);
    Duration::new(seconds, nanoseconds)
}
