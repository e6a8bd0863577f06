//! The terms of a search: its settings, steps, outcomes and end.

/// What is searched, and what it may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchSettings {
    /// First rate, per second.
    pub start: f64,
    /// Rate that is never exceeded.
    pub most: Option<f64>,
    /// Greatest ratio of the ends of the bracket, 1.005 or more.
    pub precision: f64,
    /// Shortest trial, in seconds; not above the longest.
    pub shortest: f64,
    /// Longest trial, in seconds.
    pub longest: f64,
    /// Operations that a trial should have, as far as the longest trial holds them.
    pub operations: f64,
    /// Operations without which no trial can pass, however fast all of them were; 0 where any number can.
    pub fewest: f64,
    /// Fresh trials that confirm the low end; 0 for none.
    pub confirmations: u32,
    /// Trials (on a noisy host: rates) that bring the ends together, after which they are left where they are.
    pub narrowing: u32,
    /// Whether a rate is judged by many of the shortest trials, as long as the longest together and half of which
    /// may be bad.
    pub noisy_host: bool,
    /// Trials after which the search gives up.
    pub most_trials: usize,
    /// Of the order in which confirming trials come.
    pub seed: u64,
}

/// Why a step is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To find a rate that passes and one that does not.
    Expand,
    /// To bring the ends together.
    Narrow,
    /// An end rests on a short trial.
    Retest,
    /// To confirm the low end.
    Confirm,
    /// Below the low end, to see whether rates are in order; at the high end, to see it fail again.
    Check,
}

/// A trial that is to be made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchStep {
    /// Operations a second.
    pub rate: f64,
    /// Length of the measure phase.
    pub seconds: f64,
    /// Why.
    pub purpose: Purpose,
}

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOutcome {
    /// The criteria are met.
    Passed,
    /// One is not.
    Failed,
    /// The trial cannot tell.
    Undecided,
    /// The generator spoiled it.
    Invalid,
}

/// How the search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchEnding {
    /// Both ends are known, and the low one is confirmed.
    Bracketed,
    /// The generator can not make a rate above the low end.
    GeneratorLimited,
    /// The generator spoiled trial after trial at the first rate, or at one that it had made before.
    Spoiled,
    /// The greatest rate that was allowed still passes.
    LimitReached,
    /// No rate passes.
    NothingPasses,
    /// Too many trials.
    Exhausted,
}

/// Why the ends were brought no nearer to each other than they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFurther {
    /// A rate between them passed in one trial and not in another.
    Contested,
    /// All trials were made that were to bring them together.
    Spent,
}

/// What is known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bracket {
    /// Largest rate that passes, below all that do not; once a rate was not confirmed, the largest that was.
    pub low: Option<f64>,
    /// Smallest rate that was not shown to pass.
    pub not_shown: Option<f64>,
    /// Smallest rate that was shown to fail, and never passed.
    pub high: Option<f64>,
    /// Whether a rate passed above one that did not.
    pub in_disorder: bool,
}
