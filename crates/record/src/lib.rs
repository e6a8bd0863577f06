//! What a run leaves behind: samples, windows, events, trials; the run folder and its formats.
//!
//! Pure: files only through `Read` and `Write`. Not here: judgement (see `report`).

pub mod event;
mod failure;
mod recorder;
mod sample;
pub mod summary;
mod totals;
mod trial;
mod window;

pub use failure::FailureKind;
pub use recorder::{Batch, Phases, RawSample, Recorder};
pub use sample::{Outcome, SPANS_LIMIT, Sample, Spans};
pub use totals::{ItemTotals, Layout, OperationTotals, TailBreakdown, Totals};
pub use trial::{GeneratorFacts, PoolFacts, Trial};
pub use window::{Late, OperationWindow, Window, WindowAssembler, WindowPart, WindowSpan};
