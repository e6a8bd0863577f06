//! Whether two sets of trials differ, by how much, and what it would take to know.
//!
//! Everything here looks at one value for each trial, because operations of one trial share its queue,
//! its memory layout and its moment: with a million of them every difference would be significant. Not
//! here: which trials are held against each other and in what (see `judge`).
//!
//! In reading order: [`Difference`] is what any comparison comes to; `paired` makes it from blocks, with
//! `sign_flip` and `signed_rank`; `rank_sum` makes it from trials without blocks; [`shares`] of failed
//! operations; [`correction`] for several tests at once; [`decision`] is the word; [`power`] what more
//! blocks would bring; [`shift`] the whole distribution.

pub mod correction;
pub mod decision;
mod difference;
mod paired;
pub mod power;
mod rank_sum;
pub mod shares;
pub mod shift;
mod sign_flip;
mod signed_rank;

pub use difference::Difference;
pub use paired::{Paired, paired};
pub use rank_sum::{RankSum, rank_sum, smallest_p, unpaired};
pub use sign_flip::sign_flip;
pub use signed_rank::{hodges_lehmann, signed_rank_interval};
