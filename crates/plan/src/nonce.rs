//! `{{nonce}}`: identifies one operation. Its check digits are drawn from the trial's seed, so that
//! other programs' marks are recognised.

use ::nonce::Nonce;

use crate::randomness::{RandomStream, draw};

/// The place in the schedule is encoded modulo this.
const PLACES: u64 = 1 << 48;

/// The nonce of the arrival with this index in the schedule, sent at this instant.
pub fn of_arrival(seed: u64, trial: u32, index: u64, sent_at: u64) -> Nonce {
    let index = index % PLACES;
    Nonce { trial, index, check: check(seed, trial, index), sent_at }
}

fn check(seed: u64, trial: u32, index: u64) -> u64 {
    draw(seed ^ (u64::from(trial) << 32), RandomStream::Nonce, index) >> 16
}

/// Decodes a nonce that was made with this trial seed; `None` for any other text.
pub fn verify(text: &str, seed: u64) -> Option<Nonce> {
    let nonce = Nonce::parse(text.as_bytes())?;
    (nonce.check == check(seed, nonce.trial, nonce.index)).then_some(nonce)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(nonce: Nonce) -> String {
        let mut out = Vec::new();
        nonce.render(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_nonce_says_what_it_was_made_of() {
        let nonce = of_arrival(42, 3, PLACES + 123_456, 9_876_543_210);
        let text = text(nonce);
        assert!(text.starts_with("0000000300000001e240"), "{text}");
        assert!(text.ends_with("-9876543210"), "{text}");
        assert_eq!(verify(&text, 42), Some(nonce));
    }

    #[test]
    fn a_strangers_nonce_is_refused() {
        let genuine = text(of_arrival(42, 3, 7, 1));
        assert_eq!(verify(&genuine, 43), None);
        assert_eq!(verify(&genuine.replace("00000003", "00000004"), 42), None);
        assert_eq!(verify(&genuine.to_uppercase().replace('A', "B"), 42), None);
        assert_eq!(verify("", 42), None);
        assert_eq!(verify(&format!("é{}", &genuine[1..]), 42), None);
        assert_eq!(verify(&genuine[1..], 42), None);
    }
}
