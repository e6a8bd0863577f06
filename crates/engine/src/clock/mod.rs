//! Time, in two kinds: the real clock (CLOCK_MONOTONIC with one `timerfd` per worker) and virtual
//! time.
//!
//! Everything from pacing to report runs on both. Instants are nanoseconds; on the real clock they
//! are CLOCK_MONOTONIC, which all processes of the machine share.

mod virtual_time;

use timer::Sleep;
/// The real clock of one worker; clones share its timer.
pub use timer::Timer as Real;
pub use timer::monotonic;
pub use virtual_time::Virtual;

/// Reads time and waits for it.
#[expect(async_fn_in_trait, reason = "workers are single-threaded: futures need not be Send")]
pub trait Clock: Clone + std::fmt::Debug + 'static {
    /// Nanoseconds on this clock.
    fn now(&self) -> u64;

    /// Resolves at the instant `at`, at once if it is past. Cancel-safe.
    async fn sleep_until(&self, at: u64);
}

impl Clock for Real {
    fn now(&self) -> u64 {
        monotonic()
    }

    async fn sleep_until(&self, at: u64) {
        Sleep::new(self, at).await;
    }
}

#[cfg(test)]
mod tests;
