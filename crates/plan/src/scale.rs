//! A recorded list of arrivals at another rate: thinned, or superposed with shifted copies of itself.
//!
//! Time is never squeezed: that would make pauses shorter and bursts quicker than those of any traffic that was there.
//! - *Thinning* keeps each arrival with the same probability, independently.
//! - *Superposition* adds copies that begin elsewhere in the list, and go on at its beginning after its end.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::entries::{Entries, SaidBy};
use crate::randomness::{RandomStream, draw, unit};
use crate::schedule::nanos;

/// The seed of what is kept: the same list always becomes the same arrivals.
const SEED: u64 = 1;

/// How a list is scaled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// Arrivals for each that was recorded; below 1 the list is thinned, above 1 it is superposed.
    pub factor: f64,
    /// By how much each copy lies behind the one before it; none divides the list evenly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<Duration>,
}

/// A list that was scaled.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Scaled {
    /// Instants, ascending.
    pub(crate) offsets_ns: Vec<u64>,
    /// Which recorded arrival each one is.
    pub(crate) entries: Entries,
}

/// When a list begins again, and the length of the stamps that its instants were drawn within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Period {
    length: u64,
    stamp: u64,
}

impl Scale {
    /// Most copies.
    pub(crate) const MOST: f64 = 1000.0;
    /// Most arrivals that a list may be scaled to.
    pub(crate) const MOST_ARRIVALS: f64 = 2e7;

    /// Nanoseconds by which each copy lies behind the list: whole stamps, so that counts in stamps stay those of the
    /// list. The last copy is thinned if `factor` is not whole.
    fn shifts(self, Period { length, stamp }: Period) -> Vec<u64> {
        let copies = self.factor.ceil() as u64;
        let shift = |copy: u64| match self.shift {
            Some(by) => u128::from(copy) * by.as_nanos() % u128::from(length),
            None => u128::from(copy) * u128::from(length) / u128::from(copies),
        };
        (0..copies).map(|copy| shift(copy) as u64 / stamp * stamp).collect()
    }

    /// Scales an ascending list.
    ///
    /// Errors: a shift that is not of whole stamps, or that puts two copies at the same instants
    pub(crate) fn apply(self, recorded: &[u64], period: Period) -> Result<Scaled, String> {
        let is_whole = |by: Duration| by.as_nanos().is_multiple_of(u128::from(period.stamp));
        if self.shift.is_some_and(|by| !is_whole(by)) {
            return Err("`shift` must be a multiple of `resolution`".to_owned());
        }
        let shifts = self.shifts(period);
        let mut distinct = shifts.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() < shifts.len() {
            let what = "two copies have the same requests at the same instants";
            return Err(format!("`scale` and `shift` do not fit its length: {what}"));
        }
        let mut arrivals: Vec<(u64, u32)> = Vec::new();
        for (copy, shift) in (0_u64..).zip(shifts) {
            let share = self.factor - copy as f64;
            let kept = recorded.iter().zip(0_u32..).filter(|(_, entry)| {
                let at = copy << 32 | u64::from(*entry);
                share >= 1.0 || unit(draw(SEED, RandomStream::Scale, at)) <= share
            });
            arrivals.extend(kept.map(|(offset, entry)| ((offset + shift) % period.length, entry)));
        }
        arrivals.sort_unstable();
        let (offsets_ns, of) = arrivals.into_iter().unzip();
        let entries = Entries { of, said_by: SaidBy::Place(recorded.len() as u64) };
        Ok(Scaled { offsets_ns, entries })
    }

    /// What the plan says of it.
    pub(crate) fn describe(self) -> String {
        let Self { factor, shift } = self;
        let percent = crate::number::significant(factor * 100.0);
        if factor < 1.0 {
            return format!("thinned to {percent} % of the recorded ones");
        }
        let by = match shift {
            Some(by) => format!("shifted by {} each", crate::units::format_duration(by)),
            None => "shifted evenly over its length".to_owned(),
        };
        format!("{percent} % of the recorded ones, superposed from copies {by}")
    }
}

/// A list ends with the stamp of its last arrival, or, without stamps, a mean gap after it.
pub(crate) fn period(recorded: &[u64], resolution: Option<Duration>) -> Period {
    let last = recorded.last().copied().unwrap_or_default();
    match resolution.map(nanos).filter(|stamp| *stamp > 0) {
        Some(stamp) => Period { length: (last / stamp + 1).saturating_mul(stamp), stamp },
        None => {
            let gap = (last / (recorded.len().max(2) as u64 - 1)).max(1);
            Period { length: last + gap, stamp: 1 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn every(length: u64) -> Period {
        Period { length, stamp: 1 }
    }

    fn scale(factor: f64, shift: Option<u64>) -> Scale {
        Scale { factor, shift: shift.map(Duration::from_nanos) }
    }

    #[test]
    fn copies_go_round_and_name_what_they_repeat() {
        let scaled = scale(2.0, None).apply(&[0, 1, 5], every(10)).unwrap();
        assert_eq!(scaled.offsets_ns, [0, 0, 1, 5, 5, 6]);
        let entries = Entries { of: vec![0, 2, 1, 0, 2, 1], said_by: SaidBy::Place(3) };
        assert_eq!(scaled.entries, entries);
        let scaled = scale(2.0, Some(9)).apply(&[0, 1, 5], every(10)).unwrap();
        assert_eq!(scaled.offsets_ns, [0, 0, 1, 4, 5, 9]);
        assert_eq!(scaled.entries.of, [0, 1, 1, 2, 2, 0]);
    }

    #[test]
    fn a_thinned_list_keeps_its_share_within_four_sigma() {
        let recorded: Vec<u64> = (0..100_000).collect();
        for (factor, copies) in [(0.3, 0), (2.3, 2)] {
            let scaled = scale(factor, None).apply(&recorded, every(100_000)).unwrap();
            let kept = scaled.offsets_ns.len() as f64 - f64::from(copies) * 100_000.0;
            let sigma = (100_000.0 * 0.3 * 0.7_f64).sqrt();
            assert!((kept - 30_000.0).abs() < 4.0 * sigma, "{kept}");
            assert!(scaled.offsets_ns.is_sorted());
        }
    }

    /// Bursts of ten at an instant. Dispersion D becomes 1 + p (D - 1) by thinning, and stays D by superposition.
    #[test]
    fn dispersion_is_what_the_closed_form_says() {
        let bursts = 10_000_u64;
        let at = |burst: u64| draw(7, RandomStream::Schedule, burst) % (bursts * SECOND);
        let mut recorded: Vec<u64> = (0..bursts).flat_map(|burst| [at(burst); 10]).collect();
        recorded.sort_unstable();
        let dispersion = |offsets: &[u64]| {
            let mut counts = vec![0.0; bursts as usize];
            offsets.iter().for_each(|offset| counts[(offset / SECOND) as usize] += 1.0);
            let mean = counts.iter().sum::<f64>() / counts.len() as f64;
            let squares = counts.iter().map(|count| (count - mean).powi(2));
            squares.sum::<f64>() / counts.len() as f64 / mean
        };
        let scaled = |factor| {
            let all = scale(factor, None).apply(&recorded, every(bursts * SECOND)).unwrap();
            dispersion(&all.offsets_ns)
        };
        // 10 for the list. An estimate from 10,000 intervals is off by about 2 %.
        for (factor, expected) in [(1.0, 10.0), (0.2, 2.8), (0.5, 5.5), (3.0, 10.0)] {
            let found = scaled(factor);
            assert!((found / expected - 1.0).abs() < 0.08, "{factor}: {found}");
        }
    }

    #[test]
    fn copies_that_coincide_are_refused() {
        assert!(scale(2.0, Some(10)).apply(&[0, 5], every(10)).is_err());
        assert!(scale(3.0, Some(5)).apply(&[0, 5], every(10)).is_err());
        assert!(scale(2.0, Some(5)).apply(&[0, 5], every(10)).is_ok());
    }

    #[test]
    fn a_list_repeats_after_its_last_stamp() {
        let second = Some(Duration::from_secs(1));
        assert_eq!(
            period(&[0, 3_200_000_000], second),
            Period { length: 4 * SECOND, stamp: SECOND }
        );
        assert_eq!((period(&[0, 10, 20], None), period(&[0], None)), (every(30), every(1)));
        assert_eq!(period(&[0, 10, 20], Some(Duration::ZERO)), every(30));
    }

    /// 7 s in two copies: 3 s behind, not 3.5 s.
    #[test]
    fn copies_lie_whole_stamps_behind() {
        let period = Period { length: 7 * SECOND, stamp: SECOND };
        let scaled = scale(2.0, None).apply(&[SECOND / 2], period).unwrap();
        assert_eq!(scaled.offsets_ns, [SECOND / 2, 7 * SECOND / 2]);
        assert!(scale(2.0, Some(SECOND / 2)).apply(&[0], period).is_err());
    }
}
