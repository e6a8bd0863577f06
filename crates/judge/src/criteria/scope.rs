//! Which operations a criterion covers, and their parts of a window.

use plan::criterion::{Criterion, Metric, RatioSide};
use plan::plan::Arm;
use record::{FailureKind, OperationTotals, OperationWindow, Window};

/// The operations that a criterion, or a side of its ratio, covers: the one at this place, or all. The places of
/// journeys are after those of operations.
pub(super) type Scope = Option<usize>;

/// The place of an operation among those of an arm; `None` if the arm has no such operation.
pub(super) fn scope(names: &[&str], wanted: Option<&str>) -> Option<Scope> {
    match wanted {
        None => Some(None),
        Some(wanted) => names.iter().position(|name| *name == wanted).map(Some),
    }
}

/// The scopes that a criterion has in one arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scopes {
    pub(super) whole: Scope,
    /// Of the sides of a ratio.
    pub(super) sides: [Scope; 2],
}

impl Scopes {
    /// `None` where the arm lacks one of the operations.
    pub(super) fn of(criterion: &Criterion, arm: &Arm) -> Option<Self> {
        let names = arm.names();
        let whole = scope(&names, criterion.operation.as_deref())?;
        let side = |term: &RatioSide| scope(&names, term.operation.as_deref());
        let sides = match &criterion.metric {
            Metric::Ratio(over, under) => [side(over)?, side(under)?],
            _ => [whole; 2],
        };
        Some(Self { whole, sides })
    }
}

/// The part of one operation, or the parts of all of them.
pub(super) fn parts(window: &Window, scope: Scope) -> &[OperationWindow] {
    match scope {
        Some(place) => window.part(place).map_or(&[], std::slice::from_ref),
        None => &window.operations,
    }
}

/// The bound of a criterion on a time, in nanoseconds.
pub(super) fn bound_ns(criterion: &Criterion) -> u64 {
    criterion.bound.max(0.0) as u64
}

/// Failures by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Failures([u64; FailureKind::ALL.len()]);

impl Failures {
    pub(super) fn of(totals: &OperationTotals) -> Self {
        let mut failures = Self::default();
        failures.0.iter_mut().zip(&totals.failures).for_each(|(mine, count)| *mine = *count);
        failures
    }

    /// Adds the failures of a window.
    pub(super) fn add_part(&mut self, part: &OperationWindow) {
        for (kind, count) in &part.failed {
            self.0[kind.index()] += count;
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, count)| *mine += count);
    }

    /// The number of failures of the kind with this name.
    pub(super) fn named(&self, kind: &str) -> u64 {
        FailureKind::named(kind).map_or(0, |kind| self.0[kind.index()])
    }
}
