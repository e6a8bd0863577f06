//! Named stretches of one operation, and one that it may have many of.

use stats::{FINE, Histogram};

/// Repetitions that are kept one by one; beyond them they are counted into a histogram.
const FEW: usize = 4096;

/// Named stretches of one operation, in the order of the trial's span names.
///
/// Units: nanoseconds; an absent span is `None`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spans {
    values: Vec<u64>,
    repeated: Repeated,
}

/// A stretch that one operation has many of, such as the gaps between the events of a stream.
#[derive(Debug, Clone, PartialEq, Default)]
struct Repeated {
    /// Its place in the list of names.
    index: usize,
    few: Vec<u64>,
    many: Option<Box<Histogram>>,
}

impl Spans {
    const ABSENT: u64 = u64::MAX;

    /// Those of an operation that stamps none.
    pub const NONE: &'static Self = &Self::none();

    /// No span stamped yet.
    pub const fn none() -> Self {
        Self { values: Vec::new(), repeated: Repeated { index: 0, few: Vec::new(), many: None } }
    }

    /// Forgets the previous operation, but not its memory.
    pub fn clear(&mut self) {
        self.values.fill(Self::ABSENT);
        self.repeated.few.clear();
        self.repeated.many = None;
    }

    /// Notes that the span with this index took `nanoseconds`.
    ///
    /// Cost:   allocates only for an index greater than any before
    pub fn set(&mut self, index: usize, nanoseconds: u64) {
        if index >= self.values.len() {
            self.values.resize(index + 1, Self::ABSENT);
        }
        self.values[index] = nanoseconds;
    }

    /// The span with this index, in nanoseconds, if it was stamped.
    pub fn get(&self, index: usize) -> Option<u64> {
        self.values.get(index).copied().filter(|&value| value != Self::ABSENT)
    }

    /// Notes one repetition of the span with this index; an operation repeats one span alone.
    ///
    /// Cost:   memory of at most 4,096 values and one histogram
    pub fn repeat(&mut self, index: usize, nanoseconds: u64) {
        let Repeated { index: own, few, many } = &mut self.repeated;
        debug_assert!(*own == index || few.is_empty(), "two repeated spans in one operation");
        *own = index;
        if few.len() == FEW {
            let many = many.get_or_insert_with(|| Box::new(Histogram::new(FINE)));
            few.drain(..).for_each(|value| many.record(value));
        }
        few.push(nanoseconds);
    }

    /// Takes the values of others, without repetitions, to be kept for long.
    pub(crate) fn copy_values(&mut self, other: &Self) {
        self.values.clone_from(&other.values);
    }

    /// Counts each span, and each repetition, into the histogram at its index.
    pub(crate) fn count_all(&self, histograms: &mut [Histogram]) {
        for (&value, histogram) in self.values.iter().zip(histograms.iter_mut()) {
            if value != Self::ABSENT {
                histogram.record(value);
            }
        }
        // Most operations repeat nothing, and the place is then that of another span.
        if !self.repeated.few.is_empty()
            && let Some(histogram) = histograms.get_mut(self.repeated.index)
        {
            self.count_repetitions(histogram);
        }
    }

    /// Counts each repetition into a histogram.
    pub(crate) fn count_repetitions(&self, histogram: &mut Histogram) {
        let Repeated { few, many, .. } = &self.repeated;
        few.iter().for_each(|&value| histogram.record(value));
        many.iter().for_each(|many| histogram.merge(many));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(spans: &Spans, index: usize) -> Histogram {
        let mut histograms = [(); 3].map(|()| Histogram::new(FINE));
        spans.count_all(&mut histograms);
        histograms[index].clone()
    }

    #[test]
    fn there_may_be_any_number_of_spans() {
        let mut spans = Spans::none();
        spans.set(1_000, 7);
        assert_eq!(
            [0, 999, 1_000, 1_001].map(|place| spans.get(place)),
            [None, None, Some(7), None]
        );
        spans.clear();
        assert_eq!(spans.get(1_000), None);
    }

    #[test]
    fn repetitions_are_all_counted_few_or_many() {
        let mut spans = Spans::none();
        let mut expected = Histogram::new(FINE);
        for value in 0..3 * FEW as u64 + 5 {
            spans.repeat(2, value * 1_000);
            expected.record(value * 1_000);
        }
        spans.set(0, 9);
        assert_eq!(counted(&spans, 2), expected);
        assert_eq!(counted(&spans, 0).count(), 1);
        let mut copy = Spans::none();
        copy.copy_values(&spans);
        assert_eq!((copy.get(0), counted(&copy, 2).count()), (Some(9), 0));
        spans.clear();
        assert_eq!(counted(&spans, 2).count(), 0);
    }
}
