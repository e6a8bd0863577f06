//! Quantities as people write them: durations, rates, sizes, percentages. A unit is mandatory.
//! And [`near_miss()`], the word that was probably meant.
//!
//! Pure. Not here: numbers as other tools print them, and what a quantity means.

mod format;
mod near_miss;
mod parse;

pub use format::{format_duration, format_rate};
pub use near_miss::near_miss;
pub use parse::{
    parse_duration, parse_duration_range, parse_percentage, parse_rate, parse_ratio, parse_size,
    time_units, zero_or,
};
