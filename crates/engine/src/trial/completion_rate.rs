//! The rate at which operations end, for the screen.
//!
//! Workers report whole windows, not at the instant at which a line is drawn. So each worker's count is divided by the
//! time that it covers.

use record::Batch;

use crate::worker::Timeline;

/// The workers' reports since the last line.
#[derive(Debug)]
pub(super) struct CompletionRate {
    measure_from: u64,
    window: u64,
    workers: Vec<Interval>,
}

/// What one worker finished in an interval.
#[derive(Debug, Clone, Copy)]
struct Interval {
    from: u64,
    until: u64,
    finished: u64,
}

impl CompletionRate {
    pub(super) fn new(workers: usize, timeline: &Timeline) -> Self {
        let from = timeline.measure_from;
        let none = Interval { from, until: from, finished: 0 };
        Self { measure_from: from, window: timeline.window, workers: vec![none; workers] }
    }

    /// Ignores reports from before the measure phase.
    pub(super) fn add(&mut self, batch: &Batch) {
        let interval = &mut self.workers[batch.worker];
        interval.until = batch.until.max(self.measure_from);
        interval.finished += batch.succeeded + batch.failed;
    }

    /// Operations finished a second since the last call; `None` if no worker has reported since.
    ///
    /// A worker that has reported less than half a window is left for the next call: its rate over so short a time
    /// would be noise.
    pub(super) fn take(&mut self) -> Option<f64> {
        let enough = |interval: &&mut Interval| interval.until - interval.from >= self.window / 2;
        let reported = self.workers.iter_mut().filter(enough);
        let rates = reported.map(|interval| {
            let rate = interval.finished as f64 * 1e9 / (interval.until - interval.from) as f64;
            *interval = Interval { from: interval.until, finished: 0, ..*interval };
            rate
        });
        rates.reduce(|sum, rate| sum + rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn completion_rate() -> CompletionRate {
        let timeline = Timeline {
            start: 0,
            warm_from: 0,
            measure_from: 5 * SECOND,
            measure_to: 60 * SECOND,
            window: SECOND,
            timeout: SECOND,
        };
        CompletionRate::new(3, &timeline)
    }

    /// Some worker has ended `finished` operations by this second.
    fn batch(worker: usize, until: u64, finished: u64) -> Batch {
        let (succeeded, failed) = (finished - finished / 4, finished / 4);
        Batch { worker, until: until * SECOND, succeeded, failed, ..Batch::default() }
    }

    #[test]
    fn a_window_that_is_not_in_yet_is_not_missing_now_and_too_much_then() {
        let mut completion_rate = completion_rate();
        (0..3).for_each(|worker| completion_rate.add(&batch(worker, 6, 20)));
        assert_eq!(completion_rate.take(), Some(60.0));
        (0..2).for_each(|worker| completion_rate.add(&batch(worker, 7, 20)));
        // Two of three have reported; the third one's part is not yet known.
        assert_eq!(completion_rate.take(), Some(40.0));
        completion_rate.add(&batch(2, 7, 20));
        (0..3).for_each(|worker| completion_rate.add(&batch(worker, 8, 20)));
        assert_eq!(completion_rate.take(), Some(60.0), "one of them reported of two seconds");
        assert_eq!(completion_rate.take(), None, "nobody has reported of anything");
        (0..3).for_each(|worker| completion_rate.add(&batch(worker, 10, 40)));
        assert_eq!(completion_rate.take(), Some(60.0));
    }

    #[test]
    fn time_before_the_measure_phase_and_parts_of_windows_do_not_distort_it() {
        let mut completion_rate = completion_rate();
        completion_rate.add(&batch(0, 3, 0));
        assert_eq!(completion_rate.take(), None);
        completion_rate.add(&Batch { until: 5 * SECOND + 1_000, ..batch(0, 5, 0) });
        assert_eq!(completion_rate.take(), None, "handed over a little late");
        completion_rate.add(&batch(0, 6, 20));
        assert_eq!(completion_rate.take(), Some(20.0));
        completion_rate.add(&Batch { until: 6 * SECOND + SECOND / 4, ..batch(0, 6, 4) });
        assert_eq!(completion_rate.take(), None);
        completion_rate.add(&Batch { until: 6 * SECOND + SECOND / 2, ..batch(0, 6, 6) });
        assert_eq!(completion_rate.take(), Some(20.0));
    }
}
