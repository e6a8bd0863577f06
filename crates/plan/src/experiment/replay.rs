//! `replay` in the `[load]` table: a list of arrivals, as it was recorded or scaled.

use std::sync::Arc;
use std::time::Duration;

use super::request::Inputs;
use super::stages::positive;
use crate::diagnostic::Diagnostic;
use crate::document::Reader;
use crate::hash;
use crate::load::ArrivalProcess;
use crate::scale::{Entries, Scale, period};
use crate::units;

/// The column of rows.
const ROW: &str = "request";

/// Reads the keys of a replay; `None` without one, or if it cannot be read.
pub(super) fn read(reader: &mut Reader<'_>, inputs: &dyn Inputs) -> Option<ArrivalProcess> {
    let resolution = positive(reader, "resolution");
    let scale = scale(reader);
    let (file, span) = reader.string("replay")?;
    let recorded = inputs
        .text(file)
        .and_then(|text| Recorded::parse(&text).map_err(|problem| format!("{file} {problem}")));
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
    fn parse(text: &str) -> Result<Self, String> {
        let (mut unit, mut column) = ("", None);
        let mut recorded = Self { offsets_ns: Vec::new(), rows: None };
        for (number, line) in (1_u64..).zip(text.lines()) {
            let at = |problem: String| format!("line {number}: {problem}");
            let cell = line.split(',').next().unwrap_or_default().trim();
            if cell.is_empty() {
                continue;
            }
            if let (1, Some(named)) = (number, units::of_column(cell, "offset_")) {
                unit = named.map_err(at)?;
                column = line.split(',').position(|name| name.trim() == ROW);
                recorded.rows = column.map(|_| Vec::new());
                continue;
            }
            recorded.add_offset(cell, unit).map_err(at)?;
            if let (Some(column), Some(rows)) = (column, &mut recorded.rows) {
                let cell = line.split(',').nth(column).unwrap_or_default().trim();
                rows.push(row(cell).map_err(at)?);
            }
        }
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
        self.offsets_ns.push(offset);
        Ok(())
    }

    /// SHA-256 of instants and rows.
    fn digest(&self) -> String {
        let offsets: Vec<u8> = self.offsets_ns.iter().flat_map(|at| at.to_le_bytes()).collect();
        match &self.rows {
            None => hash::hex(&[&offsets]),
            Some(rows) => {
                let rows: Vec<u8> = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
                hash::hex(&[&offsets, &rows])
            }
        }
    }

    fn scaled(self, scale: Option<Scale>, resolution: Option<Duration>) -> Result<Listed, String> {
        let Self { offsets_ns, rows } = self;
        let Some(scale) = scale else {
            let entries = rows.map(|of| Arc::new(Entries { of, rows: None }));
            return Ok((Arc::from(offsets_ns), entries));
        };
        if offsets_ns.len() as f64 * scale.factor.max(1.0) > Scale::MOST_ARRIVALS {
            let (count, most) = (offsets_ns.len(), Scale::MOST_ARRIVALS);
            return Err(format!("has {count} arrivals, of which `scale` makes more than {most}"));
        }
        let mut scaled = scale.apply(&offsets_ns, period(&offsets_ns, resolution))?;
        if scaled.offsets_ns.is_empty() {
            return Err("has no arrival left at this `scale`".to_owned());
        }
        if let Some(rows) = rows {
            scaled.entries.of.iter_mut().for_each(|entry| *entry = rows[*entry as usize]);
            scaled.entries.rows = None;
        }
        Ok((Arc::from(scaled.offsets_ns), Some(Arc::new(scaled.entries))))
    }
}

/// The row that this number means.
fn row(cell: &str) -> Result<u32, String> {
    let number = cell.parse::<u32>().ok().and_then(|number| number.checked_sub(1));
    number.ok_or_else(|| format!("expected the number of a request, from 1, got \"{cell}\""))
}
