//! `replay` in the `[load]` table: a list of arrivals, as it was recorded or scaled.

use std::io::{BufRead, Read};
use std::path::Path;
use std::time::Duration;

use super::request::Inputs;
use super::stages::positive;
use crate::arrival_list::{ArrivalList, Listed, RowSource, Scratch};
use crate::diagnostic::Diagnostic;
use crate::document::Reader;
use crate::hash;
use crate::load::ArrivalProcess;
use crate::scale::{Scale, period};
use crate::units;

/// Most arrivals of a file, and of what it is scaled to: some 12 GB of a scratch file.
const MOST_ARRIVALS: u64 = 1_000_000_000;
/// Most bytes of a line.
const LONGEST_LINE: u64 = 64 << 10;
/// The column of rows.
const ROW: &str = "request";

/// Reads the keys of a replay; `None` without one, or if it cannot be read.
pub(super) fn read(reader: &mut Reader<'_>, inputs: &dyn Inputs) -> Option<ArrivalProcess> {
    let resolution = positive(reader, "resolution");
    let scale = scale(reader);
    let (file, span) = reader.string("replay")?;
    let scratch = || inputs.scratch().map_err(|error| format!("no scratch file: {error}"));
    let listed = || -> Result<ArrivalProcess, String> {
        let lines = inputs.open(Path::new(file));
        let lines = lines.map_err(|error| format!("cannot read {file}: {error}"))?;
        let of_file = |problem: String| format!("{file} {problem}");
        let Recorded { list, digest } = Recorded::keep(lines, scratch()?).map_err(of_file)?;
        let list = match scale {
            Some(scale) => scaled(&list, scale, resolution, scratch()?).map_err(of_file)?,
            None => list,
        };
        Ok(ArrivalProcess::Replay { list, file: file.into(), digest, scale, resolution })
    };
    match listed() {
        Ok(process) => Some(process),
        Err(message) => {
            reader.problem(Diagnostic::new(span, message, "named here"));
            None
        }
    }
}

/// `scale` and `shift`; `None` for the list as it is.
fn scale(reader: &mut Reader<'_>) -> Option<Scale> {
    let shift = positive(reader, "shift");
    let (factor, span) = reader.number("scale")?;
    if !(factor > 0.0 && factor <= Scale::MOST) {
        let message = format!("`scale` must be above 0 and at most {} (got {factor})", Scale::MOST);
        let label = "not a scale";
        reader.problem(Diagnostic::new(span, message, label));
        return None;
    }
    // With 1, which a factor may have, there is nothing to shift.
    if shift.is_some() && factor < 1.0 {
        let message = format!("`shift` needs a `scale` above 1 (got {factor})");
        reader.problem(Diagnostic::new(span, message, "nothing is shifted"));
    }
    (factor != 1.0).then_some(Scale { factor, shift })
}

/// The arrivals of a file as they are.
struct Recorded {
    list: ArrivalList,
    /// SHA-256 of instants and rows.
    digest: String,
}

impl Recorded {
    /// Keeps the arrivals of these lines in `file`.
    fn keep(lines: impl BufRead, file: Box<dyn Scratch>) -> Result<Self, String> {
        let lines = Lines::begin(lines)?;
        let rows = lines.column.map_or(RowSource::Turn, |_| RowSource::Column);
        let list = ArrivalList::write(lines, file, rows)?;
        if list.count() == 0 {
            return Err("holds no offset".to_owned());
        }
        let offsets = list.iter().map(|one| one.offset_ns.to_le_bytes());
        let offsets = hash::hex_of(list.count(), offsets);
        let digest = match rows {
            RowSource::Turn | RowSource::Place(_) => offsets,
            RowSource::Column => {
                let rows = list.iter().map(|one| one.row.to_le_bytes());
                hash::hex(&[offsets.as_bytes(), hash::hex_of(list.count(), rows).as_bytes()])
            }
        };
        Ok(Self { list, digest })
    }
}

/// The list at another rate, in `file`.
fn scaled(
    list: &ArrivalList,
    scale: Scale,
    resolution: Option<Duration>,
    file: Box<dyn Scratch>,
) -> Result<ArrivalList, String> {
    let count = list.count();
    if count as f64 * scale.factor > MOST_ARRIVALS as f64 {
        return Err(format!(
            "has {count} arrivals, of which `scale` makes more than {MOST_ARRIVALS}"
        ));
    }
    let scaled = scale.apply(list, period(list, resolution), file)?;
    if scaled.count() == 0 {
        Err("has no arrival left at this `scale`".to_owned())
    } else {
        Ok(scaled)
    }
}

/// The arrivals of a file, read line by line. There is one offset per line, in the first column. A header `offset_ns`,
/// `_us`, `_ms` or `_s` gives the unit of bare numbers; otherwise each number has its own unit. A column with the header
/// `request` has the row of each arrival, from 1.
struct Lines<R> {
    lines: R,
    line: Vec<u8>,
    /// Of the line that was read last.
    number: u64,
    unit: String,
    /// Place of the column of rows.
    column: Option<usize>,
    /// What the first line says where it is no header.
    first: Option<Listed>,
    before_ns: u64,
    count: u64,
}

impl<R: BufRead> Lines<R> {
    /// Reads the first line.
    fn begin(mut lines: R) -> Result<Self, String> {
        let mut line = Vec::new();
        read_line(&mut lines, &mut line).map_err(|problem| at(1, &problem))?;
        let (unit, column) = header(&line).map_err(|problem| at(1, &problem))?.unzip();
        let is_header = unit.is_some();
        let (unit, column) = (unit.unwrap_or_default(), column.flatten());
        let (first, before_ns, count) = (None, 0, 0);
        let mut this = Self { lines, line, number: 1, unit, column, first, before_ns, count };
        if !is_header {
            this.first = this.arrival().map_err(|problem| at(1, &problem))?;
        }
        Ok(this)
    }

    /// The arrival of the line that was read; none of an empty one.
    fn arrival(&mut self) -> Result<Option<Listed>, String> {
        let line = text(&self.line)?;
        let cell = line.split(',').next().unwrap_or_default().trim();
        if cell.is_empty() {
            return Ok(None);
        }
        let offset = units::duration_in(cell, &self.unit)
            .ok_or_else(|| format!("expected an offset such as 1.5ms, got \"{cell}\""))?;
        let offset_ns = crate::schedule::nanos(offset);
        if self.before_ns > offset_ns {
            return Err(format!("offsets must ascend, got \"{cell}\""));
        }
        if self.count == MOST_ARRIVALS {
            return Err(format!("there are more than {MOST_ARRIVALS} arrivals"));
        }
        let named = self.column.map(|column| line.split(',').nth(column).unwrap_or_default());
        let row = named.map_or(Ok(0), |cell| row(cell.trim()))?;
        (self.before_ns, self.count) = (offset_ns, self.count + 1);
        Ok(Some(Listed { offset_ns, row }))
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<Listed, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        loop {
            self.number += 1;
            let listed = match read_line(&mut self.lines, &mut self.line) {
                Ok(false) => return None,
                Ok(true) => self.arrival(),
                Err(problem) => Err(problem),
            };
            let listed = listed.map_err(|problem| at(self.number, &problem)).transpose();
            if listed.is_some() {
                return listed;
            }
        }
    }
}

fn at(line: u64, problem: &str) -> String {
    format!("line {line}: {problem}")
}

/// The unit and the place of the column of rows that a header gives; none of a line that is no header.
fn header(line: &[u8]) -> Result<Option<(String, Option<usize>)>, String> {
    let line = text(line)?;
    let cell = line.split(',').next().unwrap_or_default().trim();
    let Some(unit) = units::of_column(cell, "offset_") else { return Ok(None) };
    let column = line.split(',').position(|name| name.trim() == ROW);
    Ok(Some((unit?.to_owned(), column)))
}

/// Reads the next line; false at the end of the file.
fn read_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, String> {
    line.clear();
    let read = lines.by_ref().take(LONGEST_LINE).read_until(b'\n', line);
    match read.map_err(|error| error.to_string())? as u64 {
        LONGEST_LINE => Err(format!("it is longer than {LONGEST_LINE} bytes")),
        bytes => Ok(bytes > 0),
    }
}

fn text(line: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())
}

/// The row that this number means.
fn row(cell: &str) -> Result<u32, String> {
    let number = cell.parse::<u32>().ok().and_then(|number| number.checked_sub(1));
    number.ok_or_else(|| format!("expected the number of a request, from 1, got \"{cell}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<Recorded, String> {
        Recorded::keep(text, Box::new(Vec::new()))
    }

    #[test]
    fn lines_are_read_one_by_one() {
        let list = read(&b"offset_us,x,request\r\n1,a,3\r\n\n2.5,b,1"[..]).unwrap().list;
        let of = |offset_ns, row| Listed { offset_ns, row };
        assert_eq!(list.iter().collect::<Vec<_>>(), [of(1000, 2), of(2500, 0)]);
        assert_eq!(list.rows(), RowSource::Column);
        assert_eq!(read(b"\n1ms\n1ms\n").unwrap().list, [1_000_000; 2].into_iter().collect());
        let problem = |bytes: &[u8]| read(bytes).err().unwrap_or_default();
        let long = "1".repeat(70_000);
        assert_eq!(problem(long.as_bytes()), "line 1: it is longer than 65536 bytes");
        assert_eq!(problem(b"1ms\n\xff"), "line 2: it is not UTF-8");
        assert_eq!(problem(b"2ms\n1ms"), "line 2: offsets must ascend, got \"1ms\"");
        assert_eq!(problem(b"2\n"), "line 1: expected an offset such as 1.5ms, got \"2\"");
        assert_eq!(
            problem(b"offset_ms,request\n2,0"),
            "line 2: expected the number of a request, from 1, got \"0\""
        );
        assert_eq!(
            (problem(b"\n"), problem(b"")),
            ("holds no offset".into(), "holds no offset".into())
        );
    }

    #[test]
    fn the_digest_is_that_of_the_bytes() {
        let bytes = [1_u64.to_le_bytes(), 2_u64.to_le_bytes()].concat();
        assert_eq!(read(b"offset_ns\n1\n2\n").unwrap().digest, hash::hex(&[&bytes]));
    }
}
