//! How fast operations end, for the screen. Workers tell of whole windows, and not at the instant at which a line is
//! drawn: so each one's count is held against the time that it is of.

use record::Batch;

use crate::worker::Timeline;

/// What workers have told of since the last line.
#[derive(Debug)]
pub(super) struct Pace {
    measure_from: u64,
    window: u64,
    workers: Vec<Stretch>,
}

/// Of one worker: what ended in a stretch of time.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from: u64,
    until: u64,
    finished: u64,
}

impl Pace {
    pub(super) fn new(workers: usize, timeline: &Timeline) -> Self {
        let from = timeline.measure_from;
        let none = Stretch { from, until: from, finished: 0 };
        Self { measure_from: from, window: timeline.window, workers: vec![none; workers] }
    }

    /// Nothing is counted before the measure phase.
    pub(super) fn add(&mut self, batch: &Batch) {
        let stretch = &mut self.workers[batch.worker];
        stretch.until = batch.until.max(self.measure_from);
        stretch.finished += batch.succeeded + batch.failed;
    }

    /// Finished a second since this was last asked for; none if no worker has told of anything since.
    ///
    /// What a worker told of less than half a window waits for more: a rate of so little would be anything.
    pub(super) fn take(&mut self) -> Option<f64> {
        let enough = |stretch: &&mut Stretch| stretch.until - stretch.from >= self.window / 2;
        let told = self.workers.iter_mut().filter(enough);
        let rates = told.map(|stretch| {
            let rate = stretch.finished as f64 * 1e9 / (stretch.until - stretch.from) as f64;
            *stretch = Stretch { from: stretch.until, finished: 0, ..*stretch };
            rate
        });
        rates.reduce(|sum, rate| sum + rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn pace() -> Pace {
        let timeline = Timeline {
            start: 0,
            warm_from: 0,
            measure_from: 5 * SECOND,
            measure_to: 60 * SECOND,
            window: SECOND,
            timeout: SECOND,
        };
        Pace::new(3, &timeline)
    }

    /// Some worker has ended `finished` operations by this second.
    fn batch(worker: usize, until: u64, finished: u64) -> Batch {
        let (succeeded, failed) = (finished - finished / 4, finished / 4);
        Batch { worker, until: until * SECOND, succeeded, failed, ..Batch::default() }
    }

    #[test]
    fn a_window_that_is_not_in_yet_is_not_missing_now_and_too_much_then() {
        let mut pace = pace();
        (0..3).for_each(|worker| pace.add(&batch(worker, 6, 20)));
        assert_eq!(pace.take(), Some(60.0));
        (0..2).for_each(|worker| pace.add(&batch(worker, 7, 20)));
        // Two of three have told; the third one's part is not yet known.
        assert_eq!(pace.take(), Some(40.0));
        pace.add(&batch(2, 7, 20));
        (0..3).for_each(|worker| pace.add(&batch(worker, 8, 20)));
        assert_eq!(pace.take(), Some(60.0), "one of them told of two seconds");
        assert_eq!(pace.take(), None, "nobody has told of anything");
        (0..3).for_each(|worker| pace.add(&batch(worker, 10, 40)));
        assert_eq!(pace.take(), Some(60.0));
    }

    #[test]
    fn time_before_the_measure_phase_and_parts_of_windows_do_not_distort_it() {
        let mut pace = pace();
        pace.add(&batch(0, 3, 0));
        assert_eq!(pace.take(), None);
        pace.add(&Batch { until: 5 * SECOND + 1_000, ..batch(0, 5, 0) });
        assert_eq!(pace.take(), None, "handed over a little late");
        pace.add(&batch(0, 6, 20));
        assert_eq!(pace.take(), Some(20.0));
        pace.add(&Batch { until: 6 * SECOND + SECOND / 4, ..batch(0, 6, 4) });
        assert_eq!(pace.take(), None);
        pace.add(&Batch { until: 6 * SECOND + SECOND / 2, ..batch(0, 6, 6) });
        assert_eq!(pace.take(), Some(20.0));
    }
}
