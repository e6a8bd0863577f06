//! A share of a plan, for several machines that perform one plan together.
//!
//! Every machine walks the whole plan and keeps what its share owns, so together they perform exactly the plan without
//! talking to each other. Random arrivals are drawn for a share, which keeps them random within it: a thinned Poisson
//! process is one. Everything else is dealt in turn.

use std::fmt;
use std::str::FromStr;

use crate::load::{ArrivalProcess, Model, Spacing};
use crate::plan::Arm;
use crate::randomness::{RandomStream, below, draw};

/// One of the equal shares of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanShare {
    /// From 1.
    pub number: u32,
    /// Shares in all.
    pub of: u32,
}

/// Most shares of a plan.
pub const MOST: u32 = 10_000;

impl PlanShare {
    /// The only one.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// Whether this is the whole plan.
    pub fn is_whole(self) -> bool {
        self.of == 1
    }

    /// Its part of a total that is dealt; the first shares get the remainder.
    pub fn part(self, total: u64) -> u64 {
        let (place, of) = (u64::from(self.number) - 1, u64::from(self.of));
        total / of + u64::from(place < total % of)
    }

    /// What it owns of a sequence that is dealt in turn: the place of this index among its own.
    pub fn dealt(self, index: u64) -> Option<u64> {
        let of = u64::from(self.of);
        (index % of == u64::from(self.number) - 1).then_some(index / of)
    }

    /// What it owns of a sequence that is drawn with this seed: a random number of the same index.
    pub fn drawn(self, index: u64, seed: u64) -> Option<u64> {
        let bits = draw(seed, RandomStream::PlanShare, index);
        let owner = below(bits, u64::from(self.of));
        // The low bits do not decide the owner.
        (owner == u64::from(self.number) - 1).then_some(bits & 0xffff_ffff)
    }

    /// What it owns of the arrivals of this process: those at random are drawn, so that they stay random, and others are
    /// dealt. A single share draws nothing, so that its workers stay evenly loaded.
    pub fn place(self, arrivals: &ArrivalProcess, index: u64, seed: u64) -> Option<u64> {
        match !self.is_whole() && is_drawn(arrivals) {
            true => self.drawn(index, seed),
            false => self.dealt(index),
        }
    }

    /// Why this arm cannot be divided into so many shares, if it cannot.
    pub fn refusal(self, arm: &Arm) -> Option<String> {
        let (what, count) = match arm.load.model {
            Model::Users { users, .. } => ("users", users),
            Model::Open { .. } | Model::Closed => ("connections", arm.load.connections),
        };
        let Self { of, .. } = self;
        (count < of)
            .then(|| format!("{of} shares need at least {of} {what}, and the load has {count}"))
    }
}

/// Whether its arrivals are at random.
fn is_drawn(arrivals: &ArrivalProcess) -> bool {
    match arrivals {
        ArrivalProcess::Poisson { .. } => true,
        ArrivalProcess::Stages { spacing, .. } | ArrivalProcess::Burst { spacing, .. } => {
            *spacing == Spacing::Poisson
        }
        ArrivalProcess::Constant { .. } | ArrivalProcess::Replay { .. } => false,
    }
}

impl fmt::Display for PlanShare {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.number, self.of)
    }
}

impl FromStr for PlanShare {
    type Err = String;

    /// Errors: a sentence on what is wrong
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(number, of)| {
            Some(Self { number: number.parse().ok()?, of: of.parse().ok()? })
        });
        match numbers {
            None => Err("a share is written like 3/8, the third of eight".to_owned()),
            Some(Self { of: 0, .. }) => Err("a plan has at least 1 share (got 0)".to_owned()),
            Some(Self { of, .. }) if of > MOST => Err(format!("at most {MOST} shares (got {of})")),
            Some(Self { number, of }) if !(1..=of).contains(&number) => {
                Err(format!("shares of {of} are numbered from 1 to {of} (got {number})"))
            }
            Some(share) => Ok(share),
        }
    }
}

#[cfg(test)]
mod tests {
    mod dispersion;

    use super::*;

    fn shares(of: u32) -> impl Iterator<Item = PlanShare> {
        (1..=of).map(move |number| PlanShare { number, of })
    }

    #[test]
    fn each_index_belongs_to_exactly_one_share() {
        for of in [1, 2, 3, 8, 1_000] {
            for index in 0..2_000 {
                assert_eq!(shares(of).filter_map(|share| share.dealt(index)).count(), 1);
                assert_eq!(shares(of).filter_map(|share| share.drawn(index, 7)).count(), 1);
            }
        }
    }

    #[test]
    fn what_is_dealt_has_places_without_gaps() {
        for share in shares(3) {
            let places: Vec<u64> = (0..100).filter_map(|index| share.dealt(index)).collect();
            assert_eq!(places, (0..share.part(100)).collect::<Vec<_>>(), "{share}");
        }
        assert_eq!(shares(3).map(|share| share.part(100)).collect::<Vec<_>>(), [34, 33, 33]);
    }

    /// Draws are independent with equal chances: counts of a share are binomial.
    #[test]
    fn drawn_shares_are_equal_within_chance() {
        const DRAWS: f64 = 100_000.0;
        for share in shares(8) {
            let owned = (0..DRAWS as u64).filter(|index| share.drawn(*index, 7).is_some()).count();
            let deviation = (DRAWS * (1.0 / 8.0) * (7.0 / 8.0)).sqrt();
            assert!((owned as f64 - DRAWS / 8.0).abs() < 4.0 * deviation, "{share}: {owned}");
        }
    }

    #[test]
    fn a_share_is_read_or_refused_with_a_reason() {
        assert_eq!("3/8".parse(), Ok(PlanShare { number: 3, of: 8 }));
        let refused = |text: &str| text.parse::<PlanShare>().expect_err(text);
        for text in ["", "3", "3/", "/8", "a/b", "-1/8", "3/8/9", "1.5/2"] {
            assert_eq!(refused(text), "a share is written like 3/8, the third of eight");
        }
        assert_eq!(refused("0/8"), "shares of 8 are numbered from 1 to 8 (got 0)");
        assert_eq!(refused("9/8"), "shares of 8 are numbered from 1 to 8 (got 9)");
        assert_eq!(refused("1/0"), "a plan has at least 1 share (got 0)");
        assert_eq!(refused("1/10001"), "at most 10000 shares (got 10001)");
    }
}
