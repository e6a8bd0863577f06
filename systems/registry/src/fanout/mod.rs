//! What every bus does alike: cuts a multicast into deliveries, keeps account of them, and tries
//! again in time.
//!
//! In reading order: [`delivery`] makes deliveries out of targets, [`tracker`] knows those that are
//! under way and who acknowledged them, [`backoff`] says when to try again.

pub mod backoff;
pub mod delivery;
pub mod tracker;
