//! One field's values in order, with the slots that have each: equality and ranges without a full
//! scan.
//!
//! An index finds candidates, not answers: it stores only the first bytes of text to bound its
//! memory, and the caller evaluates the filter on each candidate.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use serde_json::{Map, Value};

use super::Slot;
use crate::path::Path;
use crate::test::{Comparison, Test};
use crate::value::{Number, Scalar};

/// So many bytes of a text tell it from others.
const PREFIX: usize = 48;

/// Values from one to another.
pub type Range = (Bound<Key>, Bound<Key>);

/// A scalar as indexes hold it; ordered as [`Scalar`] is, texts that begin alike being the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// Exactly.
    Number(Number),
    /// The first bytes: bytes and not text, because cutting at characters would change the order.
    Text(Box<[u8]>),
    /// A scalar within an array.
    Element(Box<Key>),
}

/// Who has one value. Most values of a field are had by one, or by very many.
#[derive(Debug)]
enum Holders {
    One(Slot),
    Many(BTreeSet<Slot>),
}

/// An index of one field.
#[derive(Debug)]
pub struct Index {
    field: Path,
    holders: BTreeMap<Key, Holders>,
}

impl Key {
    fn of(scalar: Scalar<'_>) -> Self {
        match scalar {
            Scalar::Null => Self::Null,
            Scalar::Bool(bool) => Self::Bool(bool),
            Scalar::Number(number) => Self::Number(number),
            Scalar::Text(text) => Self::text(text),
        }
    }

    fn text(text: &str) -> Self {
        let bytes = text.as_bytes();
        Self::Text(bytes[..bytes.len().min(PREFIX)].into())
    }

    fn element(scalar: Scalar<'_>) -> Self {
        Self::Element(Box::new(Self::of(scalar)))
    }
}

impl Holders {
    fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(slots) => slots.len(),
        }
    }

    fn add(&mut self, slot: Slot) {
        match self {
            Self::One(only) => *self = Self::Many(BTreeSet::from([*only, slot])),
            Self::Many(slots) => {
                slots.insert(slot);
            }
        }
    }

    /// Removes one; whether none is left.
    fn take(&mut self, slot: Slot) -> bool {
        match self {
            Self::One(only) => *only == slot,
            Self::Many(slots) => {
                slots.remove(&slot);
                slots.is_empty()
            }
        }
    }
}

impl Index {
    /// An empty index.
    pub fn new(field: Path) -> Self {
        Self { field, holders: BTreeMap::new() }
    }

    /// Which field it is of.
    pub fn field(&self) -> &Path {
        &self.field
    }

    /// Takes a document up. One without scalars in the field is not held: no range is about it.
    pub fn insert(&mut self, document: &Map<String, Value>, slot: Slot) {
        for key in keys(self.field.find(document)) {
            let holders = self.holders.entry(key);
            holders.and_modify(|holders| holders.add(slot)).or_insert_with(|| Holders::One(slot));
        }
    }

    /// Takes a document out, the same as it was taken up.
    pub fn remove(&mut self, document: &Map<String, Value>, slot: Slot) {
        for key in keys(self.field.find(document)) {
            if self.holders.get_mut(&key).is_some_and(|holders| holders.take(slot)) {
                self.holders.remove(&key);
            }
        }
    }

    /// How many have values in a range, if they are at most so many; counts no further.
    pub fn count(&self, range: &Range, most: usize) -> Option<usize> {
        let mut lengths = self.holders.range(range.clone()).map(|(_, holders)| holders.len());
        lengths.try_fold(0, |sum, length| Some(sum + length).filter(|sum| *sum <= most))
    }

    /// Adds those who have values in a range.
    pub fn collect(&self, range: &Range, slots: &mut Vec<Slot>) {
        for (_, holders) in self.holders.range(range.clone()) {
            match holders {
                Holders::One(slot) => slots.push(*slot),
                Holders::Many(many) => slots.extend(many),
            }
        }
    }
}

/// What a value is found by: itself, or the scalars in it.
fn keys(value: Option<&Value>) -> impl Iterator<Item = Key> {
    let elements = value.and_then(Value::as_array).into_iter().flatten().filter_map(Scalar::of);
    let itself = value.and_then(Scalar::of).map(Key::of);
    itself.into_iter().chain(elements.map(Key::element))
}

/// Ranges that hold every value for which a test holds; `None` if there are no such.
pub fn ranges(test: &Test) -> Option<Vec<Range>> {
    let point = |key: Key| (Bound::Included(key.clone()), Bound::Included(key));
    match test {
        Test::Equal(value) => Scalar::of(value).map(|scalar| vec![point(Key::of(scalar))]),
        Test::In(values) => {
            let scalars = values.iter().filter_map(Scalar::of);
            Some(scalars.map(|scalar| point(Key::of(scalar))).collect())
        }
        Test::Contains(part) => {
            let element = Scalar::of(part).map(|scalar| point(Key::element(scalar)))?;
            // A text is contained in texts, too, and any may be one of them.
            Some(std::iter::once(element).chain(part.is_string().then(|| beginning(""))).collect())
        }
        Test::Compare(side, value) => Scalar::of(value).map(|scalar| vec![side_of(*side, scalar)]),
        Test::StartsWith(start) => Some(vec![beginning(start)]),
        _ => None,
    }
}

/// Values of the same kind on one side, the bound itself always included: whether it is meant is
/// seen when the test is evaluated.
fn side_of(side: Comparison, bound: Scalar<'_>) -> Range {
    let (least, most) = match bound {
        Scalar::Text(_) => beginning(""),
        _ => (infinity(f64::NEG_INFINITY), infinity(f64::INFINITY)),
    };
    let bound = Bound::Included(Key::of(bound));
    match side {
        Comparison::Less | Comparison::AtMost => (least, bound),
        Comparison::Greater | Comparison::AtLeast => (bound, most),
    }
}

fn infinity(float: f64) -> Bound<Key> {
    Bound::Excluded(Key::Number(Number::Fraction(float)))
}

/// Texts with a beginning: up to, not including, the beginning with its last byte one higher.
fn beginning(start: &str) -> Range {
    let Key::Text(least) = Key::text(start) else { unreachable!("a text's key is a text") };
    let mut above = least.clone();
    let end = match above.last_mut() {
        // No byte of UTF-8 is 255.
        Some(last) => {
            *last += 1;
            Bound::Excluded(Key::Text(above))
        }
        None => Bound::Excluded(Key::element(Scalar::Null)),
    };
    (Bound::Included(Key::Text(least)), end)
}
