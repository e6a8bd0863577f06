//! Both arms of a block at the same time, and what that decides.

use std::collections::BTreeSet;

use record::event::{Event, EventKind};
use record::summary::Change;

use crate::duets::{duet, trials};
use crate::lab::{Lab, assert_accounting, assert_measured, finding};

const COMPARISON: &str =
    "[[comparison]]\nfactor = \"service\"\nbaseline = \"2ms\"\nmetrics = [\"p50\"]\n";

/// Start and end of a trial's measure phase, from its events, as milliseconds of the day.
fn measured(lab: &Lab, trial: u32) -> [i64; 2] {
    let text = lab.read(&format!("run/trials/{trial:03}/events.jsonl"));
    let events = text.lines().map(|line| serde_json::from_str(line).expect("an event"));
    let events: Vec<Event> = events.collect();
    let dated = events.iter().find_map(|event| match &event.kind {
        EventKind::Dated { wall_clock } => {
            let time: jiff::Timestamp = wall_clock.parse().expect("RFC 3339");
            Some(time.as_millisecond() - event.at_ns / 1_000_000)
        }
        _ => None,
    });
    let from = dated.expect("it is dated");
    let last = events.last().expect("events").at_ns / 1_000_000;
    [from, from + last]
}

#[test]
fn two_copies_run_at_the_same_time_and_the_slower_one_is_changed() {
    let lab = Lab::undisturbed();
    lab.write("duet.toml", &(duet(10, "300ms") + COMPARISON));
    let plan = lab.proofload(&["check", "duet.toml"]);
    assert!(plan.stdout.contains("20 trials, two at a time, in this order"), "{}", plan.stdout);
    let (ran, summary) = lab.run(&["duet.toml", "--seed", "7"]);
    assert_measured(&ran, &summary);
    let all = trials(&summary);
    assert_eq!(all.len(), 20);
    for pair in all.chunks(2) {
        assert_eq!((pair[0].block, pair[0].order, pair[1].order), (pair[1].block, 1, 2));
        for trial in pair {
            assert_accounting(trial);
            assert!(trial.duet && trial.accounting.succeeded > 0, "{trial:?}");
            assert_eq!(trial.accounting.succeeded, trial.accounting.planned, "{trial:?}");
        }
        let pids: BTreeSet<u32> = pair
            .iter()
            .flat_map(|trial| &trial.systems)
            .flat_map(|system| &system.processes)
            .map(|process| process.pid)
            .collect();
        assert!(pids.len() >= 2, "each has a system of its own: {pids:?}");
        let [first, second] = [pair[0], pair[1]].map(|trial| measured(&lab, trial.index));
        assert!(first[0] < second[1] && second[0] < first[1], "{first:?} and {second:?}");
    }
    let slower = &summary.comparisons[0];
    assert_eq!(slower.blocks + slower.left_out.len() as u32, 10, "{slower:?}");
    if slower.blocks >= 6 {
        assert!(slower.ratio.is_some_and(|ratio| ratio > 2.0), "{slower:?}");
        assert_eq!((slower.result, slower.size_certain), (Change::Changed, true), "{slower:?}");
    } else {
        // The run reports a late generator; too few blocks remain to decide.
        assert_eq!((ran.code, slower.result), (3, Change::Undecided));
    }
    let claim = finding(&summary, "duet-shares-machine").expect("it is told of");
    assert!(claim.contains("absolute times are those of a shared machine"), "{claim}");
    for page in ["run/report.md", "run/report.html"] {
        assert!(lab.read(page).contains("shared the machine (duet)"), "{page}");
    }
    let compared = lab.proofload(&["compare", "run", "run"]);
    assert_eq!(compared.code, 0, "{compared:?}");
    let again = lab.proofload(&["run", "--resume", "run", "--quiet"]);
    assert_eq!(again.code, ran.code, "nothing was left to do: {again:?}");
}
