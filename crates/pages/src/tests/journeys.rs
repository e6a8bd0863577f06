//! Journeys on the three pages.

use judge::simulated::{EndedAt, Visit, journeys_file, simulate_journeys};

use super::*;
use crate::html;
use crate::terminal::Colour;
use judge::run_record::RunRecord;

/// A trial of 4,000 journeys: 80 are missed, 120 end at a step, 40 are abandoned while they wait.
fn visits() -> Summary {
    let load = "rate = \"100/s\"\narrivals = \"constant\"\nduration = \"40s\"";
    let criteria = ["visit p95 < 8s", "visit succeeded / planned > 99%"];
    let visit = |index: u64| {
        let ms = |at: u64| 1_000_000 + (index * at % 97) * 100_000;
        Visit {
            opens: index.is_multiple_of(2),
            ended: match index % 100 {
                1 | 51 => EndedAt::Missed,
                3 | 53 => EndedAt::Step(1, FailureKind::Timeout),
                4 => EndedAt::Step(2, FailureKind::Status),
                5 => EndedAt::Before(1),
                _ => EndedAt::Last,
            },
            ..Visit::of([ms(3), 2 * ms(5), 3 * ms(7)], 500_000_000 + index % 13 * 10_000_000)
        }
    };
    simulate_journeys(&journeys_file(load, &criteria), 100, 4_000, visit).summary()
}

fn page(summary: Summary) -> String {
    let plan = serde_json::json!({});
    html::render(&RunRecord { summary, plan, trials: Vec::new(), arms: Vec::new() }).unwrap()
}

#[test]
fn journeys_stand_before_operations_in_every_form() {
    let summary = visits();
    insta::assert_snapshot!(terminal::render(&summary, Colour::Off));
    for text in [
        terminal::render(&summary, Colour::Off),
        terminal::full(&summary, Colour::Off),
        markdown::render(&summary),
        page(summary.clone()),
    ] {
        let places = ["Journeys", "Journey time", "Steps of visit", "Response time of operations"];
        let places = places.map(|title| text.find(title).unwrap_or_else(|| panic!("{title}")));
        assert!(places.is_sorted(), "{places:?}");
    }
}

#[test]
fn journeys_of_several_trials_stand_in_the_section_of_each() {
    let mut summary = visits();
    let again = summary.arms[0].trials[0].clone();
    summary.arms[0].trials.push(record::summary::TrialSummary { index: 2, ..again });
    let text = terminal::full(&summary, Colour::Off);
    let first = text.find("── Trial 1, arm all ──").unwrap();
    let second = text.find("── Trial 2, arm all ──").unwrap();
    assert_eq!(text[first..second].matches("Steps of visit").count(), 1);
    let body = page(summary.clone());
    assert_eq!(body.matches("<section class=\"bars\">").count(), 2);
    // Too many trials for a section of each: the details have the picture.
    let trial = summary.arms[0].trials[0].clone();
    let more = (3..=4).map(|index| record::summary::TrialSummary { index, ..trial.clone() });
    summary.arms[0].trials.extend(more);
    assert_eq!(page(summary).matches("<section class=\"bars\">").count(), 4);
}

#[test]
fn journeys_fit_into_80_columns() {
    let text = terminal::render(&visits(), Colour::Off);
    assert_eq!(text.lines().find(|line| line.chars().count() > 80), None);
}

#[test]
fn a_funnel_has_counts_and_shares_of_the_journeys_that_were_begun() {
    let trial = &visits().arms[0].trials[0];
    let tables = tables::journeys::in_short(trial);
    assert_eq!(tables[0].rows, [["visit", "4,000", "3,760", "120", "40", "80"]]);
    let funnel = &tables[2];
    assert_eq!(funnel.note.as_deref(), Some("Shares of the 3,920 journeys that were begun."));
    assert_eq!(
        funnel.rows,
        [
            ["login", "3,920 (100 %)", "3,920", "0", "0", "0", "0 (0 %)"],
            ["list", "3,880 (99.0 %)", "3,800", "80", "0", "0", "80 (2.04 %)"],
            ["open", "2,000 (51.0 %)", "1,960", "40", "0", "1,800", "40 (1.02 %)"],
        ]
    );
}

#[test]
fn the_total_of_the_mix_counts_operations_only() {
    let trial = &visits().arms[0].trials[0];
    let tables = tables::trial::all(trial);
    let mix = tables.iter().find(|table| table.id == "accounting").unwrap();
    let names: Vec<_> = mix.rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names, ["login", "list", "open", "all"]);
    let of = |place: usize| trial.operations[place].planned;
    assert_eq!(trial.total.planned, of(0) + of(1) + of(2));
}

#[test]
fn a_funnel_is_drawn_once_and_without_scripts() {
    let page = page(visits());
    let body = page.split("<script").next().unwrap();
    assert_eq!(body.matches("<section class=\"bars\">").count(), 1);
    // Of 3,920 that were begun, 1,960 opened, 1,800 left it out, and 40 ended there.
    for bar in [
        "<i class=\"succeeded\" style=\"left:0.0%;width:50.0%\">",
        "<i class=\"skipped\" style=\"left:50.0%;width:45.92%\">",
        "<i class=\"ended\" style=\"left:95.92%;width:1.02%\">",
    ] {
        assert!(body.contains(bar), "{bar}");
    }
    assert!(body.contains("open: 2,000 (51.0 %) reached; 1,960 succeeded, 1,800 skipped"));
    assert!(body.contains("<dt>Journeys succeeded</dt><dd>94.0 %<small>3,760 of 4,000</small>"));
    assert!(!self::page(example::summary()).contains("class=\"bars\""));
}

#[test]
fn names_of_journeys_and_steps_are_escaped() {
    let mut summary = visits();
    let journey = &mut summary.arms[0].trials[0].journeys[0];
    journey.whole.name = "<script>alert(1)</script>|\u{1b}[2J".to_owned();
    journey.steps[0].name = "\"><script>alert(2)</script>|".to_owned();
    assert!(!page(summary.clone()).contains("<script>alert"));
    let text = markdown::render(&summary);
    assert!(text.contains("&lt;script>alert(1)&lt;/script>\\|") && !text.contains("<script>"));
    assert!(!terminal::full(&summary, Colour::Off).contains('\u{1b}'));
}

#[test]
fn missed_journeys_are_no_run_without_failures() {
    let mut summary = example::flawless(1);
    assert!(tables::outcome::none_failed(&summary).is_some());
    let whole =
        record::summary::Operation { name: "visit".into(), planned: 3, ..Default::default() };
    let journey = record::summary::Journey { whole, steps: Vec::new() };
    summary.arms[0].trials[0].journeys = vec![journey];
    assert_eq!(tables::outcome::none_failed(&summary), None);
}
