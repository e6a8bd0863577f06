//! Steps of a visit: which requests begin at the same time, and how long a person pauses between them.

use crate::draft::{DraftStep, MOST_STEPS};

/// Requests that a step begins at the same time, at most.
const MOST_TOGETHER: usize = 6;
/// Shorter pauses are the browser's own; longer ones are cut. In milliseconds.
const SHORTEST_PAUSE: f64 = 200.0;
const LONGEST_PAUSE: f64 = 60_000.0;
/// Recordings are exact to a millisecond.
const SAME_INSTANT: f64 = 1.0;

/// When a request was under way, and what it depends on.
pub struct Span {
    /// When it began, in milliseconds.
    pub start: f64,
    /// When its answer was complete.
    pub end: f64,
    /// Whether it opens a page. Requests of the page begin while it is still read, and cannot begin before.
    pub is_document: bool,
    /// Operations whose answers it needs.
    pub needs: Vec<usize>,
}

/// The steps so far.
#[derive(Default)]
pub struct Timeline {
    steps: Vec<DraftStep>,
    /// The operations of the last step.
    together: Vec<usize>,
    is_document: bool,
    /// When the first of them was complete.
    first_end: f64,
    /// When everything so far was complete.
    last_end: f64,
    /// Pauses that were cut.
    pub cut: usize,
}

impl Timeline {
    /// Whether a journey has room for one more request.
    pub fn has_room(&self, span: &Span) -> bool {
        let more = if self.pause(span).is_some() { 2 } else { 1 };
        self.joins(span) || self.steps.len() + more <= MOST_STEPS
    }

    /// Whether it overlaps with every request of the last step, and needs none of them.
    fn joins(&self, span: &Span) -> bool {
        (1..MOST_TOGETHER).contains(&self.together.len())
            && !self.is_document
            && !span.is_document
            && span.start + SAME_INSTANT < self.first_end
            && span.needs.iter().all(|needed| !self.together.contains(needed))
    }

    /// The pause before it, in milliseconds.
    fn pause(&self, span: &Span) -> Option<f64> {
        let pause = span.start - self.last_end;
        (!self.steps.is_empty() && pause >= SHORTEST_PAUSE).then_some(pause)
    }

    /// Adds an operation, in the order in which requests began.
    pub fn add(&mut self, operation: usize, span: &Span) {
        if self.joins(span) {
            self.together.push(operation);
            self.first_end = self.first_end.min(span.end);
            self.steps.pop();
        } else {
            if let Some(pause) = self.pause(span) {
                self.cut += usize::from(pause > LONGEST_PAUSE);
                let pause = (pause.min(LONGEST_PAUSE) / 100.0).round() / 10.0;
                self.steps.push(DraftStep::Think(pause));
            }
            self.together = vec![operation];
            self.is_document = span.is_document;
            self.first_end = span.end;
        }
        self.last_end = self.last_end.max(span.end);
        self.steps.push(DraftStep::Do(self.together.clone()));
    }

    /// All steps.
    pub fn steps(self) -> Vec<DraftStep> {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of requests with start and end, and those that each needs.
    fn steps(spans: &[(f64, f64, &[usize])]) -> Vec<DraftStep> {
        let mut timeline = Timeline::default();
        for (operation, (start, end, needs)) in spans.iter().enumerate() {
            let (start, end, needs) = (*start, *end, needs.to_vec());
            let span = Span { start, end, is_document: false, needs };
            assert!(timeline.has_room(&span));
            timeline.add(operation, &span);
        }
        timeline.steps()
    }

    #[test]
    fn pauses_are_those_of_a_person() {
        use DraftStep::{Do, Think};
        let spans: [(f64, f64, &[usize]); 4] = [
            (1000.0, 1100.0, &[]),
            (1299.0, 1300.0, &[]),
            (1549.0, 1600.0, &[]),
            (100_000.0, 100_001.0, &[]),
        ];
        let expected =
            [Do(vec![0]), Do(vec![1]), Think(0.2), Do(vec![2]), Think(60.0), Do(vec![3])];
        assert_eq!(steps(&spans), expected);
    }

    #[test]
    fn requests_that_overlap_begin_together() {
        use DraftStep::Do;
        let spans: [(f64, f64, &[usize]); 5] = [
            (0.0, 100.0, &[]),
            (10.0, 50.0, &[]),
            (49.5, 120.0, &[]),
            (60.0, 110.0, &[2]),
            (70.0, 90.0, &[]),
        ];
        assert_eq!(steps(&spans), [Do(vec![0, 1]), Do(vec![2]), Do(vec![3, 4])]);
        let many: Vec<(f64, f64, &[usize])> = vec![(0.0, 100.0, &[]); 8];
        assert_eq!(steps(&many), [Do(vec![0, 1, 2, 3, 4, 5]), Do(vec![6, 7])]);
    }

    #[test]
    fn what_a_page_asks_for_comes_after_it() {
        let mut timeline = Timeline::default();
        for (operation, is_document) in [(0, true), (1, false), (2, true)] {
            let span = Span { start: 0.0, end: 100.0, is_document, needs: Vec::new() };
            timeline.add(operation, &span);
        }
        assert_eq!(timeline.steps(), [0, 1, 2].map(|place| DraftStep::Do(vec![place])));
    }
}
