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

/// Reads the keys of a replay; `None` without one, or if it cannot be read.
pub(super) fn read(reader: &mut Reader<'_>, inputs: &dyn Inputs) -> Option<ArrivalProcess> {
    let resolution = positive(reader, "resolution");
    let scale = scale(reader);
    let (file, span) = reader.string("replay")?;
    let offsets = inputs
        .text(file)
        .and_then(|text| parse_offsets(&text).map_err(|problem| format!("{file} {problem}")));
    let listed = offsets.and_then(|recorded| {
        let bytes: Vec<u8> = recorded.iter().flat_map(|offset| offset.to_le_bytes()).collect();
        let digest = hash::hex(&[&bytes]);
        let (offsets_ns, entries) = scaled(recorded, scale, resolution)?;
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

/// Instants, and which of the recorded ones each is.
type Listed = (Arc<[u64]>, Option<Arc<Entries>>);

fn scaled(
    recorded: Vec<u64>,
    scale: Option<Scale>,
    resolution: Option<Duration>,
) -> Result<Listed, String> {
    let Some(scale) = scale else { return Ok((Arc::from(recorded), None)) };
    if recorded.len() as f64 * scale.factor.max(1.0) > Scale::MOST_ARRIVALS {
        let (count, most) = (recorded.len(), Scale::MOST_ARRIVALS);
        return Err(format!("has {count} arrivals, of which `scale` makes more than {most}"));
    }
    let scaled = scale.apply(&recorded, period(&recorded, resolution))?;
    if scaled.offsets_ns.is_empty() {
        return Err("has no arrival left at this `scale`".to_owned());
    }
    Ok((Arc::from(scaled.offsets_ns), Some(Arc::new(scaled.entries))))
}

/// One offset per line, in the first column. A header `offset_ns`, `_us`, `_ms` or `_s` gives the
/// unit of bare numbers; otherwise each number has its own unit.
fn parse_offsets(text: &str) -> Result<Vec<u64>, String> {
    let mut unit = "";
    let mut offsets: Vec<u64> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let cell = line.split(',').next().unwrap_or_default().trim();
        if cell.is_empty() {
            continue;
        }
        if let (1, Some(named)) = (number, units::of_column(cell, "offset_")) {
            unit = named.map_err(|problem| format!("line 1: {problem}"))?;
            continue;
        }
        let offset = units::duration_in(cell, unit).ok_or_else(|| {
            format!("line {number}: expected an offset such as 1.5ms, got \"{cell}\"")
        })?;
        let offset = crate::schedule::nanos(offset);
        if offsets.last().is_some_and(|before| *before > offset) {
            return Err(format!("line {number}: offsets must ascend, got \"{cell}\""));
        }
        offsets.push(offset);
    }
    if offsets.is_empty() { Err("holds no offset".to_owned()) } else { Ok(offsets) }
}
