//! Numbers of one lane as they arrive: new, late, or again.

use std::collections::BTreeMap;

/// Gaps that are remembered; of older ones what comes late counts as come again.
const MOST_GAPS: usize = 1024;

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Beyond all others, with so many left out before it.
    New { left_out: u64 },
    /// It was left out before.
    Late,
    /// It was there before; or it lies before the first that came.
    Again,
}

/// What came of one lane.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    /// One beyond the highest; `None` before the first.
    next: Option<u64>,
    /// Numbers that were left out and have not come: first to one beyond the last.
    gaps: BTreeMap<u64, u64>,
}

impl Sequence {
    /// Takes a number, which is below the largest that there is.
    pub fn take(&mut self, number: u64) -> Arrival {
        let next = self.next.unwrap_or(number);
        if number < next {
            return if self.fill(number) { Arrival::Late } else { Arrival::Again };
        }
        if number > next {
            if self.gaps.len() >= MOST_GAPS {
                self.gaps.pop_first();
            }
            self.gaps.insert(next, number);
        }
        self.next = Some(number + 1);
        Arrival::New { left_out: number - next }
    }

    /// Takes a number out of the gap in which it lies.
    fn fill(&mut self, number: u64) -> bool {
        let Some((first, end)) = self.gaps.range(..=number).next_back().map(|(a, b)| (*a, *b))
        else {
            return false;
        };
        if number >= end {
            return false;
        }
        self.gaps.remove(&first);
        for (first, end) in [(first, number), (number + 1, end)] {
            if first < end {
                self.gaps.insert(first, end);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: Arrival = Arrival::New { left_out: 0 };

    fn take(numbers: &[u64]) -> Vec<Arrival> {
        let mut sequence = Sequence::default();
        numbers.iter().map(|number| sequence.take(*number)).collect()
    }

    #[test]
    fn the_first_number_may_be_any_and_the_next_follow_it() {
        assert_eq!(take(&[0, 1, 2]), [NEXT; 3]);
        assert_eq!(take(&[7, 8]), [NEXT; 2]);
        assert_eq!(take(&[u64::MAX - 1]), [NEXT]);
        assert_eq!(take(&[7, 6]), [NEXT, Arrival::Again]);
    }

    #[test]
    fn what_was_left_out_is_late_once_and_comes_again_after_that() {
        let (late, again) = (Arrival::Late, Arrival::Again);
        let left_out = |left_out| Arrival::New { left_out };
        let numbers = [0, 5, 5, 0, 3, 3, 1, 4, 2, 2, 6];
        let expected =
            [NEXT, left_out(4), again, again, late, again, late, late, late, again, NEXT];
        assert_eq!(take(&numbers), expected);
        assert_eq!(take(&[0, 2, 4, 3, 1, 1, 3])[3..], [late, late, again, again]);
    }

    #[test]
    fn the_oldest_gaps_are_forgotten() {
        let mut sequence = Sequence::default();
        for number in 0..=MOST_GAPS as u64 + 1 {
            sequence.take(2 * number);
        }
        assert_eq!(sequence.gaps.len(), MOST_GAPS);
        assert_eq!(sequence.take(1), Arrival::Again, "forgotten");
        assert_eq!(sequence.take(3), Arrival::Late);
    }

    /// Every order of five numbers against a plain list of what has come.
    #[test]
    fn it_agrees_with_a_list() {
        let mut orders = vec![vec![]];
        for _ in 0..5 {
            let longer = |order: &Vec<u64>| {
                (0..5).map(|number| [&order[..], &[number]].concat()).collect::<Vec<_>>()
            };
            orders = orders.iter().flat_map(longer).collect();
        }
        for order in orders {
            let (mut sequence, mut seen) = (Sequence::default(), Vec::new());
            for number in &order {
                let highest = seen.iter().max().copied();
                let expected = match highest {
                    None => NEXT,
                    Some(highest) if *number > highest => {
                        Arrival::New { left_out: number - highest - 1 }
                    }
                    _ if seen.contains(number) || *number < seen[0] => Arrival::Again,
                    _ => Arrival::Late,
                };
                assert_eq!(sequence.take(*number), expected, "{order:?}");
                seen.push(*number);
            }
        }
    }
}
