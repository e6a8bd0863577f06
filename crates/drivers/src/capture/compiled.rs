//! The captures of an operation, compiled: read from a good answer, and kept for the journey.

use std::fmt;

use plan::diagnostic::Diagnostic;
use plan::journey::{Capture, Captured, Decode, Memory, MemoryFull, VALUE_LIMIT, VALUES_LIMIT};

use super::decode::decoded;
use super::source::Source;
use crate::expect::answer_view::AnswerView;
use crate::expect::rule::shown;
use crate::probe::CheckedExpectation;

/// Nanoseconds for reading the values of one capture. Each search of a body is bounded, but not how many there are.
const READING_TIME: u64 = 500_000_000;
/// What an element of a list takes beside its text.
const ELEMENT: usize = size_of::<Box<str>>();

/// Everything that an operation captures.
#[derive(Debug, Default)]
pub struct Captures(Vec<CompiledCapture>);

#[derive(Debug)]
struct CompiledCapture {
    name: String,
    place: usize,
    source: Source,
    all: bool,
    optional: bool,
    decode: Option<Decode>,
}

/// What captures are read from.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// The answer.
    pub answer: &'a AnswerView<'a>,
    /// Nanoseconds of the trial's clock.
    pub now: &'a dyn Fn() -> u64,
}

/// Why there is no value.
#[derive(Debug, PartialEq, Eq)]
enum Missing {
    /// Nothing stands there.
    Absent,
    /// The body cannot be read.
    Unreadable(String),
    /// There is too much.
    Full(MemoryFull),
    /// Reading took too long.
    Slow,
}

impl Captures {
    /// Compiles what the plan says, adding to `problems`.
    pub fn compile(planned: &[Capture], problems: &mut Vec<Diagnostic>) -> Self {
        let mut captures = Vec::with_capacity(planned.len());
        for capture in planned {
            let Capture { name, place, all, optional, decode, .. } = capture;
            match Source::compile(&capture.source, capture.span) {
                Ok(source) => captures.push(CompiledCapture {
                    name: name.clone(),
                    place: *place,
                    source,
                    all: *all,
                    optional: *optional,
                    decode: *decode,
                }),
                Err(problem) => problems.push(problem),
            }
        }
        Self(captures)
    }

    /// Whether nothing is captured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them is in the head.
    pub fn needs_head(&self) -> bool {
        self.0.iter().any(|capture| capture.source.needs_head())
    }

    /// Whether one of them is in the body.
    pub fn needs_body(&self) -> bool {
        self.0.iter().any(|capture| !capture.source.needs_head())
    }

    /// What to report if this body is longer than one of these reads.
    pub fn too_long(&self, body: &[u8]) -> Option<String> {
        let capture = self.0.iter().find(|capture| body.len() > capture.source.reads())?;
        let (source, reads) = (&capture.source, capture.source.reads());
        Some(format!(
            "{capture}: {source} reads at most {reads} bytes, but the body has {}",
            body.len()
        ))
    }

    /// Reads every value, and keeps it where there is a journey.
    ///
    /// Errors: which value is missing, and why
    pub fn keep(&self, reading: Reading<'_>, memory: Option<&Memory>) -> Result<(), String> {
        for capture in &self.0 {
            capture.keep(reading, memory).map_err(|why| format!("{capture}: {why}"))?;
        }
        Ok(())
    }

    /// Every value, shown.
    pub fn checks(&self, reading: Reading<'_>) -> Vec<CheckedExpectation> {
        let checks = self.0.iter().map(|capture| {
            let value = capture.read(reading);
            let holds = value.is_ok() || capture.is_fine(&value);
            let seen = match value {
                Ok(Captured::One(text)) => shown(&text),
                Ok(Captured::All(list)) => shown_list(&list),
                Err(missing) => missing.explained(&capture.source),
            };
            CheckedExpectation { text: format!("{capture} from {}", capture.source), holds, seen }
        });
        checks.collect()
    }
}

/// How messages call it.
impl fmt::Display for CompiledCapture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "capture `{}`", self.name)
    }
}

impl CompiledCapture {
    fn keep(&self, reading: Reading<'_>, memory: Option<&Memory>) -> Result<(), String> {
        let value = self.read(reading);
        let forgotten = self.is_fine(&value);
        match (value, memory) {
            (Ok(value), Some(memory)) => {
                memory.keep(self.place, value).map_err(|full| full.to_string())
            }
            (Ok(_), None) => Ok(()),
            (Err(_), memory) if forgotten => {
                memory.iter().for_each(|memory| memory.forget(self.place));
                Ok(())
            }
            (Err(missing), _) => Err(missing.explained(&self.source)),
        }
    }

    /// Whether a value is missing that may be.
    fn is_fine(&self, value: &Result<Captured, Missing>) -> bool {
        self.optional && matches!(value, Err(Missing::Absent | Missing::Unreadable(_)))
    }

    fn read(&self, reading: Reading<'_>) -> Result<Captured, Missing> {
        let deadline = (reading.now)().saturating_add(READING_TIME);
        let mut values: Vec<Box<str>> = Vec::new();
        let mut bytes = 0;
        let mut missing = None;
        let read = self.source.read(reading.answer, |text| {
            let text = decoded(self.decode, text);
            bytes += text.len() + if self.all { ELEMENT } else { 0 };
            missing = if text.len() > VALUE_LIMIT {
                Some(Missing::Full(MemoryFull::Value(text.len())))
            } else if bytes > VALUES_LIMIT {
                Some(Missing::Full(MemoryFull::Values(bytes)))
            } else if (reading.now)() > deadline {
                Some(Missing::Slow)
            } else {
                values.push(text.into());
                None
            };
            self.all && missing.is_none()
        });
        read.map_err(Missing::Unreadable)?;
        match missing {
            Some(missing) => Err(missing),
            None if values.is_empty() && !(self.all && self.source.has_list(reading.answer)) => {
                Err(Missing::Absent)
            }
            None if self.all => Ok(Captured::All(values)),
            None => Ok(Captured::One(values.swap_remove(0))),
        }
    }
}

impl Missing {
    fn explained(&self, source: &Source) -> String {
        match self {
            Self::Absent => format!("{source} is not in the answer"),
            Self::Unreadable(why) => why.clone(),
            Self::Full(full) => full.to_string(),
            Self::Slow => {
                format!("{source} took longer than {} ms to find", READING_TIME / 1_000_000)
            }
        }
    }
}

fn shown_list(list: &[Box<str>]) -> String {
    if list.is_empty() {
        return "an empty list".to_owned();
    }
    let values = if list.len() == 1 { "value" } else { "values" };
    format!("{} {values}: {}", list.len(), shown(&list.join(", ")))
}
