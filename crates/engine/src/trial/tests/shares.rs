//! The number of workers changes nothing that the plan decides.

use plan::load::{ArrivalProcess, Model};
use plan::operation::Operation;
use std::time::Duration;

use super::echo::answer_after;
use super::{MS, TestResult, TestTrial};

fn with_workers(workers: usize) -> TestResult {
    let model = Model::Open { arrivals: ArrivalProcess::Poisson { rate: 200.0 } };
    let mut test_trial = TestTrial::new(model, Duration::from_secs(5));
    test_trial.operations =
        vec![Operation { weight: 3.0, ..Operation::named("often") }, Operation::named("seldom")];
    test_trial.workers = workers;
    // The answer time depends on the time of the request, so equal histograms mean equal starts.
    answer_after(&test_trial.network, &test_trial.clock, |now| MS + now % 977_000);
    test_trial.run()
}

#[test]
fn one_to_sixteen_workers_leave_the_same_record() {
    let one = with_workers(1);
    assert!(one.accounting().planned > 900);
    for workers in 2..=16 {
        let many = with_workers(workers);
        assert_eq!(many.trial.load.workers as usize, workers);
        assert_eq!(many.accounting(), one.accounting(), "{workers} workers");
        for (theirs, ours) in many.trial.totals.operations.iter().zip(&one.trial.totals.operations)
        {
            assert_eq!(theirs.planned, ours.planned);
            assert_eq!(theirs.response_time, ours.response_time, "{workers} workers");
        }
        let mean = (many.trial.in_flight.mean, one.trial.in_flight.mean);
        assert!((mean.0 - mean.1).abs() < 1e-9, "{mean:?}");
        let counts = |tried: &TestResult| -> Vec<_> {
            tried.windows.iter().map(record::Window::counts).collect()
        };
        assert_eq!(counts(&many), counts(&one));
    }
}

#[test]
fn no_more_workers_than_connections() {
    let mut test_trial = TestTrial::constant(100.0, 1);
    test_trial.load.connections = 3;
    test_trial.workers = 8;
    answer_after(&test_trial.network, &test_trial.clock, |_| MS);
    let tried = test_trial.run();
    assert_eq!((tried.trial.load.workers, tried.accounting().succeeded), (3, 100));
}
