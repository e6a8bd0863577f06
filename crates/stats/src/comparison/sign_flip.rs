//! The sign-flip test: if the arms of a block are alike, either of them could have been the larger.

use crate::chance::Chance;

/// Blocks up to which every choice of signs is tried.
const EXACT_UP_TO: usize = 16;
/// Choices drawn beyond that.
const DRAWS: u64 = 20_000;
/// Sums nearer than this, relative to the sum of all sizes, are the same sum.
const SAME: f64 = 1e-12;

/// Two-sided p-value of differences that would be symmetric around 0 if there were none.
///
/// Exact over all 2ᴷ choices of signs up to K = 16, beyond that by 20,000 draws from the seed. 1 for an
/// empty list.
///
/// Source: Fisher 1935, section 21; drawn form after Phipson & Smyth 2010, never 0
pub fn sign_flip(differences: &[f64], seed: u64) -> f64 {
    let size: f64 = differences.iter().map(|one| one.abs()).sum();
    let seen = differences.iter().sum::<f64>().abs() - SAME * size;
    if differences.len() > EXACT_UP_TO {
        return drawn(differences, seen, seed);
    }
    let choices = 1_u64 << differences.len();
    let as_far = (0..choices).filter(|signs| flipped(differences, *signs).abs() >= seen).count();
    as_far as f64 / choices as f64
}

fn drawn(differences: &[f64], seen: f64, seed: u64) -> f64 {
    let mut chance = Chance::new(seed);
    let mut as_far = 0;
    for _ in 0..DRAWS {
        let sum: f64 = differences.chunks(64).map(|part| flipped(part, chance.bits())).sum();
        as_far += u64::from(sum.abs() >= seen);
    }
    (as_far + 1) as f64 / (DRAWS + 1) as f64
}

/// The sum, with the sign of the i-th turned where the i-th bit is set.
fn flipped(differences: &[f64], signs: u64) -> f64 {
    let signed = |(place, one): (usize, &f64)| if signs >> place & 1 == 1 { -one } else { *one };
    differences.iter().enumerate().map(signed).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_all_agree_have_the_smallest_p_value() {
        assert_eq!(sign_flip(&[0.1, 0.2, 0.3, 0.25, 0.15, 0.3], 0), 0.03125);
        assert_eq!(sign_flip(&[-0.1; 10], 0), 2.0 / 1024.0);
    }

    #[test]
    fn a_hand_worked_case_has_its_value() {
        // Of the sums ±1 ±2 ±3 those at least as far as 3 + 2 − 1 = 4: ±6 and ±4.
        assert_eq!(sign_flip(&[-1.0, 2.0, 3.0], 0), 0.5);
    }

    #[test]
    fn no_difference_is_no_surprise() {
        assert_eq!(sign_flip(&[], 0), 1.0);
        assert_eq!(sign_flip(&[0.0; 8], 0), 1.0);
        assert_eq!(sign_flip(&[0.0; 20], 0), 1.0);
    }

    #[test]
    fn many_blocks_are_drawn_from_the_seed_and_come_near_the_exact_value() {
        // 17 equal sizes, 13 of them up: P(|2B − 17| ≥ 9) = 2·P(B ≤ 4) = 2·3214/131072.
        let differences: Vec<f64> = (0..17).map(|one| if one < 13 { 1.0 } else { -1.0 }).collect();
        let p = sign_flip(&differences, 7);
        // 4 standard errors of 20,000 draws are 0.006.
        assert!((p - 6428.0 / 131_072.0).abs() < 0.006, "{p}");
        assert_eq!(p, sign_flip(&differences, 7));
        assert!(sign_flip(&[1.0; 100], 7) < 1e-4);
    }
}
