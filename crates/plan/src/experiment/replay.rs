//! `replay` in the `[load]` table: a list of arrivals, as it was recorded or scaled.

use std::io::{BufRead, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::request::Inputs;
use super::stages::positive;
use crate::diagnostic::Diagnostic;
use crate::document::Reader;
use crate::entries::Entries;
use crate::hash;
use crate::load::ArrivalProcess;
use crate::scale::{Scale, period};
use crate::units;

/// Most arrivals of a file: they are held in memory, in 12 bytes each, and in some 20 while it is read.
const MOST_ARRIVALS: usize = 50_000_000;
/// Most bytes of a line.
const LONGEST_LINE: u64 = 64 << 10;
/// The column of rows.
const ROW: &str = "request";

/// Reads the keys of a replay; `None` without one, or if it cannot be read.
pub(super) fn read(reader: &mut Reader<'_>, inputs: &dyn Inputs) -> Option<ArrivalProcess> {
    let resolution = positive(reader, "resolution");
    let scale = scale(reader);
    let (file, span) = reader.string("replay")?;
    let recorded = inputs
        .open(Path::new(file))
        .map_err(|error| format!("cannot read {file}: {error}"))
        .and_then(|lines| Recorded::parse(lines).map_err(|problem| format!("{file} {problem}")));
    let listed = recorded.and_then(|recorded| {
        let digest = recorded.digest();
        let (offsets_ns, entries) = recorded.scaled(scale, resolution)?;
        let file = file.into();
        Ok(ArrivalProcess::Replay { offsets_ns, entries, file, digest, scale, resolution })
    });
    match listed {
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

/// Instants, and which row each one has.
type Listed = (Arc<[u64]>, Option<Arc<Entries>>);

/// The arrivals of a file.
struct Recorded {
    /// Instants, ascending.
    offsets_ns: Vec<u64>,
    /// The row of each, from 0, if the file has them.
    rows: Option<Vec<u32>>,
}

impl Recorded {
    /// One offset per line, in the first column. A header `offset_ns`, `_us`, `_ms` or `_s` gives the unit of bare
    /// numbers; otherwise each number has its own unit. A column with the header `request` has the row of each arrival,
    /// from 1.
    fn parse(mut lines: impl BufRead) -> Result<Self, String> {
        let (mut unit, mut column) = (String::new(), None);
        let mut recorded = Self { offsets_ns: Vec::new(), rows: None };
        let (mut bytes, mut number) = (Vec::new(), 0_u64);
        loop {
            number += 1;
            let at = |problem: String| format!("line {number}: {problem}");
            let Some(line) = next_line(&mut lines, &mut bytes).map_err(at)? else { break };
            let cell = line.split(',').next().unwrap_or_default().trim();
            if cell.is_empty() {
                continue;
            }
            if let (1, Some(named)) = (number, units::of_column(cell, "offset_")) {
                named.map_err(at)?.clone_into(&mut unit);
                column = line.split(',').position(|name| name.trim() == ROW);
                recorded.rows = column.map(|_| Vec::new());
                continue;
            }
            recorded.add_offset(cell, &unit).map_err(at)?;
            if let (Some(column), Some(rows)) = (column, &mut recorded.rows) {
                let cell = line.split(',').nth(column).unwrap_or_default().trim();
                rows.push(row(cell).map_err(at)?);
            }
        }
        recorded.rows.iter_mut().for_each(Vec::shrink_to_fit);
        if recorded.offsets_ns.is_empty() {
            Err("holds no offset".to_owned())
        } else {
            Ok(recorded)
        }
    }

    fn add_offset(&mut self, cell: &str, unit: &str) -> Result<(), String> {
        let offset = units::duration_in(cell, unit)
            .ok_or_else(|| format!("expected an offset such as 1.5ms, got \"{cell}\""))?;
        let offset = crate::schedule::nanos(offset);
        if self.offsets_ns.last().is_some_and(|before| *before > offset) {
            return Err(format!("offsets must ascend, got \"{cell}\""));
        }
        if self.offsets_ns.len() == MOST_ARRIVALS {
            return Err(format!("there are more than {MOST_ARRIVALS} arrivals"));
        }
        self.offsets_ns.push(offset);
        Ok(())
    }

    /// SHA-256 of instants and rows.
    fn digest(&self) -> String {
        let offsets = hash::hex_of(self.offsets_ns.iter().map(|at| at.to_le_bytes()));
        let Some(rows) = &self.rows else { return offsets };
        let rows = hash::hex_of(rows.iter().map(|row| row.to_le_bytes()));
        hash::hex(&[offsets.as_bytes(), rows.as_bytes()])
    }

    fn scaled(self, scale: Option<Scale>, resolution: Option<Duration>) -> Result<Listed, String> {
        let Self { offsets_ns, rows } = self;
        let Some(scale) = scale else {
            let entries = rows.map(|of| Arc::new(Entries::of_column(of)));
            return Ok((Arc::from(offsets_ns), entries));
        };
        if offsets_ns.len() as f64 * scale.factor > Scale::MOST_ARRIVALS {
            let (count, most) = (offsets_ns.len(), Scale::MOST_ARRIVALS);
            return Err(format!("has {count} arrivals, of which `scale` makes more than {most}"));
        }
        let mut scaled = scale.apply(&offsets_ns, period(&offsets_ns, resolution))?;
        if scaled.offsets_ns.is_empty() {
            return Err("has no arrival left at this `scale`".to_owned());
        }
        if let Some(rows) = rows {
            let of = scaled.entries.of.iter().map(|entry| rows[*entry as usize]);
            scaled.entries = Entries::of_column(of.collect());
        }
        Ok((Arc::from(scaled.offsets_ns), Some(Arc::new(scaled.entries))))
    }
}

/// The next line, without its end; none at the end of the file.
fn next_line<'b>(
    lines: &mut impl BufRead,
    bytes: &'b mut Vec<u8>,
) -> Result<Option<&'b str>, String> {
    bytes.clear();
    let read = lines.by_ref().take(LONGEST_LINE).read_until(b'\n', bytes);
    match read.map_err(|error| error.to_string())? as u64 {
        0 => Ok(None),
        LONGEST_LINE => Err(format!("it is longer than {LONGEST_LINE} bytes")),
        _ => std::str::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8".to_owned()),
    }
}

/// The row that this number means.
fn row(cell: &str) -> Result<u32, String> {
    let number = cell.parse::<u32>().ok().and_then(|number| number.checked_sub(1));
    number.ok_or_else(|| format!("expected the number of a request, from 1, got \"{cell}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_one_by_one() {
        let read = Recorded::parse(&b"offset_us,x,request\r\n1,a,3\r\n\n2.5,b,1"[..]).unwrap();
        assert_eq!((read.offsets_ns, read.rows), (vec![1000, 2500], Some(vec![2, 0])));
        let problem = |bytes: &[u8]| Recorded::parse(bytes).err().unwrap_or_default();
        let long = "1".repeat(70_000);
        assert_eq!(problem(long.as_bytes()), "line 1: it is longer than 65536 bytes");
        assert_eq!(problem(b"1ms\n\xff"), "line 2: it is not UTF-8");
        assert_eq!(problem(b"2ms\n1ms"), "line 2: offsets must ascend, got \"1ms\"");
        assert_eq!(problem(b"\n"), "holds no offset");
    }

    #[test]
    fn the_digest_is_that_of_the_bytes() {
        let read = Recorded { offsets_ns: vec![1, 2], rows: None };
        let bytes = [1_u64.to_le_bytes(), 2_u64.to_le_bytes()].concat();
        assert_eq!(read.digest(), hash::hex(&[&bytes]));
    }
}
