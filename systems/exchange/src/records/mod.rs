//! User records as JSON, made from a seed: the shape and about the size of those of a report that
//! compared ways to hand them over.
//!
//! Each is a function of the seed and its number alone, so that fewer users are the beginning of
//! more. They are made when they are first asked for, and kept: at most those of the largest payload.

mod user;
mod words;

use user::User;

/// The users of a seed, one after another with commas between them.
#[derive(Debug)]
pub struct Records {
    seed: u64,
    text: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl Records {
    /// The users of this seed; none is made yet.
    pub fn new(seed: u64) -> Self {
        Self { seed, text: Vec::new(), ends: Vec::new() }
    }

    /// The first so many.
    pub fn first(&mut self, count: u32) -> &[u8] {
        let count = count as usize;
        while self.ends.len() < count {
            self.make();
        }
        self.until(count)
    }

    /// The largest number of users that fit into so many bytes.
    pub fn within(&mut self, bytes: usize) -> &[u8] {
        while self.text.len() <= bytes {
            self.make();
        }
        let count = self.ends.partition_point(|end| *end <= bytes);
        self.until(count)
    }

    fn until(&self, count: usize) -> &[u8] {
        let end = count.checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.text[..end]
    }

    fn make(&mut self) {
        if !self.text.is_empty() {
            self.text.push(b',');
        }
        let user = User::new(self.seed, self.ends.len() as u64 + 1);
        let written = serde_json::to_writer(&mut self.text, &user);
        written.expect("text and numbers always serialize, and memory takes all");
        self.ends.push(self.text.len());
    }
}

#[cfg(test)]
mod tests;
