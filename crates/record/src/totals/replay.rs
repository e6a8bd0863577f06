//! How many operations of a replay were due, and how many were sent, in each bin of its measure phase.

use serde::{Deserialize, Serialize};

use crate::{Outcome, Sample};

/// Most bins of a trial: a longer one has coarser bins.
const MOST_BINS: u64 = 200_000;
/// The finest bin, in nanoseconds.
const FINEST: u64 = 10_000_000;

/// Counts of a replay in bins from the start of the measure phase.
///
/// Shape:  both series have one length, which ends with the last instant of the list
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayCounts {
    /// Length of a bin: 10 ms, or what makes 200,000 bins at most, of 1, 2 and 5 times powers of ten.
    pub bin_ns: u64,
    /// How coarse the stamps were that the instants were drawn within, if the experiment says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_ns: Option<u64>,
    /// Due.
    #[serde(with = "crate::stored::counts")]
    pub due: Vec<u32>,
    /// Sent, by the instant just before the first byte was written.
    #[serde(with = "crate::stored::counts")]
    pub sent: Vec<u32>,
}

impl ReplayCounts {
    /// Empty counts for a measure phase of this length; memory touched.
    pub fn new(length_ns: u64, resolution_ns: Option<u64>) -> Self {
        let bin_ns = bin(length_ns);
        let bins = usize::try_from(length_ns.div_ceil(bin_ns)).unwrap_or(0);
        Self { bin_ns, resolution_ns, due: vec![0; bins], sent: vec![0; bins] }
    }

    /// Counts an operation that is due at this instant of the measure phase.
    pub(crate) fn plan(&mut self, at_ns: u64) {
        count(&mut self.due, at_ns / self.bin_ns);
    }

    /// Counts an operation that ended, if its request was sent. `measure_from`: the start of the measure phase.
    pub(crate) fn end(&mut self, sample: &Sample<'_>, measure_from: u64) {
        // One that found no connection has no instants after that: it ends when it starts.
        if sample.service_time() > 0 || sample.outcome == Outcome::Succeeded {
            count(&mut self.sent, sample.started_at.saturating_sub(measure_from) / self.bin_ns);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let add = |mine: &mut [u32], theirs: &[u32]| {
            mine.iter_mut()
                .zip(theirs)
                .for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
        };
        add(&mut self.due, &other.due);
        add(&mut self.sent, &other.sent);
    }
}

/// What lies beyond the last bin is left out.
fn count(bins: &mut [u32], place: u64) {
    let bin = usize::try_from(place).ok().and_then(|place| bins.get_mut(place));
    if let Some(bin) = bin {
        *bin += 1;
    }
}

fn bin(length_ns: u64) -> u64 {
    let mut power = FINEST;
    loop {
        let steps = [power, power.saturating_mul(2), power.saturating_mul(5)];
        if let Some(bin) = steps.into_iter().find(|bin| length_ns.div_ceil(*bin) <= MOST_BINS) {
            return bin;
        }
        power = power.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_long_trial_has_coarser_bins() {
        let bins = |seconds: u64| {
            let counts = ReplayCounts::new(seconds * SECOND, None);
            (counts.bin_ns / 1_000_000, counts.due.len())
        };
        assert_eq!(bins(0), (10, 0));
        assert_eq!(bins(2_000), (10, 200_000));
        assert_eq!(bins(2_001), (20, 100_050));
        assert_eq!(bins(86_400), (500, 172_800));
        assert_eq!(ReplayCounts::new(u64::MAX, None).bin_ns, 100_000 * SECOND);
    }

    #[test]
    fn counts_are_read_back_as_they_were_written() {
        let mut counts = ReplayCounts::new(SECOND, Some(SECOND));
        counts.plan(0);
        counts.plan(999_999_999);
        counts.plan(SECOND);
        counts.sent[7] = u32::MAX;
        counts.sent[8] = 300;
        let mut twice = counts.clone();
        assert_eq!((counts.due[0], counts.due[99], counts.due.iter().sum::<u32>()), (1, 1, 2));
        let text = serde_json::to_string(&counts).unwrap();
        assert_eq!(serde_json::from_str::<ReplayCounts>(&text).unwrap(), counts);
        counts.sent[7] = 0;
        twice.merge(&counts);
        assert_eq!((twice.due[0], twice.sent[7], twice.sent[8]), (2, u32::MAX, 600));
        for broken in ["not base64!", "gA==", "/////38="] {
            let text = format!("{{\"bin_ns\":1,\"due\":\"{broken}\",\"sent\":\"\"}}");
            assert!(serde_json::from_str::<ReplayCounts>(&text).is_err(), "{broken}");
        }
    }
}
