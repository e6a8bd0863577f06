//! Before a run: experiment file, plan, schedule of arrivals.
//!
//! Pure: files only through a trait, no clock, no entropy.

// In reading order: the file and its problems,
pub mod diagnostic;
pub mod document;
pub mod units;
pub mod url_run;
// its contents,
pub mod arrival_list;
pub mod comparison;
pub mod criterion;
pub mod expectation;
pub mod experiment;
pub mod fault;
pub mod journey;
pub mod load;
pub mod number;
pub mod operation;
pub mod printable;
pub mod process;
pub mod protocol;
pub mod ramp;
pub mod request_list;
pub mod rows;
pub mod scale;
pub mod sessions;
pub mod target;
pub mod template;
pub mod toml_text;
pub mod trace;
// the plan made from it,
pub mod adaptive;
mod describe;
pub mod hash;
mod order;
pub mod plan;
pub mod plan_difference;
mod rehearsal;
pub mod secret;
// and the schedule made from plan and seed.
mod intensity;
pub mod mix;
pub mod nonce;
pub mod plan_share;
pub mod planned_counts;
pub mod randomness;
pub mod schedule;
