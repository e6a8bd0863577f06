//! A recorded list of arrivals at another rate: thinned, or superposed with shifted copies of itself.
//!
//! Time is never squeezed: that would make pauses shorter and bursts quicker than those of any traffic that was there.
//! - *Thinning* keeps each arrival with the same probability, independently.
//! - *Superposition* adds copies that begin elsewhere in the list, and go on at its beginning after its end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::arrival_list::{ArrivalList, Cursor, Listed, RowSource, Scratch};
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

/// When a list begins again, and the length of the stamps that its instants were drawn within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Period {
    length: u64,
    stamp: u64,
}

impl Scale {
    /// Most copies.
    pub(crate) const MOST: f64 = 1000.0;

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

    /// Scales a list into an empty file. Without a column of rows, each arrival has the place that it was recorded at.
    ///
    /// Errors: a shift that is not of whole stamps, or that puts two copies at the same instants; those of the file
    pub(crate) fn apply(
        self,
        recorded: &ArrivalList,
        period: Period,
        file: Box<dyn Scratch>,
    ) -> Result<ArrivalList, String> {
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
        let copies = (0_u64..).zip(shifts).map(|(number, shift)| Copied {
            from: recorded.cursor(),
            length: period.length,
            number,
            shift,
            share: self.factor - number as f64,
            first: recorded.count_before(period.length - shift),
            walked: 0,
        });
        let rows = match recorded.rows() {
            RowSource::Column => RowSource::Column,
            RowSource::Turn | RowSource::Place(_) => RowSource::Place(recorded.count()),
        };
        ArrivalList::write(merged(copies.collect()), file, rows)
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

/// A copy of a list that lies behind it: its arrivals in order, with the place at which each was recorded.
#[derive(Debug)]
struct Copied {
    from: Cursor,
    length: u64,
    number: u64,
    shift: u64,
    /// How many of the arrivals it keeps; from 1 on, all.
    share: f64,
    /// Place of the arrival that the shift moves beyond the end, and so to the beginning.
    first: u64,
    walked: u64,
}

impl Iterator for Copied {
    type Item = (Listed, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let count = self.from.list().count();
        while self.walked < count {
            let place = (self.first + self.walked) % count;
            self.walked += 1;
            let at = self.number << 32 | place;
            if self.share < 1.0 && unit(draw(SEED, RandomStream::Scale, at)) > self.share {
                continue;
            }
            let Listed { offset_ns, row } = self.from.at(place)?;
            let row = match self.from.list().rows() {
                RowSource::Column => row,
                RowSource::Turn | RowSource::Place(_) => place as u32,
            };
            let offset_ns = (offset_ns + self.shift) % self.length;
            return Some((Listed { offset_ns, row }, place));
        }
        None
    }
}

/// The arrivals of all copies in order; those of an instant as they were recorded.
fn merged(mut copies: Vec<Copied>) -> impl Iterator<Item = Result<Listed, String>> {
    let ahead = |copy: &mut Copied, number: usize| {
        let (next, place) = copy.next()?;
        Some(Reverse((next.offset_ns, place, number, next.row)))
    };
    let firsts = copies.iter_mut().zip(0..).filter_map(|(copy, number)| ahead(copy, number));
    let mut due: BinaryHeap<_> = firsts.collect();
    std::iter::from_fn(move || {
        let Reverse((offset_ns, _, number, row)) = due.pop()?;
        due.extend(ahead(&mut copies[number], number));
        Some(Ok(Listed { offset_ns, row }))
    })
}

/// A list ends with the stamp of its last arrival, or, without stamps, a mean gap after it.
pub(crate) fn period(recorded: &ArrivalList, resolution: Option<Duration>) -> Period {
    let last = recorded.last_ns().unwrap_or_default();
    match resolution.map(nanos).filter(|stamp| *stamp > 0) {
        Some(stamp) => Period { length: (last / stamp + 1).saturating_mul(stamp), stamp },
        None => {
            let gap = (last / (recorded.count().max(2) - 1)).max(1);
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

    fn scaled(
        factor: f64,
        shift: Option<u64>,
        recorded: &[u64],
        period: Period,
    ) -> Result<ArrivalList, String> {
        let scale = Scale { factor, shift: shift.map(Duration::from_nanos) };
        scale.apply(&list(recorded), period, Box::new(Vec::new()))
    }

    fn list(offsets: &[u64]) -> ArrivalList {
        offsets.iter().copied().collect()
    }

    fn offsets(list: &ArrivalList) -> Vec<u64> {
        list.iter().map(|one| one.offset_ns).collect()
    }

    fn rows(list: &ArrivalList) -> Vec<u32> {
        list.iter().map(|one| one.row).collect()
    }

    #[test]
    fn copies_go_round_and_name_what_they_repeat() {
        let twice = scaled(2.0, None, &[0, 1, 5], every(10)).unwrap();
        assert_eq!(offsets(&twice), [0, 0, 1, 5, 5, 6]);
        assert_eq!((rows(&twice), twice.rows()), (vec![0, 2, 1, 0, 2, 1], RowSource::Place(3)));
        let twice = scaled(2.0, Some(9), &[0, 1, 5], every(10)).unwrap();
        assert_eq!(offsets(&twice), [0, 0, 1, 4, 5, 9]);
        assert_eq!(rows(&twice), [0, 1, 1, 2, 2, 0]);
    }

    #[test]
    fn a_thinned_list_keeps_its_share_within_four_sigma() {
        let recorded: Vec<u64> = (0..100_000).collect();
        for (factor, copies) in [(0.3, 0), (2.3, 2)] {
            let scaled = scaled(factor, None, &recorded, every(100_000)).unwrap();
            let kept = scaled.count() as f64 - f64::from(copies) * 100_000.0;
            let sigma = (100_000.0 * 0.3 * 0.7_f64).sqrt();
            assert!((kept - 30_000.0).abs() < 4.0 * sigma, "{kept}");
            assert!(offsets(&scaled).is_sorted());
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
            let all = scaled(factor, None, &recorded, every(bursts * SECOND)).unwrap();
            dispersion(&offsets(&all))
        };
        // 10 for the list. An estimate from 10,000 intervals is off by about 2 %.
        for (factor, expected) in [(1.0, 10.0), (0.2, 2.8), (0.5, 5.5), (3.0, 10.0)] {
            let found = scaled(factor);
            assert!((found / expected - 1.0).abs() < 0.08, "{factor}: {found}");
        }
    }

    #[test]
    fn copies_that_coincide_are_refused() {
        assert!(scaled(2.0, Some(10), &[0, 5], every(10)).is_err());
        assert!(scaled(3.0, Some(5), &[0, 5], every(10)).is_err());
        assert!(scaled(2.0, Some(5), &[0, 5], every(10)).is_ok());
    }

    #[test]
    fn a_list_repeats_after_its_last_stamp() {
        let second = Some(Duration::from_secs(1));
        assert_eq!(
            period(&list(&[0, 3_200_000_000]), second),
            Period { length: 4 * SECOND, stamp: SECOND }
        );
        assert_eq!(
            (period(&list(&[0, 10, 20]), None), period(&list(&[0]), None)),
            (every(30), every(1))
        );
        assert_eq!(period(&list(&[0, 10, 20]), Some(Duration::ZERO)), every(30));
    }

    /// 7 s in two copies: 3 s behind, not 3.5 s.
    #[test]
    fn copies_lie_whole_stamps_behind() {
        let period = Period { length: 7 * SECOND, stamp: SECOND };
        let twice = scaled(2.0, None, &[SECOND / 2], period).unwrap();
        assert_eq!(offsets(&twice), [SECOND / 2, 7 * SECOND / 2]);
        assert!(scaled(2.0, Some(SECOND / 2), &[0], period).is_err());
    }
}
