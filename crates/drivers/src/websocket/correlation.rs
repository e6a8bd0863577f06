//! Which message answers which.

use memchr::memmem;
use plan::rows::Rows;
use plan::template::{Call, Template};

use crate::expect::json_scan::Place;

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

    /// Whether this message is the answer for which this was rendered; that of `Next` is any.
    ///
    /// Cost:   O(n) time, no allocation for places of names and indices
    pub fn is_answer(&self, message: &[u8], wanted: &Wanted) -> bool {
        match self {
            Self::Next => true,
            Self::Contains(_) => {
                wanted.0.first().is_some_and(|text| memmem::find(message, text).is_some())
            }
            Self::At(places) => {
                let mut pairs = places.iter().zip(&wanted.0);
                pairs.all(|((place, _), text)| place.reads(message, text))
            }
        }
    }

    /// Whether any message will do.
    pub fn is_next(&self) -> bool {
        matches!(self, Self::Next)
    }
}
