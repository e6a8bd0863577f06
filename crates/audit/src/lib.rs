//! Reads reports of other tools into one model, and checks them against rules.
//!
//! Pure: files only through `Read` and `Write`; no clock. Not here: runs of our own (see `judge`), and
//! how tables look (see `pages`).
//!
//! In reading order: [`imports`] reads reports; [`rules`] finds what is wrong with one; [`page`] shows the result;
//! [`catalogue`] says what covers each rule in a run of our own.

pub mod catalogue;
pub mod imports;
pub mod page;
pub mod rules;
