use stats::{COARSE, FINE};

use super::*;
use crate::event::{EventKind, Phase, WindowCounts};
use crate::{FailureKind, Layout, OperationWindow, RawSample, Status, Totals, Window, WindowSpan};

fn layout() -> Layout {
    Layout {
        operations: vec!["get.v2".into(), "put".into()],
        items: vec![vec![], vec!["recipients".into()]],
        spans: vec![],
        journeys: Vec::new(),
    }
}

fn header(samples: bool) -> TrialHeader {
    TrialHeader {
        trial: 1,
        start_ms: 1_700_000_000_000,
        window_ns: 100_000_000,
        layout: layout(),
        samples,
    }
}

fn filled(grouping_power: u32, values: &[u64]) -> stats::Histogram {
    let mut histogram = stats::Histogram::new(grouping_power);
    values.iter().for_each(|&value| histogram.record(value));
    histogram
}

fn window(number: u64, values: &[u64]) -> Window {
    let operation = OperationWindow {
        planned: values.len() as u64,
        succeeded: values.len() as u64,
        response_time: Some(filled(COARSE, values)),
        ..OperationWindow::default()
    };
    Window { number, operations: vec![operation, OperationWindow::default()], ..Window::default() }
}

fn event(at_ns: i64, kind: EventKind) -> crate::event::Event {
    crate::event::Event { at_ns, kind }
}

fn sample(failure: Option<FailureKind>, abandoned: bool) -> RawSample {
    RawSample {
        operation: 1,
        index: 7,
        instants: [-5, 0, 10, 20, 300],
        status: 503.into(),
        failure,
        abandoned,
        bytes_sent: 100,
        bytes_received: 2_000,
        connect_ns: None,
        first_byte_ns: Some(250),
    }
}

#[test]
fn a_run_that_goes_on_can_be_read() {
    let folder = MemoryFolder::default();
    let mut writer = TrialWriter::new(&folder, header(false)).unwrap();
    let reader = RunReader::new(&folder);
    assert_eq!(reader.windows(1).unwrap().count(), 0);
    writer.window(&window(0, &[1_000])).unwrap();
    writer.window(&window(3, &[5, 6])).unwrap();
    writer.event(&event(0, EventKind::PhaseEntered { phase: Phase::Measure })).unwrap();
    let windows: Vec<WindowQuantity> = reader.windows(1).unwrap().map(Result::unwrap).collect();
    assert_eq!(windows.len(), 2);
    assert_eq!(
        (windows[1].operation.as_str(), windows[1].span),
        ("get.v2", WindowSpan::ResponseTime)
    );
    assert_eq!((windows[1].start_ns, windows[1].length_ns), (300_000_000, 100_000_000));
    assert!(windows[1].histogram.buckets().eq(filled(COARSE, &[5, 6]).buckets()));
    assert_eq!(reader.events(1).unwrap().count(), 1);
    assert_eq!((reader.trials(), reader.samples(1, &[]).unwrap().is_none()), (vec![1], true));
    assert!(
        matches!(reader.summary(), Err(crate::RecordError::Io { file, .. }) if file == "summary.json")
    );
}

#[test]
fn the_log_begins_when_the_trial_is_dated() {
    let folder = MemoryFolder::default();
    let mut writer = TrialWriter::new(&folder, header(false)).unwrap();
    writer.date(1_700_000_005_250).unwrap();
    writer.window(&window(0, &[1_000])).unwrap();
    let log = String::from_utf8(folder.content(&names::windows(1)).unwrap()).unwrap();
    assert!(log.contains("#[StartTime: 1700000005.250 "), "{log}");
    assert_eq!(log.matches("#[StartTime").count(), 1, "{log}");
    assert_eq!(RunReader::new(&folder).windows(1).unwrap().count(), 1);
}

#[test]
fn a_trial_that_is_begun_again_has_no_facts_of_before() {
    let folder = MemoryFolder::default();
    folder.create(&names::facts(1)).unwrap().write_all(b"{\"index\":1}").unwrap();
    TrialWriter::new(&folder, header(false)).unwrap();
    assert_eq!(folder.content(&names::facts(1)), Some(Vec::new()));
    assert!(RunReader::new(&folder).facts(1).is_err() && RunReader::new(&folder).has_begun(1));
}

#[test]
fn a_finished_trial_has_every_file_of_the_contract() {
    let folder = MemoryFolder::default();
    let writer = TrialWriter::new(&folder, header(true)).unwrap();
    let mut totals = Totals::new(&layout());
    totals.operations[0].response_time = filled(FINE, &[1_000_000, 2_000_000]);
    totals.operations[1].response_time = filled(FINE, &[9_000_000]);
    totals.operations[1].items[0].response_time.insert(4, filled(COARSE, &[9_000_000]));
    writer.finish(&totals).unwrap();
    let names = [
        "all.hgrm",
        "events.jsonl",
        "get.v2.hgrm",
        "put.hgrm",
        "put.recipients.hlog",
        "samples.csv",
        "windows.hlog",
    ];
    assert_eq!(folder.names(), names.map(|name| format!("trials/001/{name}")));
    let reader = RunReader::new(&folder);
    let all = reader.spectrum(1, names::ALL).unwrap();
    let put = reader.spectrum(1, "put").unwrap();
    assert_eq!((all.last().unwrap().cumulative, put.last().unwrap().cumulative), (3, 1));
    let item = reader.item(1, "put", "recipients").unwrap();
    assert_eq!((item.len(), item[0].0, item[0].1.count()), (1, 4, 1));
}

#[test]
fn samples_come_back_as_they_were() {
    let folder = MemoryFolder::default();
    let mut writer = TrialWriter::new(&folder, header(true)).unwrap();
    let named = RawSample { status: Status::named(b"WRONGTYPE"), ..sample(None, false) };
    let failed = sample(Some(FailureKind::Status), false);
    let samples = [sample(None, false), failed, sample(None, true), named];
    writer.samples(&samples).unwrap();
    let read: Vec<_> = RunReader::new(&folder)
        .samples(1, &layout().operations)
        .unwrap()
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(read, samples);
    let text = String::from_utf8(folder.content("trials/001/samples.csv").unwrap()).unwrap();
    assert_eq!(text.lines().nth(2), Some("put,7,-5,0,10,20,300,status,503,100,2000,,250"));
}

#[test]
fn the_half_of_a_line_is_not_a_line() {
    let folder = MemoryFolder::default();
    let mut writer = TrialWriter::new(&folder, header(true)).unwrap();
    writer.samples(&[sample(None, false)]).unwrap();
    writer.event(&event(-1, EventKind::Interrupted)).unwrap();
    for path in [names::samples(1), names::events(1)] {
        let content = folder.content(&path).unwrap();
        folder.create(&path).unwrap().write_all(&content[..content.len() - 2]).unwrap();
    }
    let reader = RunReader::new(&folder);
    assert_eq!(reader.samples(1, &layout().operations).unwrap().unwrap().count(), 0);
    assert_eq!(reader.events(1).unwrap().count(), 0);
}

#[test]
fn events_are_objects_with_their_kind() {
    let folder = MemoryFolder::default();
    let mut writer = TrialWriter::new(&folder, header(false)).unwrap();
    let events = [
        event(-5, EventKind::ProcessReady { name: "truth".into(), pids: vec![4, 5] }),
        event(
            9,
            EventKind::WindowClosed(WindowCounts {
                window: 3,
                planned: 2,
                ..WindowCounts::default()
            }),
        ),
        event(10, EventKind::Progress(crate::event::Progress { started: 7, ..Default::default() })),
    ];
    events.iter().for_each(|event| writer.event(event).unwrap());
    let read: Vec<_> = RunReader::new(&folder).events(1).unwrap().map(Result::unwrap).collect();
    assert_eq!(read, events);
    let text = String::from_utf8(folder.content("trials/001/events.jsonl").unwrap()).unwrap();
    assert_eq!(
        text.lines().next(),
        Some(r#"{"at_ns":-5,"event":"process_ready","name":"truth","pids":[4,5]}"#)
    );
}

#[test]
fn a_wrong_sample_is_named_with_its_line() {
    let folder = MemoryFolder::default();
    folder.create("trials/001/samples.csv").unwrap().write_all(b"put,1,2\n").unwrap();
    let error = RunReader::new(&folder)
        .samples(1, &layout().operations)
        .unwrap()
        .unwrap()
        .next()
        .unwrap()
        .unwrap_err();
    assert_eq!(error.to_string(), "trials/001/samples.csv, line 1: expected 13 columns, got 3");
}

#[test]
fn tags_name_operation_and_span() {
    assert_eq!(names::parse_tag("a.b.service_time"), Some(("a.b", WindowSpan::ServiceTime)));
    assert_eq!((names::parse_tag("a.b"), names::parse_tag("service_time")), (None, None));
    assert_eq!(
        (names::parse_item_tag(&names::item_tag(12)), names::parse_item_tag("x")),
        (Some(12), None)
    );
}

#[test]
fn stored_windows_come_back_with_counts_and_histograms() {
    let folder = MemoryFolder::default();
    let mut writer = TrialWriter::new(&folder, header(false)).unwrap();
    let mut stored = window(2, &[7, 9]);
    stored.operations[0].planned = 4;
    stored.operations[0].succeeded = 2;
    stored.operations[0].failed = vec![(FailureKind::Timeout, 1)];
    stored.operations[1].missed = 1;
    writer.window(&stored).unwrap();
    writer.event(&event(0, EventKind::WindowClosed(stored.counts()))).unwrap();
    let (mut numbers, mut counts, mut values) = (Vec::new(), 0, 0);
    RunReader::new(&folder)
        .visit_windows(1, &layout().names(), &mut |seen| {
            numbers.push(seen.number);
            counts += seen.operations[0].planned + seen.operations[1].missed;
            counts += seen.operations[0].failed.iter().map(|(_, count)| count).sum::<u64>();
            values += seen.operations[0].response_time.as_ref().map_or(0, |one| one.count());
        })
        .unwrap();
    assert_eq!((numbers, counts, values), (vec![2, 2], 6, 2));
}
