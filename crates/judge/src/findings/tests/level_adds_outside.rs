//! The time that a level adds outside of a part, block by block.

use plan::comparison::Comparison;
use record::summary::{Arm, Finding, Machine};

use super::parts::behind_a_front;
use super::*;
use crate::case::RunView;
use crate::findings::{Subject, findings};
use crate::simulated::summary_of;

const US: u64 = 1_000;

/// An arm of these blocks for each path, at this many connections.
pub(super) fn arms<const N: usize>(
    connections: u64,
    levels: [(&str, Vec<Simulated>); N],
) -> Vec<Arm> {
    let named = levels.map(|(level, made)| {
        let mut arm = summary_of(&made.iter().collect::<Vec<_>>()).arms.remove(0);
        arm.factors.insert("path".to_owned(), level.into());
        arm.factors.insert("connections".to_owned(), connections.into());
        arm
    });
    named.into()
}

fn found(arms: &[Arm]) -> Option<Finding> {
    told(arms, "level-adds-time-outside")
}

pub(super) fn told(arms: &[Arm], code: &str) -> Option<Finding> {
    among(arms, &[]).into_iter().find(|one| one.code == code)
}

fn among(arms: &[Arm], comparisons: &[Comparison]) -> Vec<Finding> {
    let machine = &Machine::default();
    findings(Subject::Run(&RunView { arms, machine, comparisons, questions: comparisons.len() }))
}

fn added(arms: &[Arm]) -> Option<String> {
    found(arms).map(|one| one.claim)
}

/// A trial of `gateway`, with this service time in microseconds.
fn trial(service_us: u64, gateway_us: u64) -> Simulated {
    behind_a_front(move |_| service_us * US, &[("gateway", gateway_us * US)])
}

#[test]
fn the_level_that_adds_time_outside_of_the_common_part_is_named() {
    let direct = || vec![trial(600, 390)];
    let fronted = [("front", 20_500 * US), ("gateway", 400 * US)];
    let front = || vec![behind_a_front(|_| 20_700 * US, &fronted)];
    // 20.3 ms minus 210 µs.
    assert_eq!(
        added(&arms(10, [("direct", direct()), ("front", front())])).unwrap(),
        "path = front adds 20.1 ms, 97.1 % of the service time, outside of `gateway` (home at connections = 10), which \
         itself took 400 µs versus 390 µs with path = direct"
    );
    assert_eq!(added(&arms(10, [("direct", direct()), ("front", direct())])), None);
    let slow = vec![trial(20_700, 20_400)];
    assert_eq!(
        added(&arms(10, [("direct", direct()), ("front", slow)])),
        None,
        "the gateway is slow"
    );
    let mut more = arms(10, [("direct", direct()), ("front", front())]);
    more[1].trials[0].load.connections = 20;
    assert_eq!(added(&more), None, "another load");
    more[1].trials[0].load.connections = 10;
    more[1].factors.insert("connections".to_owned(), 20.into());
    assert_eq!(added(&more), None, "they differ in two levels");
}

/// Five blocks with a service time, each with its offset, in microseconds.
fn blocks(service_us: u64, off: [i64; 5]) -> Vec<Simulated> {
    off.into_iter().map(|off| trial(service_us.strict_add_signed(off), 20)).collect()
}

#[test]
fn what_blocks_agree_about_is_told_however_short_it_is() {
    let direct = || blocks(170, [0, 4, -4, 2, -2]);
    let front = || blocks(530, [2, -6, 6, -4, 2]);
    let finding = found(&arms(1, [("direct", direct()), ("front", front())])).unwrap();
    // Differences of 362, 350, 370, 354 and 364 µs: deviation 8, t(4) = 2.776.
    assert_eq!(
        finding.claim,
        "path = front adds 360 µs (95 %: 350 µs – 370 µs), 67.9 % of the service time, outside of `gateway` (home at \
         connections = 1), which itself took 20.0 µs versus 20.0 µs with path = direct"
    );
    assert!((finding.evidence["outside_ratio"].as_f64().unwrap() - 360.0 / 530.0).abs() < 1e-3);
    let four = |mut made: Vec<Simulated>| {
        made.truncate(4);
        made
    };
    let few = arms(1, [("direct", four(direct())), ("front", four(front()))]);
    assert_eq!(added(&few), None, "four blocks do not show how far they spread");
    let little = blocks(215, [2, -6, 6, -4, 2]);
    let little = arms(1, [("direct", direct()), ("front", little)]);
    assert_eq!(added(&little), None, "a fifth of the service time");
}

#[test]
fn nothing_is_told_where_nothing_is_added() {
    // Equal arms, whose means are off by up to three quarters from block to block.
    let mut state = 7_u64;
    let mut off = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as i64 % 301 - 150
    };
    for pair in 0..8 {
        let mut block = || blocks(200, std::array::from_fn(|_| off()));
        let alike = arms(1, [("direct", block()), ("front", block())]);
        assert_eq!(added(&alike), None, "pair {pair}");
    }
}

#[test]
fn what_the_generator_may_have_added_itself_is_not_told() {
    let direct = || blocks(170, [0, 4, -4, 2, -2]);
    let front = |cpu_ms: u64| {
        let mut made = blocks(530, [2, -6, 6, -4, 2]);
        for one in &mut made {
            one.trial.generator.worker_cpu_ns = vec![cpu_ms * MS];
        }
        arms(1, [("direct", direct()), ("front", made)])
    };
    assert!(added(&front(500)).is_some());
    // 372 µs more of the worker for each of 4,840 operations; the interval begins at 350 µs.
    assert_eq!(added(&front(2_300)), None);
}

#[test]
fn the_same_level_is_told_once_with_what_it_adds_elsewhere() {
    let one = |connections, front_us| {
        let direct = blocks(170, [0, 4, -4, 2, -2]);
        arms(connections, [("direct", direct), ("front", blocks(front_us, [2, -6, 6, -4, 2]))])
    };
    let all = [one(1, 530), one(10, 1_170)].concat();
    assert_eq!(
        added(&all).unwrap(),
        "path = front adds 1.00 ms (95 %: 990 µs – 1.01 ms), 85.5 % of the service time, outside of `gateway` (home at \
         connections = 10), which itself took 20.0 µs versus 20.0 µs with path = direct; 360 µs (95 %: 350 µs – 370 µs), \
         67.9 % of the service time, at connections = 1"
    );
}

#[test]
fn levels_are_held_against_the_baseline_and_not_against_the_fastest() {
    let level = |name, service_us| (name, blocks(service_us, [0, 4, -4, 2, -2]));
    let arms = arms(1, [level("rust", 530), level("direct", 170), level("node", 1_170)]);
    let claim = |baseline: Option<&str>| {
        let compared = baseline.map(|level| Comparison {
            factor: "path".to_owned(),
            baseline: level.into(),
            operation: None,
            metrics: vec!["p50".to_owned()],
            margins: [].into(),
        });
        let found = among(&arms, compared.as_slice());
        found.into_iter().find(|one| one.code == "level-adds-time-outside").unwrap().claim
    };
    let first = claim(None);
    assert!(first.starts_with("path = node adds 640 µs (95 %: "), "{first}");
    assert!(first.ends_with("versus 20.0 µs with path = rust"), "{first}");
    let direct = claim(Some("direct"));
    assert!(direct.starts_with("path = node adds 1.00 ms (95 %: "), "{direct}");
    assert!(direct.ends_with("versus 20.0 µs with path = direct"), "{direct}");
    let slowest = claim(Some("node"));
    assert!(
        slowest.starts_with("path = node adds 1.00 ms (95 %: "),
        "of what it adds itself: {slowest}"
    );
}

#[test]
fn arms_of_which_the_generator_limits_one_are_told() {
    let busy = |level: &'static str, ms: [u64; 3]| {
        let made = ms.map(|ms| {
            let mut made = trial(200, 20);
            made.trial.generator.worker_cpu_ns = vec![ms * MS];
            made
        });
        (level, Vec::from(made))
    };
    let claim = |direct: [u64; 3], front: [u64; 3], goodput: f64| {
        let mut made = arms(10, [busy("direct", direct), busy("front", front)]);
        made[1].trials.iter_mut().for_each(|trial| trial.rates.goodput = goodput);
        told(&made, "compared-while-generator-bound").map(|one| one.claim)
    };
    let (full, free) = ([9_700, 9_600, 9_800], [7_200; 3]);
    assert_eq!(
        claim(full, free, 300.0).unwrap(),
        "the generator was the limit with path = direct at connections = 10 (a worker used 97.0 % of its core) and not \
         with path = front (72.0 %): path = direct may do more, so that path = front costs at least what is shown"
    );
    let reversed = claim(free, full, 300.0).unwrap();
    assert!(
        reversed
            .ends_with("path = front may do more, so that they may differ by less than is shown")
    );
    let both = claim(full, full, 484.0).unwrap();
    assert!(both.ends_with("how they compare is no property of the targets"), "{both}");
    assert_eq!(claim(free, free, 484.0), None);
    assert_eq!(claim([9_700, 7_000, 7_000], free, 484.0), None, "in one trial of three");
}
