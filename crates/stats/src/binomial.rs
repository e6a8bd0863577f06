//! The binomial distribution, summed exactly around its middle.

/// Probabilities of k successes in n draws, for every k that matters.
#[derive(Debug)]
pub(crate) struct Binomial {
    first: u64,
    /// Probability of `first`, `first + 1`, …; the rest is below 1e-20 of the greatest.
    probabilities: Vec<f64>,
}

impl Binomial {
    /// Terms by their ratios from the mode outwards, divided by their sum: no factorial, so no rounding
    /// that grows with n. About 20 standard deviations of terms.
    ///
    /// Shape: `p` strictly between 0 and 1
    pub(crate) fn new(n: u64, p: f64) -> Self {
        const NEGLIGIBLE: f64 = 1e-20;
        let odds = p / (1.0 - p);
        let up = |k: u64| (n - k) as f64 / (k + 1) as f64 * odds;
        let mode = (((n + 1) as f64 * p) as u64).min(n);
        let mut below = Vec::new();
        let (mut k, mut term) = (mode, 1.0);
        while k > 0 && term > NEGLIGIBLE {
            k -= 1;
            term /= up(k);
            below.push(term);
        }
        let first = k;
        let mut probabilities: Vec<f64> = below.into_iter().rev().collect();
        (k, term) = (mode, 1.0);
        probabilities.push(term);
        while k < n && term > NEGLIGIBLE {
            term *= up(k);
            k += 1;
            probabilities.push(term);
        }
        let sum: f64 = probabilities.iter().sum();
        probabilities.iter_mut().for_each(|term| *term /= sum);
        Self { first, probabilities }
    }

    /// Greatest i with P(B ≤ i − 1) ≤ `tail`; 0 when there is none.
    pub(crate) fn lower_rank(&self, tail: f64) -> u64 {
        let mut below = 0.0;
        let inside = self.probabilities.iter().position(|probability| {
            below += probability;
            below > tail
        });
        self.first + inside.unwrap_or(0) as u64
    }

    /// Least i with P(B ≥ i) ≤ `tail`; may be n + 1.
    pub(crate) fn upper_rank(&self, tail: f64) -> u64 {
        let mut above = 0.0;
        let outside = self.probabilities.iter().rev().position(|probability| {
            above += probability;
            above > tail
        });
        self.first + (self.probabilities.len() - outside.unwrap_or(0)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_small_cases() {
        let fair = Binomial::new(4, 0.5);
        let known = [1.0, 4.0, 6.0, 4.0, 1.0].map(|ways| ways / 16.0);
        assert_eq!((fair.first, fair.probabilities.as_slice()), (0, known.as_slice()));
    }

    #[test]
    fn ranks_leave_at_most_the_tail_outside() {
        // P(B ≤ 0) = P(B ≥ 4) = 1/16.
        let fair = Binomial::new(4, 0.5);
        assert_eq!((fair.lower_rank(0.05), fair.upper_rank(0.05)), (0, 5));
        assert_eq!((fair.lower_rank(0.1), fair.upper_rank(0.1)), (1, 4));
    }
}
