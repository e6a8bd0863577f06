use record::summary::{Change, Shares};

use super::*;
use judge::example;

fn chart_of(summary: &Summary) -> Chart {
    let mut charts = charts(summary);
    assert_eq!(charts.len(), 1);
    charts.remove(0)
}

fn panel_of(summary: &Summary, metric: &str) -> Panel {
    let panels = chart_of(summary).panels;
    panels.into_iter().find(|panel| panel.metric == metric).expect("a panel of it")
}

fn labels(ticks: &[Tick]) -> Vec<&str> {
    ticks.iter().map(|tick| tick.text.as_str()).collect()
}

#[test]
fn a_panel_a_metric_has_each_dose_with_its_interval_and_the_margin() {
    let summary = example::designed().summary;
    let metrics: Vec<String> =
        chart_of(&summary).panels.into_iter().map(|panel| panel.metric).collect();
    assert_eq!(metrics, ["goodput", "p50", "p99"]);
    let p50 = panel_of(&summary, "p50");
    // From −6.17 to +20.2 %: the margin below and the longest interval above, plus 6 % of space.
    assert_eq!((p50.none, p50.margin), (23.41, (5.36, 42.37)));
    let points: Vec<_> = p50.points.iter().map(|one| (one.at, one.value, one.word)).collect();
    let wanted = [
        (3.0, 23.41, "baseline"),
        (14.75, 31.0, "equivalent"),
        (26.5, 38.58, "undecided"),
        (50.0, 53.75, "changed"),
        (97.0, 84.09, "changed"),
    ];
    assert_eq!(points, wanted);
    let last = &p50.points[4];
    assert_eq!((last.low, last.high), (73.09, 94.64));
    assert_eq!(last.text, "40: +16.0 % (+13.1 % – +18.8 %), changed");
    assert_eq!(p50.line, "3,76.59 14.75,69 26.5,61.42 50,46.25 97,15.91");
    assert_eq!(labels(&p50.across), ["0", "5", "10", "20", "40"]);
    assert_eq!(labels(&p50.up), ["−5 %", "0 %", "+5 %", "+10 %", "+15 %", "+20 %"]);
}

#[test]
fn doses_of_several_decades_are_equally_far_apart_by_their_ratio() {
    let mut summary = example::designed().summary;
    let other = |level: &serde_json::Value| match level.as_u64() {
        Some(0) => "1kB".into(),
        Some(5) => "10kB".into(),
        Some(10) => "100kB".into(),
        _ => level.clone(),
    };
    summary.comparisons.retain(|one| one.candidate == 5 || one.candidate == 10);
    for one in &mut summary.comparisons {
        (one.baseline, one.candidate) = (other(&one.baseline), other(&one.candidate));
    }
    let at = |summary: &Summary| {
        panel_of(summary, "p50").points.iter().map(|one| one.at).collect::<Vec<_>>()
    };
    assert_eq!(at(&summary), [3.0, 11.55, 97.0], "two decades are not more than two");
    for one in summary.comparisons.iter_mut().filter(|one| one.candidate == "100kB") {
        one.candidate = "10MB".into();
    }
    assert_eq!(at(&summary), [3.0, 26.5, 97.0]);
}

#[test]
fn ratios_far_apart_are_on_an_axis_of_ratios() {
    let mut summary = example::designed().summary;
    let p50 = summary.comparisons.iter_mut().filter(|one| one.metric == "p50");
    for (one, ratio) in p50.zip([1.0, 2.0, 10.0, 100.0]) {
        (one.ratio, one.low, one.high) = (Some(ratio), Some(ratio * 0.9), Some(ratio * 1.1));
    }
    let panel = panel_of(&summary, "p50");
    let values: Vec<f64> = panel.points.iter().map(|one| one.value).collect();
    let [none, same, twice, ten, hundred] = values[..] else { panic!("five levels") };
    assert_eq!(none, same);
    assert!(((hundred - ten) - (ten - none)).abs() < 0.1, "{values:?}");
    assert!((twice - none - (ten - none) * 2_f64.log10()).abs() < 0.1, "{values:?}");
    assert_eq!(labels(&panel.up), ["×1", "×2", "×5", "×10", "×20", "×50", "×100"]);
}

#[test]
fn an_interval_that_dwarfs_all_others_ends_at_the_edge() {
    let mut summary = example::designed().summary;
    let before = panel_of(&summary, "p50").points[3].value;
    let wide = summary.comparisons.iter_mut().rfind(|one| one.metric == "p50").unwrap();
    (wide.low, wide.high, wide.result) = (Some(0.01), Some(90.0), Change::Undecided);
    let panel = panel_of(&summary, "p50");
    let last = &panel.points[4];
    assert!(last.low < 3.0 && last.high > 97.0, "{last:?}");
    assert!(panel.points[3].value > 30.0 && before > 30.0, "the others are still apart");
    assert_eq!(last.text, "40: +16.0 % (−99.0 % – +8900 %), undecided");
}

#[test]
fn shares_of_failures_differ_in_percentage_points() {
    let mut summary = example::designed().summary;
    for one in summary.comparisons.iter_mut().filter(|one| one.metric == "p99") {
        (one.metric, one.ratio, one.margin) = ("failed".into(), None, 0.001);
        let share = one.candidate.as_f64().unwrap() / 1_000.0;
        let (low, high) = (Some(share - 0.002), Some(share + 0.002));
        one.difference = Some(Shares { observed: share, low, high });
    }
    let panel = panel_of(&summary, "failed");
    assert_eq!(labels(&panel.up), ["0 pp", "+1 pp", "+2 pp", "+3 pp", "+4 pp"]);
    assert!(panel.points[4].text.contains("+4.000 pp (+3.800 pp – +4.200 pp)"));
}

#[test]
fn a_metric_of_which_nothing_is_known_has_no_panel() {
    let mut summary = example::designed().summary;
    for one in summary.comparisons.iter_mut().filter(|one| one.metric == "p99") {
        one.ratio = None;
    }
    let metrics: Vec<String> =
        chart_of(&summary).panels.into_iter().map(|panel| panel.metric).collect();
    assert_eq!(metrics, ["goodput", "p50"]);
}
