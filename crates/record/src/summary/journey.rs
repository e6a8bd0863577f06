//! Journeys of a trial, as a summary shows them.

use serde::{Deserialize, Serialize};

use super::Operation;
use crate::StepTotals;

/// One journey of the mix.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Journey {
    /// Whole journeys: the response time counts from the planned start to the last answer, the service time is the
    /// same without thinking. Statuses, spans and items are those of the operations.
    pub whole: Operation,
    /// How far they came: a funnel.
    pub steps: Vec<StepTotals>,
}
