use record::event::{Event, EventKind};
use record::folder::{Folder, MemoryFolder, TrialHeader, TrialWriter, names};
use record::{FailureKind, Layout, OperationWindow, Totals};

use super::*;
use crate::example;

fn histogram(values: &[u64]) -> Option<Histogram> {
    let mut histogram = Histogram::new(COARSE);
    values.iter().for_each(|&value| histogram.record(value));
    Some(histogram)
}

fn window(number: u64) -> Window {
    let part = |planned: u64, values: &[u64], failed: Vec<_>| OperationWindow {
        planned,
        succeeded: values.len() as u64,
        failed,
        missed: 0,
        response_time: histogram(values),
        ..OperationWindow::default()
    };
    let home = part(3, &[1_000_000, 2_000_000], vec![(FailureKind::Reset, 1)]);
    Window {
        number,
        operations: vec![home, part(1, &[90_000_000], Vec::new())],
        ..Window::default()
    }
}

/// A folder as the engine and the binary write it, with two windows.
fn stored() -> MemoryFolder {
    let folder = MemoryFolder::default();
    let layout = Layout {
        operations: vec!["home".into(), "search".into()],
        items: vec![Vec::new(); 2],
        spans: Vec::new(),
        journeys: Vec::new(),
    };
    let mut totals = Totals::new(&layout);
    totals.operations[0].response_time.record(1_000_000);
    totals.operations[1].response_time.record(90_000_000);
    let window_ns = 1_000_000_000;
    let header = TrialHeader { trial: 1, start_ms: 0, window_ns, layout, samples: false };
    let mut writer = TrialWriter::new(&folder, header).unwrap();
    for number in 0..2 {
        let window = window(number);
        writer.window(&window).unwrap();
        let kind = EventKind::WindowClosed(window.counts());
        writer.event(&Event { at_ns: 0, kind }).unwrap();
    }
    writer.event(&Event { at_ns: 5, kind: EventKind::Interrupted }).unwrap();
    writer.finish(&totals).unwrap();
    for (name, text) in [
        (names::SUMMARY, serde_json::to_vec(&example::summary()).unwrap()),
        (names::PLAN, b"{}".to_vec()),
    ] {
        folder.create(name).unwrap().write_all(&text).unwrap();
    }
    folder
}

#[test]
fn a_run_comes_back_from_its_folder() {
    let folder = stored();
    let run = RunRecord::read(&RunReader::new(&folder)).unwrap();
    assert_eq!(run.summary, example::summary());
    let trial = &run.trials[0];
    assert_eq!(
        trial.events.iter().map(|event| &event.kind).collect::<Vec<_>>(),
        [&EventKind::Interrupted]
    );
    assert_eq!(trial.spectra.keys().collect::<Vec<_>>(), ["all", "home", "search"]);
    let names: Vec<_> = trial.windows.iter().map(|row| row.operation.as_str()).collect();
    assert_eq!(names, ["home", "search", "all", "home", "search", "all"]);
}

#[test]
fn the_row_of_all_operations_has_their_counts_and_their_merged_times() {
    let folder = stored();
    let run = RunRecord::read(&RunReader::new(&folder)).unwrap();
    let all = &run.trials[0].windows[5];
    assert_eq!((all.window, all.planned, all.succeeded, all.failed_total()), (1, 4, 3, 1));
    let times = all.response_time.unwrap();
    assert_eq!(times.count, 3);
    assert!((1_990_000..2_010_000).contains(&times.p50_ns), "{times:?}");
    assert!((89_000_000..91_000_000).contains(&times.max_ns), "{times:?}");
    assert_eq!(all.service_time, None);
}

#[test]
fn a_run_without_a_summary_is_an_error() {
    assert!(RunRecord::read(&RunReader::new(&MemoryFolder::default())).is_err());
}
