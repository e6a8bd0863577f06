//! Seeded draws: the same seed gives the same draws, in this release and the next.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Characters of random content.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A stream of draws.
#[derive(Debug, Clone)]
pub struct Draws {
    random: Xoshiro256PlusPlus,
}

impl Draws {
    /// The stream of this seed for one purpose, which is named by words: streams of different
    /// names have nothing to do with each other.
    pub fn of(seed: u64, words: &[&str]) -> Self {
        // FNV-1a, with a byte between words that no text has.
        let bytes = words.iter().flat_map(|word| word.bytes().chain([0xff]));
        let name = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self { random: Xoshiro256PlusPlus::seed_from_u64(seed.rotate_left(32) ^ name) }
    }

    /// Uniform in [0, 1), from the upper 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A whole number from `low` to `high`, both ends included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let count = u128::from(high.saturating_sub(low)) + 1;
        low + ((u128::from(self.random.next_u64()) * count) >> 64) as u64
    }

    /// Standard normal, by the transform of Box and Muller.
    pub fn normal(&mut self) -> f64 {
        // 1 − U is never 0, whose logarithm is none.
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Appends so many random printable characters.
    pub fn print(&mut self, length: usize, text: &mut Vec<u8>) {
        text.reserve_exact(length);
        let end = text.len() + length;
        while text.len() < end {
            let mut bits = self.random.next_u64();
            for _ in 0..(end - text.len()).min(10) {
                text.push(ALPHABET[(bits & 63) as usize]);
                bits >>= 6;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_drawn_and_nothing_beyond() {
        let mut draws = Draws::of(1, &["ends"]);
        let mut counts = [0; 3];
        for _ in 0..3_000 {
            counts[(draws.between(10, 12) - 10) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
        assert_eq!(draws.between(7, 7), 7);
        assert!(draws.between(0, u64::MAX) > 0);
    }

    #[test]
    fn a_normal_has_its_mean_and_deviation() {
        let mut draws = Draws::of(1, &["normal"]);
        let drawn: Vec<f64> = (0..20_000).map(|_| draws.normal()).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let square = drawn.iter().map(|x| x * x).sum::<f64>() / drawn.len() as f64;
        // Four standard errors: 1/√20,000 and √(2/20,000).
        assert!(mean.abs() < 0.029, "{mean}");
        assert!((square - 1.0).abs() < 0.04, "{square}");
    }

    #[test]
    fn text_has_its_length_and_its_alphabet_and_its_seed() {
        let text = |seed, words: &[&str], length| {
            let mut text = b"so: ".to_vec();
            Draws::of(seed, words).print(length, &mut text);
            text.split_off(4)
        };
        for length in [0, 1, 9, 10, 11, 1_000] {
            let text = text(1, &["/news"], length);
            assert_eq!(text.len(), length);
            assert!(text.iter().all(|byte| ALPHABET.contains(byte)));
        }
        assert_eq!(text(1, &["/news"], 50), text(1, &["/news"], 50));
        assert_ne!(text(1, &["/news"], 50), text(2, &["/news"], 50));
        assert_ne!(text(1, &["a", "b"], 50), text(1, &["ab"], 50));
    }
}
