//! What a run leaves behind: samples, windows, events, trials; the run folder and its formats.
//!
//! Reading order: a [`Sample`] goes into the [`Recorder`] of its worker, which keeps [`Totals`] and hands over
//! [`Batch`]es, from which the [`WindowAssembler`] makes [`Window`]s. [`TrialFacts`] is what a finished trial leaves,
//! [`folder`] stores it, [`hlog`] and [`hgrm`] are its formats, [`summary`] is the judged result.
//! Pure: files only through `Read` and `Write`. Not here: judgement (see `judge`).

mod error;
pub mod event;
mod failure;
pub mod folder;
pub mod hgrm;
pub mod hlog;
mod lines;
mod message;
mod recorder;
mod sample;
mod spans;
mod status;
mod stored;
pub mod summary;
mod totals;
mod trace_id;
mod trial;
mod window;

pub use error::RecordError;
pub use failure::FailureKind;
pub use recorder::{
    AllFailed, Batch, Failures, ListedSample, ListedSamples, Listing, PhaseBounds, RawSample,
    Recorder, StepPlace, Streak,
};
pub use sample::{Outcome, Sample};
pub use spans::Spans;
pub use status::{Status, StatusName};
pub use totals::{
    BeforeMeasure, ItemTotals, JourneyLayout, JourneyTotals, Layout, MixNames, OperationTotals,
    ReplayCounts, StepOutcome, StepTotals, TailBreakdown, Totals,
};
pub use trace_id::TraceId;
pub use trial::{EarlyEnd, EndReason, FaultDone, GeneratorFacts, PoolFacts, Role, TrialFacts};
pub use window::{LateTime, OperationWindow, Window, WindowAssembler, WindowPart, WindowSpan};
