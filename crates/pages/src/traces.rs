//! Operations that are listed one by one, as JSON lines: the slowest of each trial, then all failures in its events.

use std::io::{self, Write};

use record::event::EventKind;
use record::folder::Folder;
use record::summary::ListedOperation;
use serde::Serialize;

use judge::run_record::RunRecord;

/// One line.
#[derive(Serialize)]
struct Line<'a> {
    trial: u32,
    arm: &'a str,
    /// `slowest` or `failed`.
    list: &'static str,
    #[serde(flatten)]
    operation: &'a ListedOperation,
    /// Where its trace is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

/// Format `traces`.
///
/// Errors: `NotFound` if the run was not traced
pub(super) fn write(run: &RunRecord, _: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    let mut trials = run.summary.arms.iter().flat_map(|arm| &arm.trials);
    if trials.all(|trial| trial.traces.is_none()) {
        let why = "the run was not traced: run it again with `--traceparent`";
        return Err(io::Error::new(io::ErrorKind::NotFound, why));
    }
    for arm in &run.summary.arms {
        for trial in &arm.trials {
            let Some(traces) = &trial.traces else { continue };
            let mut write = |list, operation: &ListedOperation| -> io::Result<()> {
                let template = run.summary.run.trace_url.as_deref();
                let id = operation.trace_id.map(|id| id.to_string());
                let url = template.zip(id).and_then(|(url, id)| plan::trace::link(url, &id));
                let line = Line { trial: trial.index, arm: &arm.name, list, operation, url };
                serde_json::to_writer(&mut *out, &line)?;
                writeln!(out)
            };
            for operation in &traces.slowest {
                write("slowest", operation)?;
            }
            let record = run.trials.iter().find(|record| record.index == trial.index);
            for event in record.iter().flat_map(|record| &record.events) {
                let EventKind::FailuresListed { failures } = &event.kind else { continue };
                for operation in failures {
                    write("failed", operation)?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use record::TraceId;
    use record::event::Event;
    use record::folder::MemoryFolder;
    use record::summary::Traces;
    use serde_json::Value;

    use super::*;
    use judge::example;

    fn listed(index: u64, trace: u128) -> ListedOperation {
        let trace_id = trace.try_into().ok().map(TraceId);
        ListedOperation { index, trace_id, ..ListedOperation::default() }
    }

    #[test]
    fn the_slowest_come_first_and_then_every_failure() {
        let mut record = example::record();
        record.summary.run.trace_url = Some("https://t.example/{trace_id}".to_owned());
        record.summary.arms[0].trials[0].traces =
            Some(Traces { slowest: vec![listed(3, 10), listed(1, 11)], ..Traces::default() });
        for failures in [vec![listed(5, 0)], vec![listed(6, 12), listed(7, 13)]] {
            let kind = EventKind::FailuresListed { failures };
            record.trials[0].events.push(Event { at_ns: 0, kind });
        }
        let mut out = Vec::new();
        write(&record, &MemoryFolder::default(), &mut out).expect("it was traced");
        let lines: Vec<Value> = String::from_utf8(out)
            .expect("text")
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let seen: Vec<_> = lines
            .iter()
            .map(|line| (line["list"].as_str().unwrap_or_default(), line["index"].as_u64()))
            .collect();
        let expected =
            [("slowest", 3), ("slowest", 1), ("failed", 5), ("failed", 6), ("failed", 7)];
        assert_eq!(seen, expected.map(|(list, index)| (list, Some(index))));
        assert_eq!(lines[0]["url"], format!("https://t.example/{:032x}", 10));
        assert_eq!((&lines[2]["url"], &lines[2]["trace_id"]), (&Value::Null, &Value::Null));
        assert_eq!(lines[0]["arm"], "all");
    }

    #[test]
    fn a_run_without_trace_ids_has_no_lists() {
        let written = write(&example::record(), &MemoryFolder::default(), &mut Vec::new());
        let error = written.expect_err("it was not traced").to_string();
        assert_eq!(error, "the run was not traced: run it again with `--traceparent`");
    }
}
