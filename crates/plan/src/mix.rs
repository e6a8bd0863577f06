//! The mix: assigns an operation or a journey to the k-th arrival, drawn from the seed.

use crate::arrival_list::{ArrivalList, Cursor, RowSource};
use crate::journey::Journey;
use crate::load::Load;
use crate::operation::{Operation, RowOrder};
use crate::randomness::{RandomStream, below, draw, unit};

/// The operation of the k-th arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    /// k.
    pub index: u64,
    /// Index of the operation; journeys have the indices after those of the operations.
    pub operation: usize,
    /// Number of earlier arrivals with this operation.
    pub sequence: u64,
    /// Its row, 0 if the operation has none.
    pub row: usize,
}

/// Walks the indices 0, 1, 2 … and assigns an operation to each; ends when an operation with rows
/// `once` has none left. Every worker walks all indices, so the assignment does not depend on the
/// number of workers.
#[derive(Debug, Clone)]
pub struct Mix {
    seed: u64,
    next: u64,
    parts: Vec<Part>,
    /// Of a list of arrivals that was scaled or names rows, which row each one has.
    listed: Option<Cursor>,
}

/// One operation or journey of the mix.
#[derive(Debug, Clone)]
struct Part {
    /// Share of this operation and of all before it, in (0, 1].
    up_to: f64,
    sequence: u64,
    rows: u64,
    order: RowOrder,
    /// Whether the rows are whole requests or sessions; if there is one for each recorded arrival, each keeps its own.
    is_list: bool,
}

impl Mix {
    /// The mix of these journeys, and of the operations that none of them names.
    ///
    /// Errors: none. If all weights are zero, every operation is the last one; the plan refuses
    /// that in advance.
    pub fn new(operations: &[Operation], journeys: &[Journey], seed: u64) -> Self {
        let alone = operations.iter().map(|operation| {
            let weight = if operation.is_step { 0.0 } else { operation.weight };
            (weight, operation.row_count(), operation.order, operation.requests.is_some())
        });
        let together = journeys.iter().map(|journey| {
            (journey.weight, journey.row_count(), journey.order, journey.sessions.is_some())
        });
        let all: Vec<(f64, usize, RowOrder, bool)> = alone.chain(together).collect();
        let total: f64 = all.iter().map(|(weight, ..)| weight).sum();
        let mut sum = 0.0;
        let part = |(weight, rows, order, is_list): (f64, usize, RowOrder, bool)| {
            sum += weight;
            Part { up_to: sum / total, sequence: 0, rows: rows as u64, order, is_list }
        };
        Self { seed, next: 0, parts: all.into_iter().map(part).collect(), listed: None }
    }

    /// With the rows that arrivals of this load have, if it is a list that was scaled or names them.
    pub fn of_load(self, load: &Load) -> Self {
        let list = load.list().filter(|list| list.rows() != RowSource::Turn);
        Self { listed: list.map(ArrivalList::cursor), ..self }
    }

    /// The operation of the k-th arrival: the first whose cumulated share reaches the k-th draw.
    /// A weight of 0 is never drawn, since draws lie in (0, 1].
    fn operation(&self, index: u64) -> usize {
        let last = self.parts.len() - 1;
        if last == 0 {
            return 0;
        }
        let at = unit(draw(self.seed, RandomStream::Mix, index));
        self.parts.iter().position(|part| at <= part.up_to).unwrap_or(last)
    }
}

impl Iterator for Mix {
    type Item = Assignment;

    fn next(&mut self) -> Option<Assignment> {
        let index = self.next;
        let operation = self.operation(index);
        let seed = self.seed;
        let part = &mut self.parts[operation];
        let sequence = part.sequence;
        let is_meant = |listed: &&mut Cursor| match listed.list().rows() {
            RowSource::Turn => false,
            RowSource::Place(recorded) => recorded == part.rows,
            RowSource::Column => true,
        };
        let own = self.listed.as_mut().filter(|_| part.is_list).filter(is_meant);
        let listed = own.and_then(|listed| listed.at(index));
        let place = listed.map_or(sequence, |listed| u64::from(listed.row));
        let row = match (part.rows, part.order) {
            (0, _) => 0,
            (rows, RowOrder::RoundRobin) => place % rows,
            (rows, RowOrder::Random) => below(draw(seed, RandomStream::Row, index), rows),
            (rows, RowOrder::Once) if place < rows => place,
            (_, RowOrder::Once) => return None,
        };
        part.sequence += 1;
        self.next += 1;
        Some(Assignment { index, operation, sequence, row: row as usize })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::rows::Rows;

    fn operation(weight: f64, rows: usize, order: RowOrder) -> Operation {
        let csv = format!("n\n{}", "1\n".repeat(rows));
        let rows = (rows > 0).then(|| Arc::new(Rows::parse("n.csv", csv.as_bytes()).unwrap()));
        Operation { weight, rows, order, ..Operation::named("x") }
    }

    fn three() -> Vec<Operation> {
        vec![
            operation(50.0, 0, RowOrder::RoundRobin),
            operation(30.0, 7, RowOrder::RoundRobin),
            operation(20.0, 5, RowOrder::Random),
        ]
    }

    #[test]
    fn shares_follow_the_weights_within_four_sigma() {
        let mut counts = [0_u64; 3];
        for assignment in Mix::new(&three(), &[], 1).take(100_000) {
            counts[assignment.operation] += 1;
        }
        for (count, share) in counts.iter().zip([0.5, 0.3, 0.2_f64]) {
            let sigma = (100_000.0 * share * (1.0 - share)).sqrt();
            assert!((*count as f64 - 100_000.0 * share).abs() < 4.0 * sigma, "{counts:?}");
        }
    }

    #[test]
    fn sequences_count_within_their_operation_and_rows_go_round() {
        let mut next = [0; 3];
        for assignment in Mix::new(&three(), &[], 1).take(1000) {
            let expected = &mut next[assignment.operation];
            assert_eq!(assignment.sequence, *expected);
            *expected += 1;
            match assignment.operation {
                0 => assert_eq!(assignment.row, 0),
                1 => assert_eq!(assignment.row as u64, assignment.sequence % 7),
                _ => assert!(assignment.row < 5),
            }
        }
    }

    #[test]
    fn rows_taken_once_end_the_mix() {
        let operations = [operation(1.0, 4, RowOrder::Once)];
        let rows: Vec<usize> = Mix::new(&operations, &[], 1).map(|taken| taken.row).collect();
        assert_eq!(rows, [0, 1, 2, 3]);
    }

    #[test]
    fn a_weight_of_zero_is_never_drawn() {
        let operations = [operation(0.0, 0, RowOrder::Once), operation(1.0, 0, RowOrder::Once)];
        assert!(Mix::new(&operations, &[], 5).take(10_000).all(|taken| taken.operation == 1));
    }

    #[test]
    fn shares_of_any_number_of_workers_unite_to_the_same_mix() {
        let whole: Vec<Assignment> = Mix::new(&three(), &[], 9).take(2000).collect();
        assert_ne!(whole, Mix::new(&three(), &[], 10).take(2000).collect::<Vec<_>>());
        for workers in 1..=16 {
            let mut united: Vec<Assignment> = (0..workers)
                .flat_map(|worker| {
                    let mix = Mix::new(&three(), &[], 9).take(2000);
                    mix.filter(move |taken| taken.index % workers == worker)
                })
                .collect();
            united.sort_by_key(|taken| taken.index);
            assert_eq!(united, whole, "{workers} workers");
        }
    }
}
