//! From the experiment file to a compiled operation, with every problem found on the way.
//!
//! The tables are those of the reference: `shm`, what `expect` says of a body, and the paths of `items`.

#[cfg(test)]
mod tests;

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use plan::diagnostic::Diagnostic;
use plan::document::Reader;
use plan::template::{Scope, Template};
use plan::units::{parse_duration, parse_size};

use super::operation::Operation;
use super::options::AnswerOptions;
use crate::http::compile::expect;
use crate::table::{no_requests, template};

/// The longest time for which a worker may leave everything else alone.
const LONGEST_SPIN: Duration = Duration::from_millis(1);
/// The largest room: all slots of the largest channel, 1,024 with 4 GiB less 128 bytes each.
const LARGEST_ROOM: u64 = (1 << 42) - (128 << 10);
/// What a message says it expected where a room should stand.
const ROOM: &str = "a size from 1B to 4398046380032B such as 1KiB";

/// Compiles an operation of the plan.
///
/// Errors: every problem of its `shm` and `expect` tables and of its items
pub fn operation(planned: &plan::operation::Operation) -> Result<Operation, Vec<Diagnostic>> {
    let scope = planned.scope();
    let mut reader = Reader::new(&planned.table);
    let body = read_body(&mut reader, scope);
    if planned.table.get("body").is_none() {
        reader.missing("body", "body = \"ping\"");
    }
    let options = read_options(&mut reader);
    let checksum = reader.boolean("checksum").unwrap_or(false);
    no_requests(&mut reader, planned);
    let mut problems = reader.finish();
    let (rules, items) = expect::of_body_alone(planned, &mut problems);
    match body {
        Some(body) if problems.is_empty() => {
            let (rows, untimed) = (planned.rows.clone(), AtomicU64::new(0));
            Ok(Operation { body, rows, options, checksum, rules, items, untimed })
        }
        _ => Err(problems),
    }
}

fn read_body(reader: &mut Reader<'_>, scope: Scope<'_>) -> Option<Template> {
    let (text, span) = reader.string("body")?;
    template(reader, text, span, scope)
}

/// `room`, `spin` and `times`: without them the room of one slot, no spinning, and no question.
fn read_options(reader: &mut Reader<'_>) -> AnswerOptions {
    let room = reader.parsed("room", ROOM, |text| {
        let room = parse_size(text).filter(|room| (1..=LARGEST_ROOM).contains(room))?;
        usize::try_from(room).ok()
    });
    let spin = reader.parsed("spin", "a duration of at most 1ms such as 20us", |text| {
        let spin = parse_duration(text).filter(|spin| *spin <= LONGEST_SPIN)?;
        u64::try_from(spin.as_nanos()).ok()
    });
    let times = reader.boolean("times").unwrap_or(false);
    let (room, spin) = (room.map_or(0, |(room, _)| room), spin.map_or(0, |(spin, _)| spin));
    AnswerOptions { room, spin, times }
}
