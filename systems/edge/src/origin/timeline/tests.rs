use super::*;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn outcome(status: u16) -> Outcome {
    Outcome { weight: 1.0, status, fault: None, bytes_per_second: None }
}

fn stage(at_ms: u64, status: u16, delay_ms: u64) -> Stage {
    let outcomes = [outcome(status)].into();
    Stage { at_ns: at_ms * MS, delay: Delay::Fixed(delay_ms * MS), outcomes }
}

/// Status and milliseconds at an instant, in milliseconds.
fn told(timeline: &Timeline, at_ms: u64) -> Option<String> {
    timeline.at(at_ms * MS).map(|moment| moment.describe())
}

#[test]
fn a_stage_holds_from_its_instant_to_the_next_and_the_last_for_ever() {
    let stages = vec![stage(30_000, 200, 0), stage(0, 200, 200), stage(10_000, 500, 500)];
    let timeline = Timeline::new(stages, None, false);
    for (at_ms, holds) in [
        (0, "200 200"),
        (9_999, "200 200"),
        (10_000, "500 500"),
        (29_999, "500 500"),
        (30_000, "200 0"),
        (10_000_000, "200 0"),
    ] {
        assert_eq!(told(&timeline, at_ms).as_deref(), Some(holds), "{at_ms}");
    }
}

#[test]
fn before_the_first_stage_there_is_nothing_or_what_held_before() {
    let old = Timeline::new(vec![stage(0, 200, 1), stage(50, 503, 2)], None, false);
    let stages = vec![stage(10, 404, 3)];
    let new = Timeline::new(stages.clone(), None, false);
    assert_eq!(told(&new, 9), None);
    assert_eq!(told(&new, 10).as_deref(), Some("404 3"));
    // Added when the old one was 20 ms old: its stage at 50 ms never comes.
    let replaced = new.after(old.at(20 * MS));
    assert_eq!(told(&replaced, 9).as_deref(), Some("200 1"));
    assert_eq!(told(&replaced, 10).as_deref(), Some("404 3"));
    assert_eq!(told(&replaced, 30).as_deref(), Some("404 3"));
    assert_eq!(told(&replaced, 1_000).as_deref(), Some("404 3"));
    let idle = Timeline::default();
    assert_eq!(told(&idle, 5), None);
    assert_eq!(told(&idle.after(replaced.at(0)), 5_000).as_deref(), Some("200 1"));
}

#[test]
fn of_several_stages_at_one_instant_the_last_holds() {
    let stages = vec![stage(0, 200, 1), stage(0, 500, 2), stage(5, 200, 3), stage(5, 404, 4)];
    let timeline = Timeline::new(stages, None, false);
    assert_eq!(told(&timeline, 0).as_deref(), Some("500 2"));
    assert_eq!(told(&timeline, 5).as_deref(), Some("404 4"));
}

#[test]
fn a_loop_begins_again_and_its_last_stage_lasts_until_the_first() {
    let stages = vec![stage(10, 200, 1), stage(20, 500, 2)];
    let timeline = Timeline::new(stages, Some(100 * MS), false);
    for (at_ms, holds) in [
        (9, None),
        (10, Some("200 1")),
        (20, Some("500 2")),
        (99, Some("500 2")),
        (100, Some("500 2")),
        (109, Some("500 2")),
        (110, Some("200 1")),
        (1_000_020, Some("500 2")),
    ] {
        assert_eq!(told(&timeline, at_ms).as_deref(), holds, "{at_ms}");
    }
}

#[test]
fn times_move_in_a_straight_line_if_asked_for_and_statuses_do_not() {
    let stages = vec![stage(0, 200, 100), stage(100, 500, 200), stage(200, 200, 0)];
    let straight = Timeline::new(stages.clone(), None, true);
    for (at_ms, holds) in [
        (0, "200 100"),
        (50, "200 150"),
        (100, "500 200"),
        (175, "500 50"),
        (200, "200 0"),
        (500, "200 0"),
    ] {
        assert_eq!(told(&straight, at_ms).as_deref(), Some(holds), "{at_ms}");
    }
    let round = Timeline::new(stages, Some(400 * MS), true);
    assert_eq!(told(&round, 300).as_deref(), Some("200 50"));
    assert_eq!(told(&round, 450).as_deref(), Some("200 150"));
}

#[test]
fn a_line_goes_on_over_the_end_of_a_round() {
    let timeline =
        Timeline::new(vec![stage(20, 200, 100), stage(80, 200, 0)], Some(100 * MS), true);
    assert_eq!(told(&timeline, 90).as_deref(), Some("200 25"));
    assert_eq!(told(&timeline, 100).as_deref(), Some("200 50"));
    assert_eq!(told(&timeline, 110).as_deref(), Some("200 75"));
    let alone = Timeline::new(vec![stage(20, 200, 100)], Some(100 * MS), true);
    assert_eq!(told(&alone, 70).as_deref(), Some("200 100"));
}

#[test]
fn outcomes_are_met_by_their_weights() {
    let outcomes: Arc<[Outcome]> = [Outcome { weight: 9.0, ..outcome(200) }, outcome(503)].into();
    let timeline =
        Timeline::new(vec![Stage { at_ns: 0, delay: Delay::Fixed(0), outcomes }], None, false);
    let moment = timeline.at(0).unwrap();
    assert_eq!(moment.describe(), "200:9|503:1 0");
    let mut draws = Draws::of(1, &["outcomes"]);
    let failed = (0..10_000).filter(|_| moment.draw(&mut draws).status == 503).count();
    // A binomial of 0.1: four standard deviations are 120.
    assert!((880..1_120).contains(&failed), "{failed}");
}

/// What the timers of the original would have done, one millisecond after the other: each stage
/// fires at its instant, in every round, and sets what holds until another fires.
fn simulated(stages: &[(u64, u16)], every_ms: Option<u64>, until_ms: u64) -> Vec<Option<u16>> {
    let mut holds = None;
    (0..until_ms)
        .map(|now_ms| {
            let into_ms = every_ms.map_or(now_ms, |every_ms| now_ms % every_ms);
            for (_, status) in stages.iter().filter(|(at_ms, _)| *at_ms == into_ms) {
                holds = Some(*status);
            }
            holds
        })
        .collect()
}

proptest! {
    #[test]
    fn the_timeline_is_what_timers_would_have_done(
        stages in prop::collection::vec((0_u64..40, 200_u16..600), 0..12),
        every_ms in prop::option::of(40_u64..70),
    ) {
        let told: Vec<Stage> =
            stages.iter().map(|(at_ms, status)| stage(*at_ms, *status, 0)).collect();
        let timeline = Timeline::new(told, every_ms.map(|ms| ms * MS), false);
        for (at_ms, holds) in simulated(&stages, every_ms, 200).into_iter().enumerate() {
            let moment = timeline.at(at_ms as u64 * MS + 999_999);
            prop_assert_eq!(moment.map(|moment| moment.outcomes[0].status), holds, "{}", at_ms);
        }
    }
}
