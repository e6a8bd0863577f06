//! The embedding without a model: words and their pieces, hashed.
//!
//! Each word counts with weight 1, each pair of neighbouring words with ½, and the pieces of a word, its 3 to 5
//! neighbouring characters between a mark at its beginning and one at its end, with ½ √(1/n) each where it has n of
//! them. A feature is hashed with 64-bit FNV-1a over the seed (8 bytes, the lowest first), the kind (`w`, `p`, `c`)
//! and its text as UTF-8, and the hash mixed by the last steps of SplitMix64. The upper 32 bits choose the number of
//! the vector that the weight is added to, as (bits × dimension) / 2³²; the lowest bit is its sign (1: subtracted).
//! The sum is brought to length 1.
//!
//! It knows no meaning: two texts are near each other as far as they share words and pieces of words. The same
//! settings give the same vectors in every process and version; a change of anything above is a change of [`NAME`].

use serde_json::{Value, json};

use super::{Embed, Embedded, no_direction, normalize, words};
use crate::api_error::{ApiError, Code};

/// What this way of embedding is called.
pub const NAME: &str = "hashed-1";

/// Fewest and most numbers of a vector.
pub const DIMENSIONS: std::ops::RangeInclusive<usize> = 16..=4_096;

/// Numbers of a vector where nothing was asked for.
pub const DIMENSION: usize = 256;

const PAIR: f32 = 0.5;
const PIECES: f32 = 0.5;

/// Begins and ends a word among its pieces.
const EDGES: (char, char) = ('<', '>');

/// Lengths of pieces, in characters.
const SHORTEST: usize = 3;
const LONGEST: usize = 5;

/// Embeds by hashing.
#[derive(Debug, Clone)]
pub struct Hashed {
    dimension: usize,
    seed: u64,
    word: Hash,
    pair: Hash,
    piece: Hash,
}

impl Hashed {
    /// For vectors of so many numbers.
    ///
    /// Errors: `InvalidVector` for a dimension outside [`DIMENSIONS`]
    pub fn new(dimension: usize, seed: u64) -> Result<Self, ApiError> {
        if !DIMENSIONS.contains(&dimension) {
            let (least, most) = (DIMENSIONS.start(), DIMENSIONS.end());
            let message = format!("a dimension is {least} to {most}; {dimension} is not");
            return Err(ApiError::new(Code::InvalidVector, message));
        }
        let start = |kind: u8| Hash::default().bytes(&seed.to_le_bytes()).bytes(&[kind]);
        Ok(Self { dimension, seed, word: start(b'w'), pair: start(b'p'), piece: start(b'c') })
    }

    /// The vector of a text.
    ///
    /// Shape: → [`Embed::dimension`] numbers, length 1; none where the text has no word
    pub fn vector(&self, text: &str) -> Option<Vec<f32>> {
        let mut vector = vec![0.0; self.dimension];
        let mut before: Option<Hash> = None;
        words::each(text, &mut Vec::with_capacity(32), |word| {
            self.add(&mut vector, self.word.text(word), 1.0);
            if let Some(before) = before {
                self.add(&mut vector, before.text(word), PAIR);
            }
            before = Some(self.pair.text(word).character(' '));
            self.add_pieces(&mut vector, word);
        });
        normalize(&mut vector).then_some(vector)
    }

    fn add(&self, vector: &mut [f32], hash: Hash, weight: f32) {
        let bits = hash.mixed();
        let place = ((bits >> 32) * self.dimension as u64) >> 32;
        vector[place as usize] += if bits & 1 == 1 { -weight } else { weight };
    }

    fn add_pieces(&self, vector: &mut [f32], word: &[char]) {
        let length = word.len() + 2;
        let count: usize = (SHORTEST..=LONGEST.min(length)).map(|piece| length - piece + 1).sum();
        let weight = PIECES / (count as f32).sqrt();
        let at = |place: usize| match place {
            0 => EDGES.0,
            place if place == length - 1 => EDGES.1,
            place => word[place - 1],
        };
        for start in 0..=length - SHORTEST {
            let mut hash = self.piece.character(at(start)).character(at(start + 1));
            for end in start + SHORTEST..=(start + LONGEST).min(length) {
                hash = hash.character(at(end - 1));
                self.add(vector, hash, weight);
            }
        }
    }
}

impl Embed for Hashed {
    fn dimension(&self) -> usize {
        self.dimension
    }

    async fn embed(&self, texts: &[&str]) -> Result<Embedded, ApiError> {
        let vector =
            |(number, text): (usize, &&str)| self.vector(text).ok_or_else(|| no_direction(number));
        let vectors = texts.iter().enumerate().map(vector).collect::<Result<_, _>>()?;
        Ok(Embedded { vectors, hits: 0 })
    }

    fn effective(&self) -> Value {
        json!({ "embedding": NAME, "dimension": self.dimension, "seed": self.seed })
    }
}

/// FNV-1a with 64 bits, so far.
#[derive(Debug, Clone, Copy)]
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    fn byte(self, byte: u8) -> Self {
        Self((self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        bytes.iter().fold(self, |hash, &byte| hash.byte(byte))
    }

    fn character(self, character: char) -> Self {
        if character.is_ascii() {
            return self.byte(character as u8);
        }
        self.bytes(character.encode_utf8(&mut [0; 4]).as_bytes())
    }

    fn text(self, word: &[char]) -> Self {
        word.iter().fold(self, |hash, &character| hash.character(character))
    }

    /// The last steps of SplitMix64: FNV-1a alone hardly moves its upper bits for the last bytes.
    fn mixed(self) -> u64 {
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}

#[cfg(test)]
mod tests;
