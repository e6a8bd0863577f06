//! One worker: a thread's share of the load, from the plan to the record.
//!
//! Open, closed and users' loads differ only in where the next operation comes from; one lane
//! performs them all. Everything here is generic over clock, network and driver, and runs on
//! virtual time as it does on the real clock. Nothing is shared between workers.
//!
//! In reading order: what a worker is told (`brief`), whose turn it is (`turns`), the state that its
//! tasks share (`room`, with `pool`, `seat`, `gauge`), the sources of operations (`pacer`, `actors`),
//! the performing (`lane`, `bundle`, `watchdog`), the hand-over of windows (`roller`,
//! `backlog`), and the course of it all
//! (`shift`).

mod actors;
mod backlog;
mod brief;
mod bundle;
mod gauge;
mod job;
mod lane;
mod pacer;
mod pool;
mod roller;
mod room;
mod seat;
mod shift;
mod turns;
mod watchdog;

pub(crate) use backlog::Backlog;
pub(crate) use brief::{Brief, Message, Prepared, Timeline};
pub(crate) use shift::{Report, Stops, work};
