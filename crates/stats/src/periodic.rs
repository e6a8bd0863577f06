//! Whether rare events come at regular distances.

use crate::special::ln_choose;

use crate::trend::{self, WeightedPoint};

/// Expected number of series of chance as regular as one that is called periodic.
const CHANCE: f64 = 1e-3;
/// Share of the places of a period at which an event must be.
const KEPT: f64 = 0.75;
/// Shorter periods, in windows, cannot be told from events close together.
const SHORTEST: f64 = 4.0;

/// Events at regular distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Period {
    /// Distance, in windows.
    pub windows: f64,
    /// Places of the period within the series.
    pub places: usize,
    /// Places at which there was an event.
    pub kept: usize,
    /// Expected number of series of chance that are as regular.
    pub chance: f64,
}

/// The period of events, if they have one.
///
/// For each period a comb of places, each a window wide and one more to both sides, is laid over the events. It is
/// called periodic where three quarters of its places have an event, most events stand on it, and fewer than one in
/// a thousand series of chance would do as well: C(n,k)·C(s,k)·3^k·P·G / C(N,k) for k of s places kept by n events
/// in N windows, P phases and G periods tried.
///
/// Shape:  `events`: numbers of windows, ascending, each once; `windows`: length of the series
/// Source: ours, by counting subsets
pub fn period(events: &[u64], windows: u64) -> Option<Period> {
    let (first, last) = (*events.first()?, *events.last()?);
    let grid = 2 * windows;
    let mut best: Option<Period> = None;
    for places in 4..=events.len() * 4 / 3 + 1 {
        // The first and the last event may each be a window off their places.
        for shift in [-1.0, -0.5, 0.0, 0.5, 1.0] {
            let length = ((last - first) as f64 + shift) / (places - 1) as f64;
            if length < SHORTEST {
                continue;
            }
            let Some(on) = laid(events, first, length, places) else { continue };
            let kept = on.len();
            let chance = chance(events.len(), kept, places, windows, length * grid as f64);
            if chance < CHANCE && best.is_none_or(|best| chance < best.chance) {
                let windows = trend::line(&on).map_or(length, |line| line.slope);
                best = Some(Period { windows, places, kept, chance });
            }
        }
    }
    best
}

/// The first event of each place that has one, if they are enough and most events stand on places.
fn laid(events: &[u64], first: u64, length: f64, places: usize) -> Option<Vec<WeightedPoint>> {
    let mut kept: Vec<Option<WeightedPoint>> = vec![None; places];
    let mut on = 0;
    for &event in events {
        let since = (event - first) as f64;
        let place = (since / length).round();
        if (since - place * length).abs() <= 1.0 && (place as usize) < places {
            kept[place as usize].get_or_insert(WeightedPoint {
                x: place,
                y: event as f64,
                weight: 1.0,
            });
            on += 1;
        }
    }
    let kept: Vec<WeightedPoint> = kept.into_iter().flatten().collect();
    (kept.len() as f64 >= KEPT * places as f64 && on * 3 >= events.len() * 2).then_some(kept)
}

fn chance(events: usize, kept: usize, places: usize, windows: u64, tried: f64) -> f64 {
    let k = kept as f64;
    let subsets =
        ln_choose(events as f64, k) + ln_choose(places as f64, k) - ln_choose(windows as f64, k);
    (subsets + k * 3_f64.ln() + tried.ln()).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distinct windows drawn at random, ascending.
    fn drawn(seed: u64, many: usize, windows: u64) -> Vec<u64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut set = std::collections::BTreeSet::new();
        while set.len() < many {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            set.insert((state >> 11) % windows);
        }
        set.into_iter().collect()
    }

    #[test]
    fn a_stall_every_five_seconds_of_a_minute_is_periodic() {
        let found = period(&(0..12).map(|k| 3 + 5 * k).collect::<Vec<_>>(), 60).unwrap();
        assert!((found.windows - 5.0).abs() < 0.1, "{found:?}");
        assert_eq!((found.places, found.kept), (12, 12));
    }

    #[test]
    fn a_period_between_windows_with_jitter_a_gap_and_a_stranger_is_found() {
        // Every 13.4 windows of 200, one left out, one too many.
        let mut events: Vec<u64> =
            (0..14).filter(|&k| k != 6).map(|k| (7.0 + 13.4 * f64::from(k)) as u64).collect();
        events.push(41);
        events.sort_unstable();
        let found = period(&events, 200).unwrap();
        assert!((found.windows - 13.4).abs() < 0.3, "{found:?}");
        assert_eq!(found.kept, 13);
    }

    #[test]
    fn few_or_crowded_events_are_no_period() {
        assert_eq!(period(&[], 100), None);
        assert_eq!(period(&[10, 30, 50], 100), None, "three are chance");
        assert_eq!(period(&(0..60).collect::<Vec<_>>(), 60), None);
    }

    #[test]
    fn events_of_chance_are_hardly_ever_periodic() {
        let seeds = if std::env::var_os("PROOFLOAD_PROOF").is_some() { 5_000 } else { 500 };
        let mut false_alarms = 0;
        for seed in 0..seeds {
            let (many, windows) =
                [(5, 60), (12, 60), (8, 100), (20, 200), (40, 300)][seed as usize % 5];
            false_alarms += u64::from(period(&drawn(seed + 1, many, windows), windows).is_some());
        }
        assert!(false_alarms * 100 <= seeds, "{false_alarms} of {seeds}");
    }
}
