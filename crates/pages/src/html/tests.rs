use record::summary::Validity;

use super::*;
use judge::example;
use judge::run_record::ArmTimes;

/// Start and end tags must match, except inside scripts and styles.
fn assert_well_formed(page: &str) {
    const VOID: [&str; 3] = ["meta", "link", "br"];
    let mut open: Vec<String> = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let end = rest.find('>').expect("tag ends");
        let (tag, after) = (&rest[..end], &rest[end + 1..]);
        let name: String =
            tag.trim_start_matches('/').chars().take_while(|c| c.is_alphanumeric()).collect();
        rest = after;
        if tag.starts_with('!') || VOID.contains(&name.as_str()) {
            continue;
        }
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_deref(), Some(name.as_str()), "before {:.80}", rest);
            continue;
        }
        if name == "script" || name == "style" {
            rest = &rest[rest.find(&format!("</{name}")).expect("raw text ends")..];
        }
        open.push(name);
    }
    assert_eq!(open, Vec::<String>::new());
}

#[test]
fn page_is_well_formed_and_self_contained() {
    let page = render(&example::record()).unwrap();
    assert_well_formed(&page);
    assert!(
        !page.contains("src=\"http") && !page.contains("href=\"http") && !page.contains("@import")
    );
}

#[test]
fn every_table_and_its_figures_are_there_without_scripts() {
    let run = example::record();
    let page = render(&run).unwrap();
    let body = page.split("<script").next().unwrap();
    let summary = &run.summary;
    let mut seen = 0;
    for table in outline::sections(summary).into_iter().flat_map(|section| section.tables) {
        assert!(body.contains(&format!("id=\"{}\"", table.id)), "{}", table.id);
        seen += table.rows.len();
    }
    assert_eq!(body.matches("<tr>").count(), seen + body.matches("<thead>").count());
}

#[test]
fn nothing_from_outside_can_end_its_element() {
    let mut run = example::record();
    let hostile = "</script><script>alert(1)</script>";
    run.summary.run.title = hostile.to_owned();
    run.summary.arms[0].trials[0].systems[0].name = hostile.to_owned();
    let spectrum = run.trials[0].spectra.remove("home").unwrap();
    run.trials[0].spectra.insert(hostile.to_owned(), spectrum);
    let page = render(&run).unwrap();
    assert!(!page.contains("<script>alert"));
    assert_well_formed(&page);
}

#[test]
fn data_of_charts_are_those_of_the_windows() {
    let run = example::record();
    let data: serde_json::Value = serde_json::from_str(&data::script(&run)).unwrap();
    let chart = &data["trials"][0];
    assert_eq!(chart["t"].as_array().unwrap().len(), 40);
    assert_eq!(chart["planned"][3], 500.0);
    assert_eq!(chart["spectra"].as_array().unwrap().len(), 3);
    let failed: f64 =
        chart["failures"]["timeout"].as_array().unwrap().iter().filter_map(|v| v.as_f64()).sum();
    assert_eq!(failed as u64, run.summary.arms[0].trials[0].total.failed);
}

#[test]
fn a_window_after_the_measure_phase_is_no_dip_in_a_rate() {
    let mut run = example::record();
    let rows = &run.trials[0].windows;
    let mut drained = rows.iter().rfind(|row| row.operation == "all").unwrap().clone();
    drained.window += 1;
    (drained.planned, drained.succeeded) = (0, 0);
    run.trials[0].windows.push(drained);
    let data: serde_json::Value = serde_json::from_str(&data::script(&run)).unwrap();
    assert_eq!(data["trials"][0]["planned"].as_array().unwrap().len(), 40);
}

#[test]
fn text_between_backquotes_is_code_and_still_escaped() {
    assert_eq!(
        code("`p99 < 20ms` is not met").to_string(),
        "<code>p99 &lt; 20ms</code> is not met"
    );
    assert_eq!(code("odd `one").to_string(), "odd <code>one</code>");
}

#[test]
fn comparisons_are_drawn_without_scripts() {
    let page = render(&example::designed()).unwrap();
    assert_well_formed(&page);
    let body = page.split("<script").next().unwrap();
    assert_eq!(body.matches("class=\"line ").count(), 12 + 1, "12 comparisons and the axis");
    assert_eq!(body.matches("class=\"dot\"").count(), 12 * 6);
    assert!(body.contains("<h4>messages: 40 against 0</h4>"));
    assert!(body.contains("<b>changed</b> ×1.36"), "{body}");
}

/// An axis of ratios has no position for it.
#[test]
fn a_difference_of_shares_is_told_among_the_ratios() {
    let mut run = example::designed();
    let one = &mut run.summary.comparisons[0];
    (one.metric, one.ratio, one.low, one.high) = ("failed".into(), None, None, None);
    one.difference =
        Some(record::summary::Shares { observed: 0.067, low: Some(0.059), high: Some(0.075) });
    let page = render(&run).unwrap();
    assert_well_formed(&page);
    let body = page.split("<script").next().unwrap();
    assert_eq!(body.matches("class=\"line ").count(), 12 + 1);
    assert_eq!(body.matches("class=\"dot\"").count(), 11 * 6);
    assert!(body.contains("</b> +6.700 pp (+5.900 pp – +7.500 pp)<small>"), "{body}");
}

#[test]
fn doses_are_drawn_and_told_without_scripts() {
    let page = render(&example::designed()).unwrap();
    let body = page.split("<script").next().unwrap();
    assert_eq!(body.matches("<section class=\"sizes doses\">").count(), 1);
    assert_eq!(body.matches("<i class=\"none\"").count(), 3, "a panel a metric");
    assert_eq!(body.matches("<i class=\"point baseline\"").count(), 3);
    assert_eq!(body.matches("<i class=\"point changed\"").count(), 2 + 3, "of p50 and p99");
    assert!(
        body.contains("p50 by messages: 0: baseline; 5: +2.00 % (−0.55 % – +4.45 %), equivalent; ")
    );
    assert!(body.contains("<section class=\"table\" id=\"dose\">"));
    assert!(!render(&example::record()).unwrap().contains("<section class=\"sizes doses\">"));
}

#[test]
fn arms_share_a_chart_of_their_percentiles() {
    let mut run = example::designed();
    assert!(!render(&run).unwrap().contains("id=\"arms\""), "no times are known");
    let mut times = stats::Histogram::new(stats::FINE);
    (1..=1_000).for_each(|ms| times.record(ms * 1_000_000));
    let of = |arm: &record::summary::Arm| ArmTimes::of(&arm.name, true, &times, 0);
    run.arms = run.summary.arms.iter().map(of).collect();
    let page = render(&run).unwrap();
    assert_well_formed(&page);
    assert!(page.contains("<div class=\"charts\" id=\"arms\"></div>"));
    assert!(page.contains("id=\"percentiles-by-arm\""));
    let chart = &data_of(&run)["arms"][0];
    let names: Vec<_> = chart["arms"].as_array().unwrap().iter().map(|arm| &arm["arm"]).collect();
    assert_eq!(names, ["messages=0", "messages=5", "messages=10", "messages=20", "messages=40"]);
    assert_eq!(
        chart["arms"][4]["ms"].as_array().unwrap().len(),
        chart["x"].as_array().unwrap().len()
    );
}

fn data_of(run: &RunRecord) -> serde_json::Value {
    serde_json::from_str(&data::script(run)).unwrap()
}

#[test]
fn a_finding_leads_to_its_trial_and_is_marked_in_its_chart() {
    let mut run = example::record();
    run.summary.findings[0].evidence =
        [("from_ns", 25e9), ("to_ns", 26e9)].map(|(name, at)| (name.to_owned(), at.into())).into();
    let page = render(&run).unwrap();
    assert!(page.contains("<a href=\"#trial-1\">status-only</a>"));
    assert!(page.contains("<article id=\"trial-1\">"));
    let mark = &data_of(&run)["trials"][0]["marks"][0];
    assert_eq!((mark["from"].as_f64(), mark["to"].as_f64()), (Some(25.0), Some(26.0)));
}

#[test]
fn what_comes_again_is_marked_each_time() {
    let mut run = example::record();
    let evidence = [("first_at_ns", 3e9), ("period_ns", 10e9), ("length_ns", 1e9)];
    run.summary.findings[0].evidence =
        evidence.map(|(name, at)| (name.to_owned(), at.into())).into();
    let data = data_of(&run);
    let marks = data["trials"][0]["marks"].as_array().unwrap();
    let starts: Vec<_> = marks.iter().map(|mark| mark["from"].as_f64().unwrap()).collect();
    assert_eq!(starts, [3.0, 13.0, 23.0, 33.0], "in 40 s");
}

#[test]
fn findings_of_many_trials_stand_once() {
    let mut run = example::designed();
    let finding = run.summary.findings[0].clone();
    run.summary.findings = (1..=30)
        .map(|trial| record::summary::Finding { trial: Some(trial), ..finding.clone() })
        .collect();
    let table = tables::run::findings(&run.summary).unwrap();
    assert_eq!(table.rows.len(), 1);
    assert!(table.rows[0][2].ends_with(" (all 30 trials show it)"), "{:?}", table.rows);
}

#[test]
fn the_steps_of_a_search_are_drawn_by_rate() {
    let mut run = example::record();
    run.summary.capacity = Some(example::capacity());
    let page = render(&run).unwrap();
    assert_well_formed(&page);
    assert!(page.contains("id=\"curve\""));
    let curve = &data_of(&run)["curve"];
    assert_eq!(curve["rate"], serde_json::json!([100.0, 200.0, 300.0, 400.0]));
    assert_eq!(curve["passed"], serde_json::json!([5.0, 8.0, null, null]));
    assert_eq!(curve["other"], serde_json::json!([null, null, 30.0, null]));
}

#[test]
fn a_number_of_the_answers_that_spreads_has_a_chart() {
    let mut run = example::record();
    let range = |power: i32| record::summary::ItemRange {
        from: if power == 0 { 0.0 } else { 2_f64.powi(power - 1) },
        below: 2_f64.powi(power),
        count: 100,
        p50_ns: 1_000_000 << power,
        p95_ns: 2_000_000 << power,
    };
    let item = |powers: std::ops::Range<i32>| record::summary::Item {
        sum: 1.0,
        per_operation_mean: 1.0,
        ranges: powers.map(range).collect(),
    };
    let items = &mut run.summary.arms[0].trials[0].operations[0].items;
    items.insert("few".into(), item(0..2));
    items.insert("targets".into(), item(0..5));
    let data = data_of(&run);
    let charts = data["trials"][0]["against"].as_array().unwrap();
    assert_eq!(charts.len(), 1, "two points are no chart");
    assert_eq!(charts[0]["item"], "home targets");
    assert_eq!(charts[0]["p50"], serde_json::json!([1.0, 2.0, 4.0, 8.0, 16.0]));
    assert_eq!(charts[0]["x"][0], 0.5);
}

#[test]
fn arms_that_differ_in_a_number_share_a_chart_of_it() {
    let mut run = example::record();
    let arm = run.summary.arms[0].clone();
    run.summary.arms.clear();
    for (targets, validity) in [
        (1_000.0, Validity::Valid),
        (10.0, Validity::Valid),
        (100.0, Validity::Valid),
        (9_999.0, Validity::Invalid),
        (10.0, Validity::Valid),
    ] {
        let mut arm = arm.clone();
        let range = record::summary::ItemRange {
            from: 1.0,
            below: 16_384.0,
            count: 100,
            p50_ns: targets as u64 * 1_000_000,
            p95_ns: targets as u64 * 2_000_000,
        };
        let item = record::summary::Item {
            sum: targets * 100.0,
            per_operation_mean: targets,
            ranges: vec![range],
        };
        arm.trials[0].validity = validity;
        arm.trials[0].operations[0].items.insert("targets".into(), item);
        run.summary.arms.push(arm);
    }
    let chart = &data_of(&run)["against"][0];
    assert_eq!(chart["x"], serde_json::json!([10.0, 10.0, 100.0, 1_000.0, 9_999.0]));
    assert_eq!(chart["p95"], serde_json::json!([20.0, 20.0, 200.0, 2_000.0, 19_998.0]));
    assert_eq!(chart["valid"], serde_json::json!([true, true, true, true, false]));
    run.summary.arms.truncate(2);
    assert_eq!(data_of(&run)["against"], serde_json::json!([]), "two points are no chart");
}

#[test]
fn sizes_of_a_closed_load_are_a_chart_without_scripts() {
    let mut run = example::record();
    let point = |(concurrency, goodput): (u32, f64)| record::summary::ScalingPoint {
        concurrency,
        trials: 2,
        goodput,
        least: goodput - 10.0,
        greatest: goodput,
        service_mean_ns: 1_000_000,
        generator_bound: false,
        crowded: false,
    };
    let law = record::summary::Scalability {
        sigma: 1.0,
        sigma_low: 0.9,
        sigma_high: 1.0,
        kappa: 0.0,
        kappa_low: 0.0,
        kappa_high: 0.0,
        lambda: 500.0,
        peak: None,
    };
    run.summary.scalings = vec![record::summary::Scaling {
        factor: "connections".to_owned(),
        stratum: [("path".to_owned(), "<front>".into())].into(),
        actors: "connections".to_owned(),
        points: [(1, 100.0), (2, 200.0), (4, 400.0), (16, 1_000.0)].map(point).into(),
        law: Some(law),
    }];
    let page = render(&run).unwrap();
    assert_well_formed(&page);
    assert!(page.contains("Throughput against connections, path = &lt;front&gt;"));
    // From 2 to 98 % by the logarithm, and 1,000 of 1,080 up. With a serial share of 1 the law is flat, at 500.
    for place in
        ["left:2.0%;bottom:9.26%\"", "left:26.0%;", "left:50.0%;", "left:98.0%;bottom:92.59%\""]
    {
        assert!(page.contains(place), "{place}");
    }
    assert!(page.contains("points=\"2,53.7 3.6,53.7 "), "the line of the law");
    assert!(page.contains("serial share 100 % (90.0 % – 100 %)"));
    run.summary.scalings[0].points.pop();
    assert!(
        !render(&run).unwrap().contains("<section class=\"sizes\">"),
        "three sizes are no course"
    );
}

#[test]
fn a_replay_has_the_curve_of_its_burstiness() {
    use record::summary::{Burstiness, Replay, ReplayScale};
    const MS: u64 = 1_000_000;
    let scale = |(ms, recorded, replayed): (u64, f64, f64)| ReplayScale {
        scale_ns: ms * MS,
        intervals: 20_000 / ms,
        recorded,
        replayed,
        change: (replayed - recorded) / recorded.max(1.0),
        low: -0.5,
        high: -0.25,
        burstiness: Burstiness::Flattened,
    };
    let mut run = example::record();
    let trial = &mut run.summary.arms[0].trials[0];
    trial.replay = Some(Replay {
        resolution_ns: Some(1_000 * MS),
        bin_ns: 10 * MS,
        burstiness: Burstiness::Flattened,
        scales: [(10, 1.0, 0.0), (100, 1.0, 0.7), (1_000, 10.0, 5.0)].map(scale).into(),
    });
    let page = render(&run).unwrap();
    assert_well_formed(&page);
    // From 0.01 to 10 on a logarithmic axis, and from 10 ms to 1 s.
    for place in [
        "points=\"2,33.33 50,33.33 98,0\"",
        "class=\"point\" style=\"left:2.0%;bottom:0.0%\" title=\"10ms: recorded 1.00, replayed 0\"",
        "class=\"poisson\" style=\"bottom:66.67%\"",
        "class=\"model\" style=\"right:50.0%\"",
    ] {
        assert!(page.contains(place), "{place}");
    }
    let sections = outline::sections(&run.summary);
    let table = sections.iter().flat_map(|one| &one.tables).find(|one| one.id == "burstiness");
    let table = table.unwrap();
    assert_eq!(
        table.rows[2],
        ["1s", "20", "10.0", "5.00", "−50.0 %", "−50.0 % to −25.0 %", "flatter", "log"]
    );
    assert_eq!(table.rows[1][7], "model");
    let note = table.note.as_deref().unwrap();
    assert!(note.starts_with("The replay is flatter than the log at 10ms, 100ms, 1s."), "{note}");
    assert!(note.contains("stamps of 1s"), "{note}");
    run.summary.arms[0].trials[0].replay.as_mut().unwrap().scales.pop();
    assert!(!render(&run).unwrap().contains("sizes curve"), "two scales are no curve");
}
