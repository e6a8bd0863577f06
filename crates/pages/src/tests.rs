use std::io::{self, Read, Write};

use record::event::{Event, EventKind};
use record::folder::{Folder, MemoryFolder, TrialHeader, TrialWriter, names};
use record::summary::{
    Finding, Grade, Judgement, ListedOperation, Model, Severity, Summary, Traces, Validity,
};
use record::{FailureKind, Layout, OperationWindow, RawSample, Totals, Window};

use super::*;
use judge::example;

mod capacity;
mod compared;
mod journeys;

/// A run folder with an interval log, spectra, and two samples.
fn folder() -> MemoryFolder {
    let folder = MemoryFolder::default();
    let layout = Layout {
        operations: vec!["home".into(), "search".into()],
        items: vec![Vec::new(); 2],
        spans: Vec::new(),
        journeys: Vec::new(),
    };
    let totals = Totals::new(&layout);
    let header = TrialHeader {
        trial: 1,
        start_ms: 1_795_246_210_000,
        window_ns: 1_000_000_000,
        layout,
        samples: true,
    };
    let mut writer = TrialWriter::new(&folder, header).unwrap();
    writer.samples(&[sample(0, None), sample(1, Some(FailureKind::Timeout))]).unwrap();
    writer.finish(&totals).unwrap();
    folder
}

fn sample(index: u64, failure: Option<FailureKind>) -> RawSample {
    RawSample {
        operation: 1,
        index,
        instants: [2_000_000, 2_010_000, 2_011_000, 2_012_000, 9_500_000],
        status: if failure == Some(FailureKind::Timeout) { 0.into() } else { 200.into() },
        failure,
        abandoned: false,
        bytes_sent: 96,
        bytes_received: 2_312,
        connect_ns: None,
        first_byte_ns: Some(6_000_000),
    }
}

fn written(format: &str) -> String {
    let mut out = Vec::new();
    let mut record = example::record();
    if format == "traces" {
        record.summary.arms[0].trials[0].traces = Some(traced());
    }
    Format::named(format).unwrap().write(&record, &folder(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn traced() -> Traces {
    Traces { slowest: vec![ListedOperation::default()], ..Traces::default() }
}

/// The same load, closed, with an unsupported quantile and no criterion.
fn closed() -> Summary {
    let mut summary = example::summary();
    summary.criteria.clear();
    summary.verdict.reasons = vec!["no criterion was set, so nothing was judged".into()];
    let trial = &mut summary.arms[0].trials[0];
    trial.load.model = Model::Closed;
    trial.load.arrivals = None;
    trial.load.connections = 50;
    summary
}

#[test]
fn terminal_says_everything_in_100_columns() {
    let page = terminal::full(&example::summary(), terminal::Colour::Off);
    for line in page.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    insta::assert_snapshot!(page);
}

#[test]
fn the_answer_stands_in_40_lines_of_80_columns() {
    let page = terminal::render(&example::summary(), terminal::Colour::Off);
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    // Below it the binary prints the address of the HTML page, and how to see every table.
    assert!(page.lines().count() + 2 <= terminal::LINES, "{page}");
    insta::assert_snapshot!(page);
}

#[test]
fn what_has_no_room_in_the_answer_is_named_and_errors_are_not_among_it() {
    let mut summary = example::summary();
    let finding = summary.findings[0].clone();
    for (place, severity) in
        [Severity::Error, Severity::Warning, Severity::Info, Severity::Info].into_iter().enumerate()
    {
        let code = format!("finding-{place}");
        let claim = "a claim of many words ".repeat(3);
        summary.findings.insert(place, Finding { code, claim, severity, ..finding.clone() });
    }
    summary.findings.extend((0..20).map(|_| Finding { code: "last".into(), ..finding.clone() }));
    let page = terminal::render(&summary, terminal::Colour::Off);
    assert!(page.lines().count() + 2 <= terminal::LINES, "{page}");
    assert!(page.contains("  error finding-0: a claim") && page.contains("\n  and "), "{page}");
    let whole = terminal::full(&summary, terminal::Colour::Off);
    assert_eq!(whole.matches("info last: ").count(), 1);
    assert!(whole.contains("info finding-3: ") && !whole.contains("\n  and "), "{whole}");
}

#[test]
fn findings_of_which_none_has_room_are_listed_without_and() {
    let mut summary = example::summary();
    let finding = summary.findings[0].clone();
    let claim = "a claim of many words ".repeat(80);
    let of = |code: &str| Finding {
        code: code.into(),
        claim: claim.clone(),
        severity: Severity::Warning,
        ..finding.clone()
    };
    summary.findings = vec![of("first"), of("second")];
    let page = terminal::render(&summary, terminal::Colour::Off);
    assert!(page.contains("says more)\n  2: first, second\n"), "{page}");
}

#[test]
fn colour_is_only_an_addition() {
    let summary = example::summary();
    let coloured = terminal::render(&summary, terminal::Colour::On);
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some(start) = rest.find("\x1b[") {
        let end = start + rest[start..].find('m').unwrap() + 1;
        plain.push_str(&rest[..start]);
        rest = &rest[end..];
    }
    plain.push_str(rest);
    assert_ne!(coloured, plain);
    assert_eq!(plain, terminal::render(&summary, terminal::Colour::Off));
}

#[test]
fn a_closed_load_never_speaks_of_response_time_at_a_rate() {
    let pages = [terminal::render(&closed(), terminal::Colour::Off), markdown::render(&closed())];
    for page in pages {
        assert!(!page.contains("Response time at"), "{page}");
        assert!(page.contains("Service time at 50 connections (closed load)"), "{page}");
    }
}

#[test]
fn a_run_without_criteria_is_not_called_a_pass() {
    let page = terminal::render(&closed(), terminal::Colour::Off);
    assert!(page.contains("MEASURED") && !page.contains("PASS"), "{page}");
}

#[test]
fn a_refused_quantile_is_only_observed() {
    let page = markdown::render(&example::summary());
    let table = page.split("### Response time at").nth(1).unwrap();
    let row = table.lines().find(|line| line.contains("| all | p99.99 |")).unwrap();
    let cells: Vec<_> = row.split('|').map(str::trim).collect();
    assert_eq!((cells[3], cells[4]), ("–", "–"));
    assert!(cells[5].ends_with(" ms") && cells[6].starts_with("about "), "{row}");
}

#[test]
fn markdown_is_ready_for_a_pull_request() {
    insta::assert_snapshot!(markdown::render(&example::summary()));
}

#[test]
fn the_verdict_stands_first_and_a_rehearsal_says_so() {
    let mut summary = example::summary();
    summary.rehearsal = true;
    summary.verdict.result = Judgement::Inconclusive;
    let page = markdown::render(&summary);
    let place = |text: &str| page.find(text).unwrap();
    assert!(place("Rehearsal") < place("**inconclusive**"));
    assert!(place("**inconclusive**") < place("## Criteria"));
}

#[test]
fn every_format_has_a_unique_name_and_can_be_written() {
    let names: std::collections::BTreeSet<_> = FORMATS.iter().map(|format| format.name).collect();
    assert_eq!(names.len(), FORMATS.len());
    for format in FORMATS {
        assert!(written(format.name).len() > 40, "{}", format.name);
    }
}

#[test]
fn json_is_the_summary() {
    let back: Summary = serde_json::from_str(&written("json")).unwrap();
    assert_eq!(back, example::summary());
}

#[test]
fn a_missing_file_is_an_error_and_no_empty_page() {
    let mut run = example::record();
    run.summary.arms[0].trials[0].operations[0].name = "gone".into();
    let error = Format::named("hgrm").unwrap().write(&run, &folder(), &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

/// The kind of error distinguishes it from an error of writing, which would blame stdout.
#[test]
fn a_file_that_cannot_be_read_is_an_error_of_the_folder() {
    struct Unreadable;
    impl Folder for Unreadable {
        fn open(&self, _: &str) -> io::Result<Box<dyn Read>> {
            Ok(Box::new(Self))
        }
        fn create(&self, _: &str) -> io::Result<Box<dyn Write + Send>> {
            Err(io::ErrorKind::Unsupported.into())
        }
        fn exists(&self, _: &str) -> bool {
            true
        }
    }
    impl Read for Unreadable {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::IsADirectory.into())
        }
    }
    for format in ["hgrm", "hlog"] {
        let format = Format::named(format).unwrap();
        let error = format.write(&example::record(), &Unreadable, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Other, "{error}");
        assert!(error.to_string().starts_with("trials/001/"), "{error}");
    }
}

#[test]
fn pages_hold_nothing_that_steers_a_terminal() {
    let mut run = example::record();
    let evil = "a\u{1b}[2J\u{202e}";
    run.summary.run.title = evil.into();
    run.summary.run.question = Some(evil.into());
    run.summary.arms.iter_mut().for_each(|arm| arm.name = evil.into());
    run.summary.criteria.iter_mut().for_each(|criterion| criterion.arm = evil.into());
    run.summary.findings.iter_mut().for_each(|finding| finding.claim = evil.into());
    for format in ["text", "markdown"] {
        let mut page = Vec::new();
        Format::named(format).unwrap().write(&run, &folder(), &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains("a\u{fffd}"), "{page}");
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "{page}");
    }
}

#[test]
fn csv_has_a_line_for_each_window_and_operation() {
    let text = written("csv");
    let mut lines = text.lines();
    let columns = lines.next().unwrap().split(',').count();
    assert!(lines.clone().all(|line| line.split(',').count() == columns));
    assert_eq!(lines.count(), 40 * 3);
}

#[test]
fn jtl_counts_from_the_intended_start_by_the_calendar() {
    let text = written("jtl");
    let line = text.lines().nth(1).unwrap();
    // The trial began at 07:30:05 and warmed up for 5 s.
    assert_eq!(line, "1795246210002,7,search,200,OK,proofload 1-1,text,true,,2312,96,1,1,,6,0,0");
    assert!(text.lines().nth(2).unwrap().contains(",timeout,proofload 1-1,text,false,timeout,"));
}

#[test]
fn vegeta_csv_has_twelve_fields_and_no_header() {
    let text = written("vegeta-csv");
    assert_eq!(
        text.lines().next().unwrap(),
        "1795246210002000000,200,7500000,96,2312,,,Shop at 500 requests/s,0,,,"
    );
    assert!(text.lines().all(|line| line.split(',').count() == 12));
}

#[test]
fn vegeta_json_has_the_keys_of_vegeta() {
    let report: serde_json::Value = serde_json::from_str(&written("vegeta-json")).unwrap();
    let summary = example::summary();
    let total = &summary.arms[0].trials[0].total;
    assert_eq!(report["requests"], 20_000);
    assert_eq!(report["latencies"]["99th"], total.response_time.quantiles[4].observed_ns.unwrap());
    assert_eq!(report["status_codes"]["0"], total.failed);
    assert_eq!(report["earliest"], "2026-11-21T07:30:10Z");
    assert_eq!(report["end"], "2026-11-21T07:30:50.012Z");
    for key in ["bytes_in", "bytes_out", "rate", "throughput", "success", "wait", "errors"] {
        assert!(!report[key].is_null(), "{key}");
    }
}

#[test]
fn no_page_grades_the_target() {
    for format in ["text", "markdown", "html"] {
        let page = written(format).to_lowercase();
        let page = page.split("<script").next().unwrap();
        let mut words = page.split(|c: char| !c.is_alphabetic() && c != '-');
        let grading =
            ["excellent", "good", "production-ready", "great", "poor", "bad", "impressive"];
        assert_eq!(words.find(|word| grading.contains(word)), None, "{format}");
    }
}

#[test]
fn grades_of_the_example_cover_all_three() {
    let summary = example::summary();
    let grades: Vec<_> =
        summary.arms[0].trials[0].total.response_time.quantiles.iter().map(|q| q.grade).collect();
    assert!(grades.contains(&Grade::Supported) && grades.contains(&Grade::Refused));
}

#[test]
fn a_terminal_shows_a_line_for_each_of_many_trials() {
    let mut summary = example::summary();
    let trial = summary.arms[0].trials[0].clone();
    summary.arms[0].name = "path=front,connections=10".into();
    let validity = Validity::Noted;
    let again = |index| record::summary::TrialSummary { index, validity, ..trial.clone() };
    summary.arms[0].trials = (1..=20).map(again).collect();
    let page = terminal::full(&summary, terminal::Colour::Off);
    let widest = page.lines().max_by_key(|line| line.chars().count()).unwrap();
    assert!(widest.chars().count() <= 100, "{widest}");
    assert!(page.lines().count() < 60, "{page}");
    let lines = page.lines().filter(|line| line.contains("500/s  2.29 ms  37.1 ms")).count();
    assert_eq!(lines, 20, "{page}");
}

/// Four arms of three factors, whose names differ at their ends.
fn crossed() -> Summary {
    let mut summary = example::summary();
    let (arm, criterion) = (summary.arms[0].clone(), summary.criteria[0].clone());
    let factors = ["tls", "new_connections", "workload"];
    let factors = factors.map(|factor| (factor.to_owned(), true.into())).into();
    let works =
        ["burst_1k", "burst_10k", "high_volume", "of_a_name_that_is_longer_than_a_cell_may_be"];
    let named = |work: &str| format!("tls=starttls,new_connections=false,workload={work}");
    let made = works.map(|work| record::summary::Arm {
        name: named(work),
        factors: std::collections::BTreeMap::clone(&factors),
        values: Default::default(),
        ..arm.clone()
    });
    summary.arms = made.into();
    let judged =
        works.map(|work| record::summary::Criterion { arm: named(work), ..criterion.clone() });
    summary.criteria = judged.into();
    summary
}

#[test]
fn arms_of_several_factors_are_told_apart() {
    let summary = crossed();
    let mut shown = String::new();
    for table in [tables::run::criteria(&summary), tables::run::trials(&summary)] {
        let mut table = table.unwrap();
        table.note = None;
        terminal::push_table(&mut shown, &table);
        markdown::push_table(&mut shown, &table, 2);
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn a_terminal_shows_what_many_trials_share_once() {
    let mut summary = example::designed().summary;
    let finding = summary.findings[0].clone();
    let of = |trial| Finding { trial: Some(trial), ..finding.clone() };
    summary.findings = (1..=30).map(of).collect();
    let page = terminal::render(&summary, terminal::Colour::Off);
    assert_eq!(page.matches(&format!(" {}: ", finding.code)).count(), 1, "{page}");
    let words: Vec<&str> = page.split_whitespace().collect();
    assert!(words.join(" ").contains("(all 30 trials show it) →"), "{page}");
}

#[test]
fn response_time_against_an_item_is_a_table() {
    let mut summary = example::summary();
    let range = |from: f64, count| record::summary::ItemRange {
        from,
        below: from * 2.0,
        count,
        p50_ns: 2_000_000,
        p95_ns: 9_000_000,
    };
    let item = record::summary::Item {
        ranges: vec![range(8.0, 1_200), range(16.0, 30)],
        ..Default::default()
    };
    summary.arms[0].trials[0].operations[0].items.insert("hits".into(), item);
    let page = terminal::full(&summary, terminal::Colour::Off);
    let (_, below) = page.split_once("Response time against what answers carried").unwrap();
    let rows = below.lines().filter(|line| line.contains("9.00 ms"));
    let cells: Vec<Vec<&str>> = rows.map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(cells[0][2..], ["8.00", "16.0", "1,200", "2.00", "ms", "9.00", "ms"]);
    assert_eq!(cells[1][1..], ["16.0", "32.0", "30", "2.00", "ms", "9.00", "ms"]);
    assert!(markdown::render(&summary).contains("| 8.00 | 16.0 | 1,200 | 2.00 ms | 9.00 ms |"));
}

#[test]
fn a_killed_run_yields_its_closed_windows_and_nothing_that_was_judged() {
    let folder = MemoryFolder::default();
    let layout = Layout {
        operations: vec!["home".into()],
        items: vec![Vec::new()],
        spans: Vec::new(),
        journeys: Vec::new(),
    };
    let header =
        TrialHeader { trial: 1, start_ms: 0, window_ns: 1_000_000_000, layout, samples: false };
    let mut writer = TrialWriter::new(&folder, header).unwrap();
    let kind = EventKind::TrialStarted { trial: 1, arm: "only".into(), wall_clock: String::new() };
    writer.event(&Event { at_ns: 0, kind }).unwrap();
    for number in 0..3 {
        let mut histogram = stats::Histogram::new(stats::COARSE);
        histogram.record(2_000_000 + number);
        let part = OperationWindow {
            planned: 1,
            succeeded: 1,
            response_time: Some(histogram),
            ..OperationWindow::default()
        };
        let window = Window { number, operations: vec![part], ..Window::default() };
        writer.event(&Event { at_ns: 0, kind: EventKind::WindowClosed(window.counts()) }).unwrap();
        writer.window(&window).unwrap();
    }
    drop(writer);
    let plan = br#"{"arms":[{"name":"only","operations":[{"name":"home"}]}]}"#;
    folder.create(names::PLAN).unwrap().write_all(plan).unwrap();
    // The kill cut off the last line.
    let mut log = String::new();
    folder.open(&names::windows(1)).unwrap().read_to_string(&mut log).unwrap();
    let cut = &log[..log.len() - 10];
    folder.create(&names::windows(1)).unwrap().write_all(cut.as_bytes()).unwrap();

    let made = |format: &str| {
        let mut out = Vec::new();
        unfinished::write(format, &folder, &mut out).map(|()| String::from_utf8(out).unwrap())
    };
    let csv = made("csv").unwrap();
    assert_eq!(csv.lines().count(), 1 + 2 * 3, "each window with its operation and all: {csv}");
    assert!(csv.contains("1,only,1,1.0,home,1,1,0,0,1,"), "{csv}");
    assert_eq!(made("hlog").unwrap().matches("Tag=home.response_time").count(), 2);
    let spectrum = made("hgrm").unwrap();
    assert!(spectrum.contains("operation home"), "{spectrum}");
    assert!(spectrum.contains("Total count    =            2"), "{spectrum}");
    assert_eq!(made("text").unwrap_err().kind(), io::ErrorKind::Unsupported);
}

#[test]
fn what_the_target_says_of_its_own_time_stands_apart_and_outermost_first() {
    let mut summary = example::summary();
    let operation = &mut summary.arms[0].trials[0].operations[0];
    let first = operation.spans["first_byte"].clone();
    for (name, within) in [("gateway", None), ("embed", Some("gateway"))] {
        operation.spans.insert(name.to_owned(), first.clone());
        let within = within.map(str::to_owned);
        operation.parts.push(record::summary::Part { name: name.to_owned(), within });
    }
    let spans = |summary: &Summary| {
        let tables = tables::trial::all(&summary.arms[0].trials[0]);
        tables.into_iter().find(|table| table.id == "spans").unwrap()
    };
    let table = spans(&summary);
    let named: Vec<_> = table.rows.iter().map(|row| row[..3].join(" ")).collect();
    let home = [
        "home first byte instrument",
        "home gateway target",
        "home embed target",
        "search first byte instrument",
    ];
    assert_eq!(named, home);
    assert!(table.note.unwrap().contains("target itself reports"));
    assert_eq!(spans(&example::summary()).columns[2].title, "count", "where nobody tells");
}
