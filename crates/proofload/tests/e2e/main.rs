//! The real binary against real servers: what a user gets, from exit codes to pages.

mod faults;
mod formats;
mod lab;
mod loads;
mod page;
mod peers;
mod stalls;
