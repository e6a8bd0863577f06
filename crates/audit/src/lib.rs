//! Reports of other tools: read into one model, and held against rules.
//!
//! Pure: files only through `Read` and `Write`; no clock. Not here: runs of our own (see `judge`), and
//! how tables look (see `pages`).
//!
//! In reading order: [`imports`] reads reports; [`rules`] says what is wrong with one; [`page`] shows
//! the result; [`catalogue`] says what becomes of each rule in a run of our own.

pub mod catalogue;
pub mod imports;
pub mod page;
pub mod rules;
