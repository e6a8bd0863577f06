//! The time that a level adds in one part, block by block.

use record::summary::{Arm, Finding};

use super::level_adds_outside::{arms, told};
use super::parts::behind_a_front;
use super::*;

const US: u64 = 1_000;

fn found(arms: &[Arm]) -> Option<Finding> {
    told(arms, "level-adds-time-in-part")
}

fn claim(arms: &[Arm]) -> Option<String> {
    found(arms).map(|one| one.claim)
}

/// A trial of a front, in microseconds: the time outside of it, its own time, and the time that it waits for
/// `gateway` inside it.
fn trial([outside, itself, waited]: [u64; 3]) -> Simulated {
    let parts = [("front", (itself + waited) * US), ("gateway", waited * US)];
    behind_a_front(move |_| (outside + itself + waited) * US, &parts)
}

/// Five blocks, each with this offset of the time that it waits.
fn blocks(times: [u64; 3], off: [i64; 5]) -> Vec<Simulated> {
    let [outside, itself, waited] = times;
    let made = off.map(|off| trial([outside, itself, waited.strict_add_signed(off)]));
    made.into()
}

/// Five blocks that do not wait, each with this offset of the front's own time.
fn free(off: [i64; 5]) -> Vec<Simulated> {
    off.map(|off| trial([100, 500_u64.strict_add_signed(off), 0])).into()
}

const CALM: [i64; 5] = [0, 4, -4, 2, -2];
const SPREAD: [i64; 5] = [2, -6, 6, -4, 2];

#[test]
fn the_part_that_a_level_couples_to_the_answer_is_named() {
    // 8 ms of waiting, and 0.1 ms more in the front itself.
    let coupled = blocks([100, 600, 8_000], SPREAD);
    let finding = found(&arms(10, [("direct", free(CALM)), ("front", coupled)])).unwrap();
    // Differences of 8,102, 8,090, 8,110, 8,094 and 8,104 µs: deviation 8, t(4) = 2.776.
    assert_eq!(
        finding.claim,
        "path = front adds 8.10 ms (95 %: 8.09 ms – 8.11 ms), 93.1 % of the service time, 98.8 % of that in `gateway` \
         (home at connections = 10), which itself took 8.00 ms versus 0 ns with path = direct"
    );
    assert_eq!(finding.operation.as_deref(), Some("home"));
    let number = |name: &str| finding.evidence[name].as_f64().unwrap();
    assert_eq!(finding.evidence["part"], "gateway");
    for (name, expected) in [
        ("added_ns", 8.1e6),
        ("part_added_ns", 8e6),
        ("part_mean_ns", 8e6),
        ("part_mean_of_the_other_ns", 0.0),
        ("service_mean_ns", 8.7e6),
        ("low_ns", 8.09e6),
        ("high_ns", 8.11e6),
    ] {
        assert!((number(name) - expected).abs() < 1e3, "{name}: {}", number(name));
    }
}

#[test]
fn the_deepest_part_is_meant_and_a_part_by_itself() {
    // The front contains the gateway, and itself takes longer.
    let slower = blocks([100, 4_500, 0], [0, 1, 2, 3, 4]);
    let claim = claim(&arms(10, [("direct", free(CALM)), ("front", slower)])).unwrap();
    assert!(claim.contains(" of that in `front` (home at connections = 10)"), "{claim}");
    assert!(claim.contains("which itself took 4.50 ms versus 500 µs with"), "{claim}");
}

#[test]
fn without_a_part_that_takes_half_of_it_nothing_is_told() {
    let with = |times| claim(&arms(10, [("direct", free(CALM)), ("front", blocks(times, SPREAD))]));
    assert_eq!(with([8_100, 500, 10]), None, "it passes outside of all parts");
    assert_eq!(with([3_100, 3_500, 3_000]), None, "a third of it here, a third there");
    assert!(with([2_100, 2_500, 4_200]).is_some(), "half of it and more");
    assert_eq!(with([100, 500, 150]), None, "a fifth of the service time");
    assert!(with([100, 500, 300]).is_some(), "a third");
}

#[test]
fn arms_of_another_load_or_of_several_differences_are_no_pair() {
    let coupled =
        || arms(10, [("direct", free(CALM)), ("front", blocks([100, 600, 8_000], SPREAD))]);
    assert!(claim(&coupled()).is_some());
    let mut more = coupled();
    more[1].trials[0].load.connections = 20;
    assert_eq!(claim(&more), None, "another load");
    let mut more = coupled();
    more[1].factors.insert("connections".to_owned(), 20.into());
    assert_eq!(claim(&more), None, "they differ in two levels");
}

#[test]
fn four_blocks_show_what_no_instrument_makes_and_nothing_less() {
    let four = |mut made: Vec<Simulated>| {
        made.truncate(4);
        made
    };
    let with = |waited| {
        let coupled = blocks([100, 500, waited], SPREAD);
        claim(&arms(1, [("direct", four(free(CALM))), ("front", four(coupled))]))
    };
    assert_eq!(with(300), None, "as much as loopback and schedulers make");
    let told = with(8_000).unwrap();
    assert!(told.starts_with("path = front adds 8.00 ms, 93.0 % of the service time, "), "{told}");
}

#[test]
fn blocks_that_do_not_agree_show_nothing() {
    let off = [-2_900, 3_000, -2_800, 2_900, -200];
    let coupled = blocks([100, 500, 3_000], off);
    assert_eq!(claim(&arms(10, [("direct", free(CALM)), ("front", coupled)])), None);
}

#[test]
fn a_part_that_one_of_the_arms_does_not_tell_is_not_compared() {
    let silent = CALM.map(|off| {
        behind_a_front(move |_| 600_u64.strict_add_signed(off) * US, &[("front", 500 * US)])
    });
    let coupled = blocks([100, 500, 8_000], SPREAD);
    assert_eq!(claim(&arms(10, [("direct", silent.into()), ("front", coupled)])), None);
}

#[test]
fn nothing_is_told_of_arms_that_are_alike() {
    // Times vary by up to a factor of nine between blocks.
    let mut state = 11_u64;
    let mut off = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % (2 * most) + most / 4
    };
    for pair in 0..8 {
        let mut block = || (0..5).map(|_| trial([off(100), off(200), off(200)])).collect();
        let alike = arms(1, [("direct", block()), ("front", block())]);
        assert_eq!(claim(&alike), None, "pair {pair}");
    }
}

#[test]
fn what_the_level_adds_elsewhere_stands_beside_it() {
    let one = |connections, waited| {
        let coupled = blocks([100, 500, waited], SPREAD);
        arms(connections, [("direct", free([0; 5])), ("front", coupled)])
    };
    let all = [one(1, 1_400), one(10, 5_400)].concat();
    let claim = claim(&all).unwrap();
    let beside = "with path = direct; 1.40 ms (95 %: 1.39 ms – 1.41 ms), 70.0 % of the service time, 100 % of that at connections = 1";
    assert!(claim.starts_with("path = front adds 5.40 ms (95 %: "), "{claim}");
    assert!(claim.ends_with(beside), "{claim}");
}
