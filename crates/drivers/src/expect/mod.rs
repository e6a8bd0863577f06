//! What an answer must be to count as a success, and the numbers read from it.
//!
//! Not here: reading these from the experiment file (see `http::compile::expect`).

pub mod answer_view;
mod checks;
pub mod decompression;
pub mod expectations;
pub mod json;
pub mod json_scan;
pub mod pattern;
pub mod rule;

#[cfg(test)]
mod tests;
