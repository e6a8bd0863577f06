//! What every bus does alike: cuts a multicast into deliveries, keeps account of them, and tries
//! again in time.
//!
//! In reading order: [`parcel`] makes deliveries out of targets, [`ledger`] knows those that are
//! under way and who acknowledged them, [`pause`] says when to try again.

pub mod ledger;
pub mod parcel;
pub mod pause;
