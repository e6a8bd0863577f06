//! The tokens of one chat completion: how many there are, and the gaps between them. Draws, no clock.

use crate::configuration::{Gaps, Lengths, TokenSettings};
use crate::model::Draws;

/// The tokens of one answer. Each answer has draws of its own, so that its gaps do not depend on
/// which other answers are in progress.
#[derive(Debug, Clone)]
pub struct TokenPlan {
    settings: TokenSettings,
    draws: Draws,
    tokens: u64,
    cut: bool,
}

impl TokenPlan {
    /// Draws the number of tokens, which is at least 1 and at most `limit`, and whether a stream of
    /// them is cut.
    pub fn new(settings: TokenSettings, mut draws: Draws, limit: Option<u64>) -> Self {
        let drawn = match settings.lengths {
            Lengths::Constant => settings.count,
            Lengths::Geometric => draws.geometric(settings.count),
        };
        let cut = draws.happens(settings.cut_share);
        Self { settings, draws, tokens: drawn.min(limit.unwrap_or(u64::MAX)).max(1), cut }
    }

    /// Tokens of the whole answer.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// After how many tokens a stream is cut, if it is: half of them, at least 1.
    pub fn cut_after(&self) -> Option<u64> {
        self.cut.then(|| (self.tokens / 2).max(1))
    }

    /// Draws the time from one token to the next.
    ///
    /// Shape:  `decoding` streams emit tokens at the moment, this one included
    /// Units:  nanoseconds; the mean is gap × (1 + batch × (decoding − 1))
    pub fn gap_ns(&mut self, decoding: u64) -> u64 {
        let others = decoding.saturating_sub(1) as f64;
        let mean_ns = self.settings.gap_ns as f64 * (1.0 + self.settings.batch * others);
        match self.settings.gaps {
            Gaps::Constant => mean_ns.round() as u64,
            Gaps::Exponential => self.draws.exponential_ns(1e9 / mean_ns),
        }
    }
}

#[cfg(test)]
mod tests;
