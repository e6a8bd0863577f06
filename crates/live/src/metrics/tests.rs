//! Metrics of runs whose windows are made here, as a scraper reads them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use plan::load::Model;
use plan::plan::Plan;
use record::event::{Event, EventKind, Phase};
use record::{FailureKind, OperationWindow};

use super::negotiation::Exposition;
use super::text::Form;
use super::*;
use crate::audience::{Missed, News};
use crate::tests::{measuring, part, plan, progress, window};

const MS: u64 = 1_000_000;

fn metrics() -> Metrics {
    Metrics::new(Duration::from_secs(1_764_000_000), Missed::default())
}

fn text(metrics: &Metrics, form: Form) -> String {
    String::from_utf8(Exposition::Text(form).of(metrics)).expect("text")
}

fn begun(plan: &Arc<Plan>) -> Metrics {
    let mut metrics = metrics();
    measuring(plan, &[]).iter().for_each(|news| metrics.take(news));
    metrics
}

/// The value of the series that begins so.
fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(series));
    let line = line.unwrap_or_else(|| panic!("no {series} in {text}"));
    line.rsplit_once(' ').and_then(|(_, value)| value.parse().ok()).expect("a number")
}

#[test]
fn a_scraper_reads_counters_histograms_and_where_the_run_is() {
    let mut metrics = begun(&plan(&[], &["home"]));
    let failing = OperationWindow {
        planned: 14,
        missed: 1,
        failed: vec![(FailureKind::Timeout, 3)],
        ..part(14, 10, 2 * MS)
    };
    metrics.take(&News::Window(window(0, vec![failing])));
    metrics.take(&progress(1, 7));
    let open = text(&metrics, Form::OpenMetrics);
    assert!(open.ends_with("\n# EOF\n"));
    for line in [
        "# TYPE proofload_operations_planned counter",
        "# TYPE proofload_operation_response_time_seconds histogram",
        "# UNIT proofload_operation_response_time_seconds seconds",
        "# UNIT proofload_dispatch_lag_seconds seconds",
        "proofload_operations_planned_total{arm=\"all\",operation=\"home\",run=\"20261124T1200Z-shop\"} 14",
        "proofload_operations_missed_total{arm=\"all\",operation=\"home\",run=\"20261124T1200Z-shop\"} 1",
        "proofload_operations_failed_total{arm=\"all\",kind=\"timeout\",operation=\"home\",run=\"20261124T1200Z-shop\"} 3",
        "proofload_operations_failed_total{arm=\"all\",kind=\"reset\",operation=\"home\",run=\"20261124T1200Z-shop\"} 0",
        "proofload_operation_response_time_seconds_bucket{arm=\"all\",operation=\"home\",run=\"20261124T1200Z-shop\",le=\"0.001\"} 0",
        "proofload_operation_response_time_seconds_bucket{arm=\"all\",operation=\"home\",run=\"20261124T1200Z-shop\",le=\"1.0\"} 10",
        "proofload_operation_response_time_seconds_bucket{arm=\"all\",operation=\"home\",run=\"20261124T1200Z-shop\",le=\"+Inf\"} 10",
        "proofload_operation_response_time_seconds_count{arm=\"all\",operation=\"home\",run=\"20261124T1200Z-shop\"} 10",
        "proofload_in_flight{arm=\"all\",run=\"20261124T1200Z-shop\"} 7",
        "proofload_phase{arm=\"all\",phase=\"measure\",run=\"20261124T1200Z-shop\"} 1",
        "proofload_phase{arm=\"all\",phase=\"drain\",run=\"20261124T1200Z-shop\"} 0",
    ] {
        assert!(open.lines().any(|own| own == line), "{line} is not in {open}");
    }
    assert!((value(&open, "proofload_operation_response_time_seconds_sum") - 0.02).abs() < 1e-9);
    assert!(!open.contains("quantile") && !open.contains("service_time"), "{open}");
    let classic = text(&metrics, Form::Classic);
    assert!(!classic.contains("# EOF") && !classic.contains("# UNIT"));
    assert!(classic.contains("# TYPE proofload_operations_planned_total counter"));
    assert!(classic.contains("le=\"1\"} 10"));
}

#[test]
fn counters_never_go_back_and_trials_of_an_arm_add_up() {
    let plan = plan(&[], &["home"]);
    let mut metrics = metrics();
    let mut before = 0.0;
    for _ in 0..3 {
        for news in measuring(&plan, &[]) {
            metrics.take(&news);
            // What is not complete does not count: it may still change.
            metrics.take(&News::Open(vec![window(1, vec![part(100, 40, MS)])], 0));
            let now = value(&text(&metrics, Form::Classic), "proofload_operations_planned_total");
            assert!(now >= before);
            before = now;
        }
        metrics.take(&News::Window(window(0, vec![part(100, 100, MS)])));
    }
    let text = text(&metrics, Form::Classic);
    assert_eq!(value(&text, "proofload_operations_planned_total"), 300.0);
    assert_eq!(value(&text, "proofload_operation_response_time_seconds_count"), 300.0);
}

#[test]
fn both_arms_of_a_duet_are_counted_apart() {
    let mut plan = Plan::clone(&plan(&[], &["home"]));
    let mut other = plan.arms[0].clone();
    other.name = "other \"one\"\\\n".to_owned();
    other.load.model = Model::Closed;
    plan.arms.push(other);
    let mut metrics = begun(&Arc::new(plan));
    metrics.take(&News::Window(window(0, vec![part(100, 100, MS)])));
    let mut closed = part(50, 50, MS);
    closed.service_time = closed.response_time.clone();
    metrics.take(&News::Beside(1, Box::new(News::Window(window(0, vec![closed])))));
    let kind = EventKind::PhaseEntered { phase: Phase::Drain };
    metrics.take(&News::Beside(1, Box::new(News::Event(Event { at_ns: 0, kind }))));
    let text = text(&metrics, Form::OpenMetrics);
    assert_eq!(value(&text, "proofload_operations_planned_total{arm=\"all\""), 100.0);
    let arm = r#"arm="other \"one\"\\\n""#;
    assert_eq!(value(&text, &format!("proofload_operations_planned_total{{{arm}")), 50.0);
    assert_eq!(
        value(&text, &format!("proofload_operation_service_time_seconds_count{{{arm}")),
        50.0
    );
    assert_eq!(value(&text, &format!("proofload_phase{{{arm},phase=\"drain\"")), 1.0);
    assert_eq!(value(&text, "proofload_phase{arm=\"all\",phase=\"measure\""), 1.0);
}

#[test]
fn nothing_is_there_before_a_run_and_missed_news_are_counted() {
    assert_eq!(text(&metrics(), Form::OpenMetrics), "# EOF\n");
    let missed = Missed::default();
    let mut metrics = Metrics::new(Duration::ZERO, Arc::clone(&missed));
    measuring(&plan(&[], &["home"]), &[]).iter().for_each(|news| metrics.take(news));
    missed.store(3, Ordering::Relaxed);
    assert_eq!(value(&text(&metrics, Form::Classic), "proofload_missed_news_total"), 3.0);
}
