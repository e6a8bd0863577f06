//! Replayed instants: what is due and what is sent in each bin.

use std::time::Duration;

use plan::load::{ArrivalProcess, Model, Stop};

use super::echo::answer_after;
use super::{MS, TestTrial};

/// Five operations at the start of each tenth of a second, for a second; each takes 12 ms.
fn bursts(connections: u32) -> TestTrial {
    let arrivals = ArrivalProcess::Replay {
        list: (0..50).map(|index| index / 5 * 100 * MS + index % 5 * MS).collect(),
        file: "offsets.csv".to_owned(),
        digest: String::new(),
        scale: None,
        resolution: Some(Duration::from_millis(100)),
    };
    let mut trial = TestTrial::new(Model::Open { arrivals }, Duration::ZERO);
    trial.load.stop = Stop::Operations { count: 50 };
    trial.load.connections = connections;
    answer_after(&trial.network, &trial.clock, |_| 12 * MS);
    trial
}

#[test]
fn a_replay_on_time_is_sent_in_the_bins_in_which_it_is_due() {
    for workers in [1, 3] {
        let mut trial = bursts(100);
        trial.workers = workers;
        let counts = trial.run().trial.totals.replay.unwrap();
        let expected: Vec<u32> = (0..91).map(|bin| if bin % 10 == 0 { 5 } else { 0 }).collect();
        assert_eq!((counts.bin_ns, counts.resolution_ns), (10 * MS, Some(100 * MS)));
        assert_eq!((&counts.due, &counts.sent), (&expected, &expected), "{workers} workers");
    }
}

#[test]
fn what_waits_for_a_connection_is_sent_later_than_it_is_due() {
    let counts = bursts(1).run().trial.totals.replay.unwrap();
    assert_eq!(counts.due[..10], [5, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // At 0, 12, 24, 36 and 48 ms.
    assert_eq!(counts.sent[..10], [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]);
}

#[test]
fn what_is_never_sent_is_due_all_the_same() {
    let mut trial = bursts(1);
    trial.load.timeout = Duration::from_millis(10);
    // Beyond the in-flight cap, operations are missed; those that wait fail once their time is over.
    let tried = trial.run();
    let counts = tried.trial.totals.replay.as_ref().unwrap();
    assert!(tried.accounting().missed > 0);
    assert_eq!(counts.due.iter().sum::<u32>(), 50);
    let sent = u64::from(counts.sent.iter().sum::<u32>());
    assert!(sent <= tried.accounting().started, "{sent} of {:?}", tried.accounting());
}

#[test]
fn other_loads_count_nothing_over_time() {
    let trial = TestTrial::constant(10.0, 1);
    answer_after(&trial.network, &trial.clock, |_| MS);
    assert!(trial.run().trial.totals.replay.is_none());
}
