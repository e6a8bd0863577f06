use plan::randomness::{RandomStream, below, draw};
use record::summary::{Burstiness, Summary};

use super::*;
use crate::simulated::{Op, Simulated, file, simulate};

const MS: u64 = 1_000_000;
/// Seconds of the trial.
const LENGTH: usize = 30;

/// A trial whose counts are those of a log: in every other second, twice 60 requests at random; sent as `sent` makes
/// of what was due.
fn replayed(resolution_ns: Option<u64>, sent: impl Fn(&[u32]) -> Vec<u32>) -> Simulated {
    let load = "rate = \"100/s\"\narrivals = \"constant\"\nduration = \"30s\"";
    let mut made = simulate(&file(load, &[]), 100, 3_000, |_| Op::answered(2 * MS));
    let mut counts = ReplayCounts::new(LENGTH as u64 * 1_000 * MS, resolution_ns);
    for index in 0..1_800 {
        let second = 2 * (index / 120);
        let bin = 100 * second + below(draw(1, RandomStream::Schedule, index), 100);
        counts.due[usize::try_from(bin).unwrap()] += 1;
    }
    counts.sent = sent(&counts.due);
    made.trial.totals.replay = Some(counts);
    made.trial.load.arrivals = Some("replay".to_owned());
    made
}

fn replay(summary: &Summary) -> &Replay {
    summary.arms[0].trials[0].replay.as_ref().unwrap()
}

fn finding<'s>(summary: &'s Summary, code: &str) -> Option<&'s record::summary::Finding> {
    summary.findings.iter().find(|one| one.code == code)
}

/// As many in each second, evenly.
fn even(due: &[u32]) -> Vec<u32> {
    (0..due.len()).map(|bin| u32::from(bin % 5 < 3)).collect()
}

#[test]
fn a_load_that_replays_nothing_has_no_burstiness() {
    let mut made = replayed(None, <[u32]>::to_vec);
    made.trial.totals.replay = None;
    assert_eq!(of(&made.trial), None);
}

#[test]
fn a_replay_on_time_keeps_the_burstiness() {
    let summary = replayed(None, <[u32]>::to_vec).summary();
    let replay = replay(&summary);
    assert_eq!((replay.burstiness, replay.scales.len()), (Burstiness::Kept, 7));
    assert!(replay.scales.iter().all(|one| one.recorded == one.replayed && one.change == 0.0));
    assert_eq!(
        in_words(replay),
        "The replay is as bursty as the log, within 10 %, at 10ms, 20ms, 50ms, 100ms, 200ms, 500ms, 1s."
    );
    // 120 and 0 in turn: 30 counts of mean 60 with deviations of 60.
    let second = replay.scales.last().unwrap();
    assert!((second.recorded - 60.0 * 30.0 / 29.0).abs() < 1e-9, "{second:?}");
    assert!(finding(&summary, "replay-flattened").is_none());
    assert!(finding(&summary, "replay-burstier").is_none());
    let idle = finding(&summary, "idle-system").unwrap();
    assert_eq!(idle.advice, "set `scale` above 1 in `[load]` to see it under more than the log");
}

#[test]
fn an_even_replay_is_called_flat() {
    let summary = replayed(Some(1_000 * MS), even).summary();
    assert_eq!(replay(&summary).burstiness, Burstiness::Flattened);
    let flat = finding(&summary, "replay-flattened").unwrap();
    assert_eq!(
        flat.claim,
        "the replay is flatter than the log: in intervals of 1s, the counts of requests have a dispersion of 0 \
         instead of 62.1 (−100 %, 95 % interval −100 % to −100 %)"
    );
    assert_eq!(
        flat.advice,
        "look at the span `connect` and at failures: requests are sent once a connection is open"
    );
    assert!(finding(&summary, "replay-burstier").is_none());
    assert!(
        !is_of_the_log(replay(&summary), 500 * MS) && is_of_the_log(replay(&summary), 1_000 * MS)
    );

    let mut waited = replayed(None, even);
    waited.trial.pool.waited = 900;
    let summary = waited.summary();
    let advice = &finding(&summary, "replay-flattened").unwrap().advice;
    assert_eq!(advice, "raise `connections`: 30.0 % of requests waited for one");

    waited.trial.interrupted = true;
    assert!(finding(&waited.summary(), "replay-flattened").is_none());
}

#[test]
fn a_replay_that_catches_up_after_stalls_is_called_burstier() {
    // What is due in a tenth of a second is sent at its end.
    let stalls = |due: &[u32]| {
        let mut sent = vec![0; due.len()];
        for (place, tenth) in due.chunks(10).enumerate() {
            sent[10 * place + 9] = tenth.iter().sum();
        }
        sent
    };
    let summary = replayed(Some(1_000 * MS), stalls).summary();
    let replay = replay(&summary);
    let of = |ms: u64| replay.scales.iter().find(|one| one.scale_ns == ms * MS).unwrap().burstiness;
    assert_eq!(
        (of(10), of(100), of(1_000)),
        (Burstiness::Burstier, Burstiness::Kept, Burstiness::Kept)
    );
    assert!(
        in_words(replay)
            .starts_with("The replay is burstier than the log at 10ms, 20ms, 50ms. The")
    );
    let claim = &finding(&summary, "replay-burstier").unwrap().claim;
    assert!(claim.contains("as drawn within stamps of 1s"), "{claim}");
}

#[test]
fn a_trial_too_short_says_so() {
    let mut made = replayed(None, <[u32]>::to_vec);
    made.trial.phases.measure_ns = 150 * MS;
    let replay = of(&made.trial).unwrap();
    assert_eq!((replay.burstiness, replay.scales.len()), (Burstiness::Undecided, 0));
    assert!(in_words(&replay).contains("too short"));
}
