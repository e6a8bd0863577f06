use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::imports::figure::Figure;
use crate::imports::report::{Items, LoadModel, MeasuredFrom, Period};
use crate::imports::report::{Row, Run};

/// A correct report typed in by hand, with nearly every field: closed load, two operations, ten
/// workers.
fn sound(seed: u64) -> Report {
    let text = include_str!("../imports/samples/figures.json");
    let mut report = crate::imports::read(text, None).expect("a report");
    // The length differs by seed: counts, bytes and intervals scale with it, times and rates do
    // not.
    let scale = seed + 1;
    for run in &mut report.runs {
        run.duration = run.duration.map(|length| length.times(scale as f64));
        run.ended_at = run.started_at.map(|begin| begin + 30.0 * scale as f64);
        for row in run.rows.iter_mut().chain(&mut run.total) {
            for n in
                [&mut row.n, &mut row.ok, &mut row.failed, &mut row.timed].into_iter().flatten()
            {
                *n *= scale;
            }
            row.failures.values_mut().chain(row.statuses.values_mut()).for_each(|n| *n *= scale);
            row.bytes_total = row.bytes_total.map(|total| total.times(scale as f64));
        }
        for (place, interval) in run.intervals.iter_mut().enumerate() {
            let length = 10.0 * scale as f64;
            interval.from = length * place as f64;
            interval.to = interval.from + length;
            interval.count *= scale;
        }
    }
    report
}

/// A way to corrupt a report, and the rules of which at least one must trigger.
type Mutation = (&'static str, &'static [&'static str], fn(&mut Run));

fn up(figure: &mut Option<Figure>, factor: f64) {
    *figure = figure.map(|figure| figure.times(factor));
}

fn total(run: &mut Run) -> &mut Row {
    run.total.as_mut().expect("a total")
}

/// One corruption for each of the eighteen classes of arithmetic, some in both directions.
const MUTATIONS: &[Mutation] = &[
    ("A1 a row", &["R12-total"], |run| run.rows[1].n = run.rows[1].n.map(|n| n + 7)),
    ("A1 an interval", &["R12-total"], |run| run.intervals[2].count -= 10),
    ("A1 succeeded", &["R12"], |run| run.rows[0].ok = run.rows[0].ok.map(|n| n - 1)),
    ("A1 kinds", &["R12"], |run| {
        run.rows[0].failures.insert("reset".to_owned(), 1);
    }),
    ("A1 statuses", &["R12"], |run| {
        run.rows[0].statuses.insert("500".to_owned(), 1_000_000);
    }),
    ("A2 up", &["R12"], |run| up(&mut run.rows[0].failed_share, 3.0)),
    ("A2 down", &["R12"], |run| up(&mut total(run).ok_share, 0.99)),
    ("A3 up", &["R11"], |run| up(&mut total(run).rate, 1.02)),
    ("A3 down", &["R11"], |run| up(&mut total(run).rate, 0.98)),
    ("A3 goodput", &["R11"], |run| up(&mut total(run).goodput, 1.05)),
    ("A4 a quantile", &["R03"], |run| run.rows[0].quantiles[1].1.value = 0.002),
    ("A4 the minimum", &["R03"], |run| up(&mut run.rows[0].min, 9.0)),
    ("A4 the maximum", &["R03"], |run| up(&mut total(run).max, 0.02)),
    ("A4 the median", &["R03", "R02", "A6"], |run| run.rows[0].quantiles[0].1.value *= 1.9),
    ("A5 up", &["R01"], |run| up(&mut run.rows[1].mean, 3.0)),
    ("A5 down", &["R02"], |run| up(&mut run.rows[1].mean, 0.4)),
    ("A6", &["A6"], |run| run.rows[0].quantiles[2].1.value *= 20.0),
    ("A7", &["A7"], |run| {
        let row = &mut run.rows[0];
        row.max = Some(row.quantiles[2].1);
    }),
    ("A8", &["R07"], |run| {
        run.rows[0].n = Some(500);
    }),
    ("A9", &["A9"], |run| run.workers = Some(2.0)),
    ("A10", &["A10", "R09"], |run| {
        run.target_rate = Some(Figure::exact(4_000.0));
        run.workers = Some(10.0);
    }),
    ("A11", &["R09"], |run| run.target_rate = Some(Figure::exact(2_600.0))),
    ("A12 the mean", &["A12"], |run| up(&mut run.rows[0].bytes_mean, 1.05)),
    ("A12 the rate", &["A12"], |run| up(&mut run.rows[0].bytes_rate, 1.048_576)),
    ("A13", &["A13"], |run| run.rows[0].parts[0].1.value *= 0.9),
    ("A14", &["A14"], |run| total(run).quantiles[1].1.value = 0.009),
    ("A15", &["A15"], |run| run.rows[0].max = Some(Figure::exact(2.5))),
    ("A16 the end", &["A16"], |run| run.ended_at = run.ended_at.map(|end| end + 60.0)),
    ("A16 intervals", &["A16"], |run| run.intervals[1].from -= 1.0),
    ("A16 negative", &["A16"], |run| up(&mut run.rows[0].min, -1.0)),
    ("A17", &["A17"], |run| run.rows[0].resolution = Some(0.001)),
    ("A18", &["A18"], |run| up(&mut total(run).mean, 1_000.0)),
    ("A18 down", &["A18"], |run| up(&mut total(run).mean, 0.001)),
];

/// Rules that may also trigger on a correct report, because their findings are remarks.
const REMARKS: &[&str] = &["R15", "R17", "R22", "R27", "R29", "R37", "R41"];

fn broken(report: &Report) -> BTreeSet<String> {
    audit(report).findings.into_iter().map(|finding| finding.code).collect()
}

#[test]
fn a_right_report_is_not_contradicted() {
    for seed in 0..10 {
        let audit = audit(&sound(seed));
        assert_eq!(audit.contradictions, 0, "{:?}", audit.findings);
        for finding in &audit.findings {
            assert!(REMARKS.contains(&finding.code.as_str()), "{finding:?}");
        }
    }
}

#[test]
fn every_class_of_corruption_is_noticed() {
    for seed in 0..5 {
        let sound = sound(seed);
        let before = broken(&sound);
        for (what, expected, corrupt) in MUTATIONS {
            let mut report = sound.clone();
            corrupt(&mut report.runs[0]);
            let found: BTreeSet<String> = &broken(&report) - &before;
            assert!(expected.iter().any(|rule| found.contains(*rule)), "{what}: {found:?}");
        }
    }
}

#[test]
fn a_total_that_averages_percentiles_is_recognised() {
    let mut report = sound(0);
    let run = &mut report.runs[0];
    let rows = run.rows.clone();
    run.rows[1].quantiles = rows[1].quantiles.clone();
    for (place, (_, value)) in total(run).quantiles.iter_mut().enumerate() {
        *value = Figure {
            value: (rows[0].quantiles[place].1.value + rows[1].quantiles[place].1.value) / 2.0,
            step: 1e-6,
        };
    }
    assert!(broken(&report).contains("A14"));
}

#[test]
fn each_number_is_moved_within_its_rounding_without_a_contradiction() {
    for direction in [-0.49, 0.49] {
        let mut report = sound(0);
        let run = &mut report.runs[0];
        for row in run.rows.iter_mut().chain(&mut run.total) {
            for figure in [&mut row.mean, &mut row.min, &mut row.max, &mut row.stdev, &mut row.rate]
            {
                *figure = figure.map(|figure| Figure {
                    value: figure.value + direction * figure.step,
                    ..figure
                });
            }
        }
        let audit = audit(&report);
        assert_eq!(audit.contradictions, 0, "{:?}", audit.findings);
    }
}

#[test]
fn absent_numbers_silence_their_rules() {
    let nothing = Report {
        runs: vec![Run { rows: vec![Row::default()], ..Run::default() }],
        ..Report::default()
    };
    assert_eq!(broken(&nothing), BTreeSet::from(["R37".to_owned()]));
}

fn of(run: Run) -> BTreeSet<String> {
    broken(&Report { runs: vec![run], ..Report::default() })
}

#[test]
fn rules_that_no_golden_case_reaches() {
    let limits = |text: &str| BTreeMap::from([("backlog".to_owned(), text.to_owned())]);
    assert!(
        of(Run { declared: limits("100"), effective: limits("10"), ..Run::default() })
            .contains("R42")
    );
    assert!(
        !of(Run { declared: limits("100"), effective: limits("100"), ..Run::default() })
            .contains("R42")
    );
    let row = Row {
        n: Some(100),
        ok: Some(100),
        items: Some(Items { targets: 0, ..Items::default() }),
        ..Row::default()
    };
    assert!(of(Run { rows: vec![row], ..Run::default() }).contains("R26"));
    let full = Row { n: Some(1_000), bytes_mean: Some(Figure::exact(125_000.0)), ..Row::default() };
    let link = |bits| Run {
        link_bits: Some(bits),
        duration: Some(Figure::exact(10.0)),
        rows: vec![full.clone()],
        ..Run::default()
    };
    assert!(of(link(1e8)).contains("R45"));
    assert!(!of(link(1e9)).contains("R45"));
    let labelled = |took| Run {
        asked_duration: Some(Figure::exact(30.0)),
        duration: Some(Figure::exact(took)),
        ..Run::default()
    };
    assert!(of(labelled(35.02)).contains("R50"));
    assert!(!of(labelled(30.4)).contains("R50"));
}

/// Fortio's README, with its default buckets of 1 ms: 100,000 answers of 49 µs on average. All are
/// in the first bucket, and percentiles are interpolated within it.
#[test]
fn percentiles_interpolated_in_a_wide_bucket_are_contradicted() {
    let micros = |value: f64| Figure { value: value * 1e-6, step: 1e-6 };
    let row = Row {
        n: Some(100_000),
        mean: Some(micros(49.0)),
        quantiles: vec![(0.5, micros(457.0)), (0.99, micros(878.0))],
        ..Row::default()
    };
    let found = of(Run { rows: vec![row], ..Run::default() });
    assert!(found.contains("R02") && found.contains("A6"), "{found:?}");
}

#[test]
fn an_even_run_has_no_burst() {
    let interval = |place: u64, count| Period {
        from: place as f64,
        to: place as f64 + 1.0,
        count,
        ..Period::default()
    };
    let run = |first| Run {
        model: Some(LoadModel::Open),
        measured_from: Some(MeasuredFrom::Intended),
        duration: Some(Figure::exact(10.0)),
        intervals: (0..10)
            .map(|place| interval(place, if place == 0 { first } else { 100 }))
            .collect(),
        total: Some(Row { n: Some(900 + first), ..Row::default() }),
        ..Run::default()
    };
    assert!(of(run(130)).contains("R11-burst"));
    assert!(!of(run(104)).contains("R11-burst"));
}

#[test]
fn rules_have_their_own_names_and_texts() {
    let ids: BTreeSet<&str> = rules().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), rules().count());
    for rule in rules() {
        assert!(rule.explain.ends_with('.') && !rule.title.ends_with('.'), "{}", rule.id);
        assert!(rule.explain.len() > 60, "{}", rule.id);
    }
}
