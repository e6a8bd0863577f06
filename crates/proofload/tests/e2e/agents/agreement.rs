//! Agents measure what one machine measures, and both measure what is known to be true.
//!
//! `PROOFLOAD_PROOF=1` runs longer, alone, and compares searches for the capacity, too.

use record::summary::{Summary, Validity};

use super::{agents, coordinator, ended};
use crate::capacity::{self, Found};
use crate::lab::brokers::Broker;
use crate::lab::process::Running;
use crate::lab::server::Truth;
use crate::lab::{Lab, only_trial};

/// Services per second of the only server of M/M/1, and arrivals. Response times are long compared with the lateness of
/// everything on a busy machine, and the server has so little to do that they depend little on each other.
const SERVED: f64 = 40.0;
const ARRIVING: f64 = 10.0;
/// A form of the test.
struct Form {
    /// Of the target. With one seed, it draws the same services in the same order. With this one and that of the plan,
    /// the known answers are well within the intervals; of others, one in twenty would not hold one.
    seed: u32,
    seconds: u32,
    quantiles: &'static [f64],
    /// Most that nine in ten answers of the target may be late. Beyond that, the runs are performed again.
    lateness_ns: f64,
    /// Most attempts at runs that this machine disturbs.
    attempts: u32,
}

const SHORT: Form =
    Form { seed: 15, seconds: 15, quantiles: &[0.5, 0.75], lateness_ns: 20e6, attempts: 3 };
const LONG: Form =
    Form { seed: 18, seconds: 180, quantiles: &[0.5, 0.75, 0.9], lateness_ns: 400e3, attempts: 5 };

/// The intervals of these quantiles in milliseconds; `None` if the machine disturbed generator or target. Their low ends
/// are lowered by what the target itself was late, twice: it also reads requests late, without knowing.
fn intervals(summary: &Summary, target: &Truth, form: &Form) -> Option<Vec<(f64, f64)>> {
    let trial = only_trial(summary);
    let lateness = target.usual_lateness_ns();
    println!("answers were late by {:.2} ms, {:?}", lateness / 1e6, trial.reasons);
    let is_usable = matches!(trial.validity, Validity::Valid | Validity::Noted);
    if !is_usable || lateness > form.lateness_ns {
        return None;
    }
    let times = &trial.total.response_time.quantiles;
    let interval = |&q: &f64| {
        let found = times.iter().find(|one| (one.q - q).abs() < 1e-9).expect("it is listed");
        let end = |ns: Option<u64>| ns.unwrap_or_else(|| panic!("{found:?}")) as f64;
        ((end(found.low_ns) - 2.0 * lateness) / 1e6, end(found.high_ns) / 1e6)
    };
    Some(form.quantiles.iter().map(interval).collect())
}

/// Performs the same plan on one machine and over four agents, each against a fresh target: the intervals of both.
fn both(lab: &Lab, form: &Form) -> Option<[Vec<(f64, f64)>; 2]> {
    let (served, seed) = (format!("rate={SERVED}/s"), format!("seed={}", form.seed));
    let settings = ["mode=mm1", &served, &seed];
    let write = |target: &Truth| {
        let (url, seconds) = (&target.http, form.seconds);
        let file = format!(
            "title = \"M/M/1\"\nseed = 2\n[target]\nurl = \"http://{url}\"\n\
             [load]\nrate = \"{ARRIVING}/s\"\nduration = \"{seconds}s\"\nwarm_up = \"2s\"\n\
             steady_state = \"reported\"\n[[operation]]\nhttp = {{ path = \"/\" }}\n"
        );
        lab.write("x.toml", &file);
    };
    let targets = [Truth::start(&settings), Truth::start(&settings)];
    write(&targets[0]);
    let ran = lab.proofload(&["run", "x.toml", "--quiet", "--out", "one"]);
    let one = lab.summary("one").unwrap_or_else(|| panic!("{ran:?}"));
    write(&targets[1]);
    let nats = Broker::nats(lab);
    let waiting = agents(lab, &nats, 4);
    let (four, said) = ended(lab, coordinator(lab, &nats, 4, &[]), waiting);
    assert_eq!(four.run.shares, 4, "{said:?}");
    let planned = [&one, &four].map(|summary| only_trial(summary).accounting.planned);
    assert_eq!(planned[0], planned[1], "one plan");
    Some([intervals(&one, &targets[0], form)?, intervals(&four, &targets[1], form)?])
}

#[test]
fn percentiles_of_four_agents_agree_with_those_of_one_machine_and_with_the_truth() {
    let is_proof = capacity::is_proof();
    let form = if is_proof { LONG } else { SHORT };
    let answered = (1..=form.attempts).any(|_| {
        let lab = if is_proof { Lab::undisturbed() } else { Lab::new() };
        let Some([one, four]) = both(&lab, &form) else { return false };
        for ((q, one), four) in form.quantiles.iter().zip(one).zip(four) {
            // Response times of M/M/1 are exponential.
            let known = -(1.0 - q).ln() / (SERVED - ARRIVING) * 1e3;
            println!("{q}: {one:.1?} ms, {four:.1?} ms over agents, {known:.1} ms");
            assert!(one.0 <= four.1 && four.0 <= one.1, "{q}: {one:?} and {four:?}");
            for interval in [one, four] {
                assert!(interval.0 <= known && known <= interval.1, "{q}: {interval:?}, {known}");
            }
        }
        true
    });
    assert!(answered || !is_proof, "no attempt was left alone");
}

/// On one machine, the short form is searched elsewhere, with the same answer.
#[test]
fn a_search_over_agents_agrees_with_that_of_one_machine_and_with_the_truth() {
    let is_proof = capacity::is_proof();
    let flags = capacity::flags(is_proof);
    for case in capacity::cases(is_proof) {
        capacity::assert_some_search_holds(&case, || {
            let lab = if is_proof { Lab::undisturbed() } else { Lab::new() };
            let nats = Broker::nats(&lab);
            let (url, waiting) = (nats.url(), agents(&lab, &nats, 2));
            let over_agents = [&flags[..], &["--agents", "2", "--via", &url]].concat();
            let found = capacity::search_for(&lab, &case, &over_agents);
            waiting.into_iter().map(Running::finish).for_each(|ran| assert_eq!(ran.code, 0));
            drop(lab);
            let Found::Truth { low, high } = found else { return found };
            if is_proof {
                let alone = capacity::search_for(&Lab::undisturbed(), &case, &flags);
                let Found::Truth { low: from, high: to } = alone else { return alone };
                assert!(low <= to && from <= high, "{}: {from} – {to}", case.mode);
            }
            found
        });
    }
}
