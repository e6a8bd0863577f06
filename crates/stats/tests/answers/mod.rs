//! How criteria at multiples of a known quantile were answered, counted over simulated runs.

use stats::proportion::Side;

/// Bounds, in multiples of the true quantile.
pub const BOUNDS: [f64; 5] = [1.0, 1.5, 3.0, 10.0, 0.5];
/// Wrong answers of each kind that are allowed.
pub const ALLOWED: f64 = 0.05;

/// Simulated runs of each case.
pub fn runs() -> u64 {
    let is_proof = std::env::var_os("PROOFLOAD_PROOF").is_some();
    if is_proof { 1_000 } else { 60 }
}

/// Three standard errors of a share of the runs.
pub fn slack(share: f64) -> f64 {
    3.0 * (share * (1.0 - share) / runs() as f64).sqrt()
}

/// Shares of runs.
#[derive(Default, Clone, Copy)]
pub struct Tally {
    pub wrong_pass: f64,
    pub wrong_fail: f64,
    /// By multiple: passes above the true quantile, a fail below it.
    pub right: [f64; BOUNDS.len() - 1],
}

impl Tally {
    /// Counts a run that was judged with each bound.
    pub fn add(&mut self, sides: [Side; BOUNDS.len()]) {
        let weight = 1.0 / runs() as f64;
        let add = |share: &mut f64, is: bool| *share += if is { weight } else { 0.0 };
        add(&mut self.wrong_pass, sides[0] == Side::Below);
        add(&mut self.wrong_fail, sides[0] == Side::Above);
        for ((share, side), multiple) in self.right.iter_mut().zip(&sides[1..]).zip(&BOUNDS[1..]) {
            let right = if *multiple > 1.0 { Side::Below } else { Side::Above };
            add(share, *side == right);
        }
    }

    /// A row of the table: the case, and how it was judged.
    pub fn print(&self, case: &str, way: &str) {
        let shares = [self.wrong_pass, self.wrong_fail].into_iter().chain(self.right);
        let shares: Vec<String> = shares.map(|share| format!("{:.1} %", 100.0 * share)).collect();
        println!("| {case} | {way} | {} |", shares.join(" | "));
    }
}
