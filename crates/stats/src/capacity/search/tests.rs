use super::*;

fn settings() -> SearchSettings {
    SearchSettings {
        start: 100.0,
        most: None,
        precision: 1.05,
        shortest: 20.0,
        longest: 60.0,
        operations: 0.0,
        fewest: 0.0,
        confirmations: 5,
        narrowing: 16,
        noisy_host: false,
        most_trials: 100,
        seed: 1,
    }
}

/// Carries a search out; gives it with its steps.
fn carry_out(
    settings: SearchSettings,
    mut end: impl FnMut(SearchStep) -> StepOutcome,
) -> (Search, Vec<SearchStep>) {
    let mut search = Search::new(settings);
    let mut steps = Vec::new();
    while let Some(step) = search.next_step() {
        assert_eq!(step.rate, readable(step.rate), "{step:?}");
        steps.push(step);
        search.report(step, end(step));
    }
    (search, steps)
}

fn below(limit: f64) -> impl Fn(SearchStep) -> StepOutcome {
    move |step| if step.rate < limit { StepOutcome::Passed } else { StepOutcome::Failed }
}

#[test]
fn a_sharp_limit_is_bracketed_within_the_precision() {
    for limit in [3.3, 99.0, 100.0, 777.0, 123_456.0] {
        let (search, steps) = carry_out(settings(), below(limit));
        assert_eq!(search.ending(), Some(SearchEnding::Bracketed));
        let bracket = search.bracket();
        let (low, high) = (bracket.low.unwrap(), bracket.high.unwrap());
        assert!(low < limit && limit <= high, "{limit} in {low} – {high}");
        assert!(high / low <= 1.05 + 1e-6, "{low} – {high}");
        assert_eq!(search.confirmed(), Some(low));
        assert!(!bracket.in_disorder);
        assert!(steps.len() < 40, "{} steps", steps.len());
        let confirming = steps.iter().filter(|step| step.purpose == Purpose::Confirm).count();
        assert_eq!(confirming, 4, "the fifth could not change anything");
    }
}

#[test]
fn trials_grow_as_the_bracket_narrows() {
    let (_, steps) = carry_out(settings(), below(777.0));
    assert!(steps[..4].iter().all(|step| step.seconds == 20.0), "{steps:?}");
    let narrowing: Vec<f64> = steps
        .iter()
        .filter(|step| step.purpose == Purpose::Narrow)
        .map(|one| one.seconds)
        .collect();
    assert!(narrowing.is_sorted() && narrowing.last() > Some(&20.0), "{narrowing:?}");
    let confirm = steps.iter().filter(|step| step.purpose == Purpose::Confirm);
    assert!(confirm.clone().all(|step| step.seconds == 60.0));
}

#[test]
fn a_trial_is_long_enough_for_the_operations_wanted() {
    let wanting = SearchSettings { operations: 3_000.0, ..settings() };
    let step = Search::new(wanting).next_step().unwrap();
    assert_eq!((step.rate, step.seconds), (100.0, 30.0));
    let scarce = SearchSettings { start: 10.0, ..wanting };
    assert_eq!(Search::new(scarce).next_step().unwrap().seconds, 60.0, "never beyond the longest");
}

#[test]
fn an_undecided_trial_is_doubled_and_at_the_longest_does_not_pass() {
    let mut at_800 = Vec::new();
    let (search, _) = carry_out(settings(), |step| match step.rate {
        rate if (rate - 800.0).abs() < 1.0 => {
            at_800.push(step.seconds);
            StepOutcome::Undecided
        }
        rate if rate < 790.0 => StepOutcome::Passed,
        _ => StepOutcome::Failed,
    });
    assert_eq!(at_800[..3], [20.0, 40.0, 60.0]);
    let bracket = search.bracket();
    assert!(bracket.low.unwrap() < 790.0);
    assert!(bracket.not_shown.unwrap() <= 800.0);
    assert_eq!(search.ending(), Some(SearchEnding::Bracketed));
}

#[test]
fn what_cannot_be_decided_lies_between_the_ends() {
    let (search, _) = carry_out(settings(), |step| match step.rate {
        rate if rate < 700.0 => StepOutcome::Passed,
        rate if rate < 900.0 => StepOutcome::Undecided,
        _ => StepOutcome::Failed,
    });
    let bracket = search.bracket();
    let (low, open, high) =
        (bracket.low.unwrap(), bracket.not_shown.unwrap(), bracket.high.unwrap());
    assert!(low < 700.0 && open >= 700.0 && open / low <= 1.05 + 1e-6, "{bracket:?}");
    assert!((900.0..900.0 * 1.05).contains(&high), "{bracket:?}");
}

#[test]
fn a_spoiled_trial_is_repeated_and_never_a_failure() {
    let mut spoiled = 0;
    let limit = below(777.0);
    let (search, _) = carry_out(settings(), |step| {
        spoiled += 1;
        if spoiled % 2 == 1 { StepOutcome::Invalid } else { limit(step) }
    });
    assert_eq!(search.ending(), Some(SearchEnding::Bracketed));
    let bracket = search.bracket();
    assert!((bracket.low.unwrap()..bracket.high.unwrap()).contains(&777.0), "{bracket:?}");
}

#[test]
fn a_generator_that_cannot_make_the_rate_is_the_limit() {
    let able = |step: SearchStep| {
        if step.rate <= 400.0 { StepOutcome::Passed } else { StepOutcome::Invalid }
    };
    let (search, steps) = carry_out(settings(), able);
    assert_eq!(search.ending(), Some(SearchEnding::GeneratorLimited));
    assert_eq!((search.bracket().low, search.bracket().high), (Some(400.0), None));
    assert_eq!(steps.iter().filter(|step| step.rate > 400.0).count(), 3);
}

#[test]
fn a_first_rate_beyond_the_generator_is_halved() {
    let able = |limit: f64| {
        move |step: SearchStep| match step.rate {
            rate if rate > 1_000.0 => StepOutcome::Invalid,
            rate if rate < limit => StepOutcome::Passed,
            _ => StepOutcome::Failed,
        }
    };
    let first = SearchSettings { start: 3_200.0, ..settings() };
    let (search, steps) = carry_out(first, able(777.0));
    let rates: Vec<f64> = steps[..7].iter().map(|step| step.rate).collect();
    assert_eq!(rates, [3_200.0, 3_200.0, 3_200.0, 1_600.0, 1_600.0, 1_600.0, 800.0]);
    assert_eq!(search.ending(), Some(SearchEnding::Bracketed), "800/s fails, and it is below that");
    let bracket = search.bracket();
    assert!((bracket.low.unwrap()..bracket.high.unwrap()).contains(&777.0), "{bracket:?}");
    let (search, _) = carry_out(first, able(5_000.0));
    assert_eq!(search.ending(), Some(SearchEnding::GeneratorLimited));
    assert_eq!(search.bracket().low, Some(800.0));
    let (search, steps) = carry_out(first, |_| StepOutcome::Invalid);
    assert_eq!(
        (search.ending(), steps.len()),
        (Some(SearchEnding::Spoiled), 12),
        "down to an eighth"
    );
}

#[test]
fn a_first_rate_that_fails_is_gone_below() {
    let (search, steps) = carry_out(SearchSettings { start: 3_200.0, ..settings() }, below(777.0));
    assert_eq!(
        steps[..4].iter().map(|step| step.rate).collect::<Vec<_>>(),
        [3_200.0, 1_600.0, 800.0, 400.0]
    );
    assert_eq!(search.ending(), Some(SearchEnding::Bracketed));
}

#[test]
fn noise_that_does_not_go_away_ends_the_search_without_blaming_the_rate() {
    let mut trials = 0;
    let limit = below(777.0);
    let (search, _) = carry_out(settings(), |step| {
        trials += 1;
        if trials > 8 { StepOutcome::Invalid } else { limit(step) }
    });
    assert_eq!(search.ending(), Some(SearchEnding::Spoiled));
    assert!(search.bracket().high.is_some());
}

#[test]
fn the_greatest_rate_allowed_is_never_exceeded() {
    let (search, steps) =
        carry_out(SearchSettings { most: Some(1_000.0), ..settings() }, below(5_000.0));
    assert_eq!(search.ending(), Some(SearchEnding::LimitReached));
    assert_eq!(search.confirmed(), Some(1_000.0));
    assert!(steps.iter().all(|step| step.rate <= 1_000.0));
}

#[test]
fn a_greatest_rate_of_many_digits_is_offered_as_it_is_and_once() {
    for most in [12_344.0, 12_345.6, 1_000.4] {
        for limit in [0.999 * most, 2.0 * most] {
            let mut search = Search::new(SearchSettings { most: Some(most), ..settings() });
            let (mut trials, mut at_most) = (0, 0);
            while let Some(step) = search.next_step() {
                assert!(step.rate <= most, "{step:?}");
                trials += 1;
                at_most += usize::from(step.rate == most);
                search.report(step, below(limit)(step));
            }
            assert!(at_most >= 1 && trials < 30, "{most}: {at_most} of {trials} trials");
            let known =
                if limit > most { SearchEnding::LimitReached } else { SearchEnding::Bracketed };
            assert_eq!(search.ending(), Some(known), "{most}, limit {limit}");
        }
    }
}

#[test]
fn no_rate_is_tried_at_which_the_longest_trial_holds_too_few_operations_to_pass() {
    // 299 operations in 60 s are 4.98/s.
    let needing = SearchSettings { fewest: 299.0, ..settings() };
    let (search, steps) = carry_out(needing, |_| StepOutcome::Undecided);
    assert_eq!(search.ending(), Some(SearchEnding::NothingPasses));
    let least = steps.iter().map(|step| step.rate).fold(f64::INFINITY, f64::min);
    assert_eq!(least, 6.25);
    let on_many = SearchSettings { noisy_host: true, ..needing };
    let (_, steps) = carry_out(on_many, |_| StepOutcome::Failed);
    let least = steps.iter().map(|step| step.rate).fold(f64::INFINITY, f64::min);
    assert_eq!(least, 25.0, "each of many short trials must hold them");
}

#[test]
fn where_nothing_passes_that_is_said() {
    let (search, steps) = carry_out(settings(), |_| StepOutcome::Failed);
    assert_eq!(search.ending(), Some(SearchEnding::NothingPasses));
    assert_eq!(search.bracket().low, None);
    assert!(steps.len() < 20);
}

#[test]
fn a_low_end_that_is_not_confirmed_is_lowered_each_time_by_twice_as_much() {
    // Flukes: rates pass while they are searched, and no longer when they are to be confirmed.
    for (limit, greatest) in [(760.0, 0.03), (700.0, 0.06), (620.0, 0.12), (480.0, 0.24)] {
        let (search, steps) = carry_out(settings(), |step| {
            let limit = if step.purpose == Purpose::Confirm { limit } else { 777.0 };
            below(limit)(step)
        });
        let low = search.confirmed().unwrap();
        assert!(low < limit && low >= limit * (1.0 - greatest) - 0.1, "{limit}: {low}");
        assert_eq!(search.ending(), Some(SearchEnding::Bracketed));
        assert_eq!(search.bracket().low, Some(low), "{limit}");
        let high = search.bracket().high.unwrap();
        assert!(
            (777.0..777.0 * 1.05).contains(&high),
            "what was not confirmed did not fail: {high}"
        );
        assert!(steps.len() < 30, "{limit}: {} steps", steps.len());
        let mut narrowing = steps.iter().filter(|step| step.purpose == Purpose::Narrow);
        let last = narrowing.next_back().expect("it was narrowed");
        assert!(last.rate > 700.0, "nothing is halved below what was not confirmed: {last:?}");
    }
}

#[test]
fn a_rate_that_passes_once_and_not_the_next_time_lies_between_the_ends() {
    let mut trials = 0;
    let (search, steps) = carry_out(settings(), |step| {
        trials += 1;
        match step.rate {
            rate if rate < 700.0 => StepOutcome::Passed,
            rate if rate > 900.0 => StepOutcome::Failed,
            _ if trials % 2 == 0 => StepOutcome::Passed,
            _ => StepOutcome::Failed,
        }
    });
    assert_eq!(search.ending(), Some(SearchEnding::Bracketed));
    assert_eq!(search.no_further(), Some(NoFurther::Contested));
    let bracket = search.bracket();
    let (low, high) = (bracket.low.unwrap(), bracket.high.unwrap());
    assert!((600.0..700.0).contains(&low) && (800.0..1_000.0).contains(&high), "{bracket:?}");
    assert!(steps.len() <= 30, "{} steps", steps.len());
}

#[test]
fn one_failure_below_the_low_end_is_looked_at_again() {
    let checked = |others: [StepOutcome; 2]| {
        let mut seen = 0;
        let limit = below(777.0);
        carry_out(settings(), |step| match step.purpose {
            Purpose::Check if (680.0..700.0).contains(&step.rate) => {
                seen += 1;
                if seen == 1 { StepOutcome::Failed } else { others[(seen - 2) % 2] }
            }
            _ => limit(step),
        })
    };
    let (search, _) = checked([StepOutcome::Passed; 2]);
    let low = search.confirmed().unwrap();
    assert!((777.0 / 1.05..777.0).contains(&low), "two of three pass: {low}");
    assert_eq!(search.no_further(), None);
    for others in [
        [StepOutcome::Failed; 2],
        [StepOutcome::Passed, StepOutcome::Failed],
        [StepOutcome::Undecided; 2],
    ] {
        let (search, _) = checked(others);
        let low = search.confirmed().unwrap();
        assert!(low < 0.9 * 777.0, "{others:?}: {low}");
        assert!(
            search.bracket().high.unwrap() >= 777.0,
            "{others:?}: what failed by chance is no end"
        );
        assert_eq!(search.no_further(), Some(NoFurther::Contested));
    }
}

#[test]
fn a_high_end_that_passes_the_second_time_is_none() {
    let mut at_800 = 0;
    let (search, _) = carry_out(settings(), |step| match step.rate {
        rate if rate < 790.0 => StepOutcome::Passed,
        rate if rate > 810.0 => StepOutcome::Failed,
        _ => {
            at_800 += 1;
            // Expanding and once more at full length, and not when the low end is confirmed.
            if at_800 < 3 { StepOutcome::Failed } else { StepOutcome::Passed }
        }
    });
    let bracket = search.bracket();
    assert_eq!(bracket.not_shown, Some(800.0));
    let high = bracket.high.unwrap();
    assert!(high > 810.0 && high / 800.0 <= 1.05 + 1e-6, "{bracket:?}");
    assert_eq!(search.no_further(), Some(NoFurther::Contested));
}

#[test]
fn so_many_trials_bring_the_ends_together_and_no_more() {
    let few = SearchSettings { narrowing: 3, ..settings() };
    let (search, steps) = carry_out(few, below(777.0));
    assert_eq!(search.ending(), Some(SearchEnding::Bracketed));
    assert_eq!(search.no_further(), Some(NoFurther::Spent));
    let bracket = search.bracket();
    assert_eq!((bracket.low, bracket.high), (Some(733.6), Some(800.0)));
    assert_eq!(search.confirmed(), Some(733.6), "it is confirmed all the same");
    assert_eq!(steps.iter().filter(|step| step.purpose == Purpose::Narrow).count(), 3);
    let (search, _) = carry_out(settings(), below(777.0));
    assert_eq!(search.no_further(), None);
}

#[test]
fn of_rates_in_disorder_the_smallest_that_fails_is_the_upper_end() {
    let holes = |step: SearchStep| match step.rate {
        rate if (380.0..420.0).contains(&rate) => StepOutcome::Failed,
        rate if rate < 1_000.0 => StepOutcome::Passed,
        _ => StepOutcome::Failed,
    };
    let (search, _) = carry_out(SearchSettings { start: 500.0, ..settings() }, holes);
    assert!(search.bracket().low.unwrap() > 900.0, "the hole is not met");
    let (search, _) = carry_out(SearchSettings { start: 100.0, ..settings() }, holes);
    let bracket = search.bracket();
    assert!(bracket.low.unwrap() < 380.0 && bracket.high.unwrap() < 420.0, "{bracket:?}");
}

#[test]
fn the_number_of_trials_is_bounded() {
    let mut toss = false;
    let (search, steps) = carry_out(SearchSettings { most_trials: 30, ..settings() }, |_| {
        toss = !toss;
        if toss { StepOutcome::Passed } else { StepOutcome::Failed }
    });
    assert!(steps.len() <= 30);
    assert!(search.ending().is_some());
}

#[test]
fn on_a_noisy_host_many_short_trials_outvote_the_noise() {
    let noisy =
        SearchSettings { noisy_host: true, shortest: 5.0, most_trials: 1_000, ..settings() };
    let mut trials = 0;
    let limit = below(777.0);
    let (search, steps) = carry_out(noisy, |step| {
        trials += 1;
        // Every third trial is spoiled by noise that looks like the target's.
        if trials % 3 == 0 { StepOutcome::Failed } else { limit(step) }
    });
    assert_eq!(search.ending(), Some(SearchEnding::Bracketed));
    let bracket = search.bracket();
    let (low, high) = (bracket.low.unwrap(), bracket.high.unwrap());
    assert!(low < 777.0 && 777.0 <= high && high / low <= 1.05 + 1e-6, "{bracket:?}");
    assert!(steps.iter().all(|step| step.seconds == 5.0));
    // Six good trials of 5 s are half of the longest; seven bad ones are more.
    let at = |rate| steps.iter().filter(|step| step.rate == rate).count();
    assert!((6..=12).contains(&at(low)) && (7..=12).contains(&at(high)), "{steps:?}");
}

#[test]
fn rates_have_four_digits() {
    assert_eq!(readable(751.091_3), 751.1);
    assert_eq!(readable(0.012_345_6), 0.012_35);
    assert_eq!(readable(1_234_567.0), 1_235_000.0);
    assert_eq!(readable(1_000.0), 1_000.0);
}
