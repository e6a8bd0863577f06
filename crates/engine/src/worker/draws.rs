//! Think times: each user draws from a stream of its own, so that they do not depend on the number
//! of workers.

use plan::load::Think;

/// A stream of draws.
///
/// Source: SplitMix64 (Steele, Lea & Flood 2014), whose every seed is a good one
#[derive(Debug, Clone)]
pub(super) struct Draws {
    state: u64,
}

impl Draws {
    /// The stream of one user of a trial.
    pub(super) fn new(seed: u64, user: u64) -> Self {
        let mut seeder = Self { state: seed };
        let base = seeder.next();
        Self { state: base ^ user.wrapping_mul(0xD1B5_4A32_D192_ED03) }
    }

    /// The next pause in nanoseconds.
    pub(super) fn think(&mut self, think: Think) -> u64 {
        match think {
            Think::Fixed { pause } => pause.as_nanos() as u64,
            Think::Uniform { low, high } => {
                let (low, high) = (low.as_nanos() as f64, high.as_nanos() as f64);
                (low + (high - low) * self.unit()).round() as u64
            }
            // 1 − u is never 0, so the logarithm is finite.
            Think::Exponential { mean } => {
                (-(1.0 - self.unit()).ln() * mean.as_nanos() as f64).round() as u64
            }
        }
    }

    /// Uniform in [0, 1), with 53 bits.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}
