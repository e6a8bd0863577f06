//! The atomics that `ring`, `sleep` and `slots` stand on: those of the standard library.
//!
//! A name of its own, because `tests/loom.rs` includes these three files and puts loom's here.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
