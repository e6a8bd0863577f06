//! What a route does at an instant: computed from the time since its recipe was added, by no timer
//! that could outlive the recipe.

use std::borrow::Cow;
use std::sync::Arc;

use super::delay::Delay;
use super::draws::Draws;

/// From an instant on: how long answers wait and what they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Nanoseconds since the recipe was added.
    pub at_ns: u64,
    /// How long answers wait.
    pub delay: Delay,
    /// What they are; not empty.
    pub outcomes: Arc<[Outcome]>,
}

/// One of the things that an answer may be.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How often it is met, in proportion to those beside it; above zero.
    pub weight: f64,
    /// The status.
    pub status: u16,
    /// What happens in place of an answer, or in the middle of it.
    pub fault: Option<Fault>,
    /// Bytes of the body for each second, if they are held back.
    pub bytes_per_second: Option<u64>,
}

/// What becomes of the connection in place of a whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// What becomes of it.
    pub end: End,
    /// After the head and so many bytes of the body; before the head if `None`.
    pub after_bytes: Option<u64>,
}

/// Ends of an answer that are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The connection is reset.
    Reset,
    /// It is closed.
    Close,
    /// Nothing comes any more until the client leaves.
    Hang,
}

/// The stages of a route in the order of their instants, and what went before them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timeline {
    stages: Vec<Stage>,
    /// After so many nanoseconds all begins again.
    every_ns: Option<u64>,
    /// Whether times move in a straight line from stage to stage.
    interpolate: bool,
    /// What holds until the first stage, if not that there is no recipe.
    before: Option<(Delay, Arc<[Outcome]>)>,
}

/// What holds at an instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment<'a> {
    /// How long answers wait.
    pub delay: Cow<'a, Delay>,
    /// What they are.
    pub outcomes: &'a Arc<[Outcome]>,
}

impl Timeline {
    /// A timeline of these stages, in any order; of several at one instant the last holds.
    pub fn new(mut stages: Vec<Stage>, every_ns: Option<u64>, interpolate: bool) -> Self {
        // A stable sort from the back: the first of those at one instant is the one that was last.
        stages.reverse();
        stages.sort_by_key(|stage| stage.at_ns);
        stages.dedup_by_key(|stage| stage.at_ns);
        Self { stages, every_ns, interpolate, before: None }
    }

    /// The same in the place of another: until the first stage holds what held of the other then.
    pub fn after(self, held: Option<Moment<'_>>) -> Self {
        let before = held.map(|held| (held.delay.into_owned(), Arc::clone(held.outcomes)));
        Self { before, ..self }
    }

    /// What holds so long after the recipe was added; `None` before the first stage of a route
    /// that was not there before.
    pub fn at(&self, since_ns: u64) -> Option<Moment<'_>> {
        let (round, into_ns) = match self.every_ns {
            Some(every_ns) => (since_ns / every_ns, since_ns % every_ns),
            None => (0, since_ns),
        };
        let begun = self.stages.partition_point(|stage| stage.at_ns <= into_ns);
        match (begun, self.stages.last()) {
            (0, Some(last)) if round > 0 => {
                // The last stage of the round before.
                let every_ns = self.every_ns.unwrap_or_default();
                Some(self.moment(last, into_ns + every_ns - last.at_ns, self.stages.first()))
            }
            (0, _) => {
                let (delay, outcomes) = self.before.as_ref()?;
                Some(Moment { delay: Cow::Borrowed(delay), outcomes })
            }
            _ => {
                let stage = &self.stages[begun - 1];
                let again = self.stages.first().filter(|_| self.every_ns.is_some());
                let next = self.stages.get(begun).or(again);
                Some(self.moment(stage, into_ns - stage.at_ns, next))
            }
        }
    }

    /// What holds so long into a stage, which another follows.
    fn moment<'a>(&'a self, stage: &'a Stage, into_ns: u64, next: Option<&Stage>) -> Moment<'a> {
        let outcomes = &stage.outcomes;
        let delay = match next.filter(|_| self.interpolate) {
            None => Cow::Borrowed(&stage.delay),
            Some(next) => {
                let round_ns = self.every_ns.filter(|_| next.at_ns <= stage.at_ns).unwrap_or(0);
                let length_ns = next.at_ns + round_ns - stage.at_ns;
                stage.delay.towards(&next.delay, into_ns as f64 / length_ns as f64)
            }
        };
        Moment { delay, outcomes }
    }
}

impl Moment<'_> {
    /// One of its outcomes, by their weights. A single one draws nothing.
    pub fn draw(&self, draws: &mut Draws) -> &Outcome {
        let (last, others) = self.outcomes.split_last().expect("there is one");
        if others.is_empty() {
            return last;
        }
        let all: f64 = self.outcomes.iter().map(|outcome| outcome.weight).sum();
        let mut left = draws.uniform() * all;
        let met = others.iter().find(|outcome| {
            left -= outcome.weight;
            left < 0.0
        });
        met.unwrap_or(last)
    }

    /// As a list of routes tells it: `200 100`, and outcomes by their weights, `200:9|503:1 100`.
    pub fn describe(&self) -> String {
        let status = match &self.outcomes[..] {
            [one] => one.status.to_string(),
            several => {
                let told: Vec<String> =
                    several.iter().map(|one| format!("{}:{}", one.status, one.weight)).collect();
                told.join("|")
            }
        };
        format!("{status} {}", self.delay)
    }
}

#[cfg(test)]
mod tests;
