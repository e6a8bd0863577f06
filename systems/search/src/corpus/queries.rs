//! Queries for the rows of a seed.

use serde::Serialize;

use super::draws::SeededDraws;
use super::words::{CITIES, SHIFTS, TRADES};
use super::{Worker, id};

/// A query, and the row that is nearest to it among those of its seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlantedQuery {
    /// The text to look for.
    pub query: String,
    /// Name of the row.
    pub id: String,
}

/// Queries that are all different, each for one of the first `rows` rows of the seed; the rows take turns, so that
/// each is asked for as often as any other, give or take once.
///
/// A query says what its row does of badge, certificates, city, name, role, shift and skills; from the second turn on,
/// the number of a job besides. In 256 dimensions this puts the row before a million others: what another row shares
/// with it is outweighed by what it does not say.
pub fn queries(seed: u64, count: u64, rows: u64) -> impl Iterator<Item = PlantedQuery> {
    let turns = JobTurns::new(seed, rows);
    (0..count).map(move |number| {
        let (row, turn) = turns.at(number);
        let query = Worker::new(seed, row).words().join(" ") + &job(turn);
        PlantedQuery { query, id: id(row) }
    })
}

/// Queries that are all different, made of the rows' words for no row in particular.
pub fn free(seed: u64, count: u64) -> impl Iterator<Item = String> {
    let roles: Vec<_> =
        TRADES.iter().flat_map(|trade| trade.roles.iter().map(move |role| (trade, role))).collect();
    let skills = TRADES.iter().map(|trade| trade.skills.len()).min().unwrap_or(1);
    let choices = [roles.len(), CITIES.len(), SHIFTS.len(), skills];
    let turns = JobTurns::new(seed, choices.iter().product::<usize>() as u64);
    (0..count).map(move |number| {
        let (mut choice, turn) = turns.at(number);
        let [role, city, shift, skill] = choices.map(|many| {
            let one = choice as usize % many;
            choice /= many as u64;
            one
        });
        let (trade, role) = roles[role];
        let (city, shift, skill) = (CITIES[city], SHIFTS[shift], trade.skills[skill]);
        format!("{role} {city} {shift} {skill}{}", job(turn))
    })
}

/// What makes the queries of a later turn others than those of the turns before it.
fn job(turn: u64) -> String {
    if turn == 0 { String::new() } else { format!(" job {turn}") }
}

/// All numbers below a bound in an order of the seed's, again and again.
struct JobTurns {
    bound: u64,
    first: u64,
    step: u64,
}

impl JobTurns {
    /// A bound of 0 counts as 1.
    fn new(seed: u64, bound: u64) -> Self {
        let bound = bound.max(1);
        let mut chance = SeededDraws::new(seed, u64::MAX);
        let from = 1 + chance.below(bound);
        // A step without a common divisor with the bound meets every number.
        let step = (from..).find(|&step| common_divisor(step, bound) == 1).unwrap_or(1);
        Self { bound, first: chance.below(bound), step }
    }

    /// Which number it is, and how many turns are over.
    fn at(&self, number: u64) -> (u64, u64) {
        let place =
            u128::from(number % self.bound) * u128::from(self.step) + u128::from(self.first);
        ((place % u128::from(self.bound)) as u64, number / self.bound)
    }
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}
