//! Rows of a staffing agency, and queries for them, made from a seed.
//!
//! A row is the same for its seed and number, however many there are.

mod draws;
mod queries;
mod words;

use std::ops::Range;

use serde_json::{Map, Value};

use crate::row::{Row, text_of};
use draws::{SeededDraws, shuffled};
use words::{CITIES, FIRST_NAMES, LAST_NAMES, SHIFTS, TRADES, Trade};

pub use queries::{PlantedQuery, free, queries};

/// Most rows: so many have badges of their own.
pub const MOST: u64 = 1 << 20;

/// The seed where none was asked for.
pub const SEED: u64 = 1;

/// Row of a number below [`MOST`].
///
/// Shape: 17 → `w-0000017`, with the metadata `badge`, `certificates`, `city`, `name`, `notice_days`, `rate`
///        (an hour), `role`, `shift`, `skills` and `years`, and the text that [`text_of`] renders of it
pub fn row(seed: u64, number: u64) -> Row {
    let metadata = Worker::new(seed, number).metadata();
    Row { id: id(number), text: text_of(&metadata), metadata, vector: None }
}

/// Rows of some numbers, in order.
pub fn rows(seed: u64, numbers: Range<u64>) -> impl Iterator<Item = Row> {
    numbers.map(move |number| row(seed, number))
}

fn id(number: u64) -> String {
    format!("w-{number:07}")
}

/// A worker.
struct Worker {
    role: &'static str,
    skills: Vec<&'static str>,
    certificates: Vec<&'static str>,
    city: &'static str,
    name: String,
    badge: String,
    shift: &'static str,
    years: u64,
    /// An hour, in quarters.
    rate: u64,
    days: u64,
}

impl Worker {
    fn new(seed: u64, number: u64) -> Self {
        let mut chance = SeededDraws::new(seed, number);
        let trade = chance.of(TRADES);
        let years = chance.below(31);
        Self {
            role: chance.of(trade.roles),
            skills: chance.some(trade.skills, 2..5),
            certificates: chance.some(trade.certificates, 0..3),
            city: chance.of(CITIES),
            name: format!("{} {}", chance.of(FIRST_NAMES), chance.of(LAST_NAMES)),
            badge: badge(seed, number),
            shift: chance.of(SHIFTS),
            years,
            rate: rate(trade, years, &mut chance),
            days: chance.below(61),
        }
    }

    /// The part of its text that is unique.
    fn words(&self) -> Vec<&str> {
        let mut words = vec![self.badge.as_str()];
        words.extend(&self.certificates);
        words.extend([self.city, &self.name, self.role, self.shift]);
        words.extend(&self.skills);
        words
    }

    fn metadata(self) -> Map<String, Value> {
        let list = |parts: Vec<&'static str>| Value::from_iter(parts);
        Map::from_iter([
            ("badge".into(), self.badge.into()),
            ("certificates".into(), list(self.certificates)),
            ("city".into(), self.city.into()),
            ("name".into(), self.name.into()),
            ("notice_days".into(), self.days.into()),
            ("rate".into(), (self.rate as f64 / 4.0).into()),
            ("role".into(), self.role.into()),
            ("shift".into(), self.shift.into()),
            ("skills".into(), list(self.skills)),
            ("years".into(), self.years.into()),
        ])
    }
}

/// Who has worked for long is paid more.
fn rate(trade: Trade, years: u64, chance: &mut SeededDraws) -> u64 {
    let (least, most) = trade.rate;
    let room = most - least;
    least + room * years / 60 + chance.below(room / 2 + 1)
}

/// Five letters and digits, unique within the seed.
fn badge(seed: u64, number: u64) -> String {
    const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let code = shuffled(seed, number);
    (0..5).rev().map(|place| char::from(LETTERS[(code >> (5 * place)) as usize % 32])).collect()
}

#[cfg(test)]
mod tests;
