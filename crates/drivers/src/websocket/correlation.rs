//! Which message answers which.

use std::borrow::Cow;

use memchr::memmem;
use plan::rows::Rows;
use plan::template::{Call, Template};

use crate::expect::json_scan::{Place, reads};

/// What the answer to a message is.
#[derive(Debug, Default)]
pub enum Correlation {
    /// The next message that answers nothing else.
    #[default]
    Next,
    /// The first one with this text in it.
    Contains(Template),
    /// The first one that is JSON and has each of these texts or numbers at its place.
    At(Vec<(Place, Template)>),
}

/// What the answer to the message of a call has in it; memory that is kept from one call to the next.
#[derive(Debug, Default)]
pub struct Wanted(Vec<Vec<u8>>);

/// A message, as a correlation reads it.
#[derive(Debug)]
pub struct Reading<'m> {
    message: &'m [u8],
    values: Vec<Option<Cow<'m, str>>>,
}

impl Correlation {
    /// Renders what the answer of this call has in it.
    pub fn render(&self, call: &Call, rows: Option<&Rows>, wanted: &mut Wanted) {
        let mut place = 0;
        let mut add = |template: &Template| {
            if place == wanted.0.len() {
                wanted.0.push(Vec::new());
            }
            let text = &mut wanted.0[place];
            text.clear();
            template.render(call, rows, text);
            place += 1;
        };
        match self {
            Self::Next => {}
            Self::Contains(text) => add(text),
            Self::At(places) => places.iter().for_each(|(_, text)| add(text)),
        }
    }

    /// What stands at each of its places in this message, to be compared with what many operations wait for.
    ///
    /// Cost:   O(n) time a place
    pub fn read<'m>(&self, message: &'m [u8]) -> Reading<'m> {
        let values = match self {
            Self::Next | Self::Contains(_) => Vec::new(),
            Self::At(places) => places.iter().map(|(place, _)| place.raw(message)).collect(),
        };
        Reading { message, values }
    }

    /// Whether this message is the answer for which this was rendered; that of `Next` is any.
    pub fn is_answer(&self, reading: &Reading<'_>, wanted: &Wanted) -> bool {
        match self {
            Self::Next => true,
            Self::Contains(_) => {
                let has = |text: &Vec<u8>| memmem::find(reading.message, text).is_some();
                wanted.0.first().is_some_and(has)
            }
            Self::At(_) => {
                let mut pairs = reading.values.iter().zip(&wanted.0);
                pairs.all(|(raw, text)| raw.as_ref().is_some_and(|raw| reads(raw, text)))
            }
        }
    }

    /// Whether any message will do.
    pub fn is_next(&self) -> bool {
        matches!(self, Self::Next)
    }
}
