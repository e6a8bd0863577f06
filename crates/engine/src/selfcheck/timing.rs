//! The cost of reading the clock and the lateness of the timer, measured once at the start.

/// Measured properties of clock and timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    /// Overshoot of the timer: median, in nanoseconds.
    pub timer_grain_ns: u64,
    /// Cost of one reading of the clock, in nanoseconds.
    pub clock_read_ns: u64,
}

impl Timing {
    /// Number of clock readings whose mean cost is taken.
    const READINGS: u64 = 1_000;
    /// Number of sleeps whose overshoot is taken, and the length of each: 20 ms in all.
    const SLEEPS: u64 = 100;
    const SLEEP_NS: u64 = 200_000;

    /// Measures with the caller's clock and sleep, so that the result describes the pacer's own
    /// timer.
    pub fn measure(mut now: impl FnMut() -> u64, mut sleep_until: impl FnMut(u64)) -> Self {
        let begin = now();
        for _ in 0..Self::READINGS {
            std::hint::black_box(now());
        }
        let clock_read_ns = now().saturating_sub(begin) / (Self::READINGS + 1);
        let mut overshoots: Vec<u64> = (0..Self::SLEEPS)
            .map(|_| {
                let due = now() + Self::SLEEP_NS;
                sleep_until(due);
                now().saturating_sub(due)
            })
            .collect();
        overshoots.sort_unstable();
        Self { timer_grain_ns: overshoots[overshoots.len() / 2], clock_read_ns }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn cost_and_overshoot_are_told_apart() {
        let time = Cell::new(1_000_u64);
        let now = || {
            time.set(time.get() + 30);
            time.get()
        };
        let sleep_until = |at: u64| time.set(at + 7_000);
        let timing = Timing::measure(now, sleep_until);
        assert_eq!(timing, Timing { timer_grain_ns: 7_030, clock_read_ns: 30 });
    }
}
