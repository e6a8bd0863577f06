//! Positions and labels on the axes of charts that are boxes with positions in per cent.
//!
//! Not here: the axis of ratios in the forest plot (see `forest`), and the charts that scripts draw.

use serde::Serialize;

/// A label.
#[derive(Debug, Serialize)]
pub struct Tick {
    /// In per cent.
    pub at: f64,
    /// Its text.
    pub text: String,
}

/// A step of 1, 2 or 5 times a power of ten: the smallest with at most `most` steps in this length.
pub fn step(length: f64, most: f64) -> f64 {
    let power = 10_f64.powf((length / most).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power);
    steps.into_iter().find(|step| length / step <= most).unwrap_or(length)
}

/// Leaves out labels that would overlap the one before: nearer than `least`, or than half of both texts with
/// `character` per cent for each letter.
pub fn apart(ticks: impl Iterator<Item = Tick>, least: f64, character: f64) -> Vec<Tick> {
    let mut kept: Vec<Tick> = Vec::new();
    for tick in ticks {
        let letters = |last: &Tick| (last.text.chars().count() + tick.text.chars().count()) as f64;
        let wanted = |last: &Tick| least.max(character * (letters(last) / 2.0 + 1.0));
        if kept.last().is_none_or(|last| tick.at - last.at >= wanted(last)) {
            kept.push(tick);
        }
    }
    kept
}

/// Where a value is on a logarithmic axis between these two, with room at both ends.
pub fn on_logarithm(value: f64, from: f64, to: f64) -> f64 {
    rounded(2.0 + 96.0 * (value / from).ln() / (to / from).ln())
}

/// Rounded to a hundredth of a per cent.
pub fn rounded(place: f64) -> f64 {
    (place * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_few() {
        let steps = [(1.0, 5.0), (0.3, 6.0), (7.0, 7.0), (1_234.0, 5.0)];
        assert_eq!(steps.map(|(length, most)| step(length, most)), [0.2, 0.05, 1.0, 500.0]);
    }

    #[test]
    fn long_labels_want_more_room() {
        let ticks = |texts: [&str; 3]| {
            let at = (0_u8..).map(|place| f64::from(place) * 10.0);
            let ticks = at.zip(texts).map(|(at, text)| Tick { at, text: text.to_owned() });
            let kept = apart(ticks, 6.0, 2.0);
            kept.into_iter().map(|tick| tick.text).collect::<Vec<_>>()
        };
        assert_eq!(ticks(["0", "10", "20"]), ["0", "10", "20"]);
        assert_eq!(ticks(["1000000", "10", "2000000"]), ["1000000", "2000000"]);
    }
}
