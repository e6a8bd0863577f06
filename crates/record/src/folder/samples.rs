//! Raw samples as a table, for `--samples`. Names have no commas, so that no cell needs quotes.

use std::io::{self, Read, Write};
use std::str::FromStr;

use crate::lines::Lines;
use crate::{FailureKind, RawSample, RecordError, Status};

const HEADER: &str = "operation,index,intended_ns,dispatched_ns,acquired_ns,started_ns,finished_ns,\
                      outcome,status,bytes_sent,bytes_received,connect_ns,first_byte_ns";
const SUCCEEDED: &str = "succeeded";
const ABANDONED: &str = "abandoned";

pub(super) fn write_header(writer: &mut dyn Write) -> io::Result<()> {
    writeln!(writer, "{HEADER}")
}

pub(super) fn write_sample(
    writer: &mut dyn Write,
    operation: &str,
    sample: &RawSample,
) -> io::Result<()> {
    let [intended, dispatched, acquired, started, finished] = sample.instants;
    let outcome = match sample.failure {
        Some(kind) => kind.name(),
        None if sample.abandoned => ABANDONED,
        None => SUCCEEDED,
    };
    let optional = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    writeln!(
        writer,
        "{operation},{},{intended},{dispatched},{acquired},{started},{finished},{outcome},{},{},{},{},{}",
        sample.index,
        sample.status,
        sample.bytes_sent,
        sample.bytes_received,
        optional(sample.connect_ns),
        optional(sample.first_byte_ns),
    )
}

/// Reads the samples of a trial line by line, in the order in which operations ended on each worker.
pub struct Samples {
    lines: Lines,
    operations: Vec<String>,
}

impl Samples {
    /// `operations`: the names that [`RawSample::operation`] refers to.
    pub(super) fn new(file: &str, reader: Box<dyn Read>, operations: &[String]) -> Self {
        Self { lines: Lines::new(file, reader), operations: operations.to_vec() }
    }
}

impl Iterator for Samples {
    type Item = Result<RawSample, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let operations = &self.operations;
        self.lines
            .next(|line| if line == HEADER { Ok(None) } else { parse(line, operations).map(Some) })
    }
}

fn parse(line: &str, operations: &[String]) -> Result<RawSample, String> {
    let columns: Vec<&str> = line.split(',').collect();
    let [
        operation,
        index,
        intended,
        dispatched,
        acquired,
        started,
        finished,
        outcome,
        status,
        sent,
        received,
        connect,
        first_byte,
    ] = columns[..]
    else {
        return Err(format!("expected 13 columns, got {}", columns.len()));
    };
    Ok(RawSample {
        operation: operations
            .iter()
            .position(|name| name == operation)
            .ok_or_else(|| format!("there is no operation {operation:?}"))?,
        index: number(index)?,
        instants: [
            number(intended)?,
            number(dispatched)?,
            number(acquired)?,
            number(started)?,
            number(finished)?,
        ],
        status: Status::parse(status).ok_or_else(|| format!("{status:?} is no status"))?,
        failure: failure(outcome)?,
        abandoned: outcome == ABANDONED,
        bytes_sent: number(sent)?,
        bytes_received: number(received)?,
        connect_ns: optional(connect)?,
        first_byte_ns: optional(first_byte)?,
    })
}

fn failure(outcome: &str) -> Result<Option<FailureKind>, String> {
    if outcome == SUCCEEDED || outcome == ABANDONED {
        return Ok(None);
    }
    let kind = FailureKind::ALL.iter().find(|kind| kind.name() == outcome);
    kind.map(|&kind| Some(kind)).ok_or_else(|| format!("there is no outcome {outcome:?}"))
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("expected a number, got {text:?}"))
}

fn optional(text: &str) -> Result<Option<u64>, String> {
    if text.is_empty() { Ok(None) } else { number(text).map(Some) }
}
