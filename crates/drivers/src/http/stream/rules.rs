//! What a stream must be, and the numbers read from its events.

use std::fmt;
use std::ops::RangeInclusive;

use super::framing::Format;
use crate::expect::json_scan::Place;
use crate::statuses::Statuses;

/// A stream that an operation expects.
#[derive(Debug, Clone)]
pub struct StreamRules {
    /// What an event is.
    pub format: Format,
    /// Index of its first span, `first_event`, among the driver's own.
    pub spans: usize,
    /// Statuses whose answers are streams.
    pub statuses: Statuses,
    /// What an event must have to be counted and timed; without one, all are.
    pub counted: Option<Place>,
    /// What the stream ends with; such an event is neither counted nor timed.
    pub last: Option<LastEvent>,
    /// How many events are counted.
    pub events: RangeInclusive<u64>,
    /// Longest times of an answer that counts as a success.
    pub within: Within,
    /// What each item of the operation is.
    pub items: Vec<EventItem>,
}

/// The last event of a stream that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastEvent {
    /// Its data is this.
    Is(String),
    /// Its data has this in it.
    Contains(String),
}

/// Longest times, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Within {
    /// To the first event.
    pub first_event: Option<u64>,
    /// To the last event.
    pub last_event: Option<u64>,
    /// Of each gap.
    pub gap: Option<u64>,
    /// Of the mean gap.
    pub mean_gap: Option<u64>,
}

/// A number read from the events of a stream.
#[derive(Debug, Clone)]
pub enum EventItem {
    /// How many events were counted.
    Counted,
    /// How many events have something at this place.
    With(Place),
    /// The number at this place, of the last event that has one.
    Number(Place),
}

impl StreamRules {
    /// A stream of at least one event of this form, whose spans begin at this index.
    pub fn of(format: Format, spans: usize) -> Self {
        Self {
            format,
            spans,
            statuses: Statuses::default(),
            counted: None,
            last: None,
            events: 1..=u64::MAX,
            within: Within::default(),
            items: Vec::new(),
        }
    }

    /// Whether anything depends on the data of events.
    pub fn reads_data(&self) -> bool {
        let reads = |item: &EventItem| !matches!(item, EventItem::Counted);
        self.counted.is_some() || self.last.is_some() || self.items.iter().any(reads)
    }

    /// Whether an event with this data ends the stream.
    pub fn is_last(&self, data: &[u8]) -> bool {
        match &self.last {
            None => false,
            Some(LastEvent::Is(text)) => data.trim_ascii() == text.as_bytes(),
            Some(LastEvent::Contains(text)) => {
                memchr::memmem::find(data, text.as_bytes()).is_some()
            }
        }
    }
}

impl fmt::Display for LastEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(text) => write!(formatter, "{text:?}"),
            Self::Contains(text) => write!(formatter, "one with {text:?}"),
        }
    }
}
