//! What the engine can speak: one folder a protocol, and the one list of them.
//!
//! A protocol is added by its folder and one line in the list below.
//!
//! Not here: connecting, pacing, recording (see `engine`).

mod list;
pub mod probe;

pub mod http1;

list::drivers! {
    "http" => Http1(http1::driver::Http1, http1::probe::probe),
}
