//! What tests of systems share: a [`TestSystem`] on a thread, a plain HTTP [`client`], a real [`Nginx`] behind a
//! proxy, and a [`Program`] that plays a part of a system.
//!
//! For `[dev-dependencies]` alone. Not here: assertions about any one system.

#![expect(clippy::unwrap_used, reason = "all of it is for tests, where a panic is the message")]

pub mod client;
mod nginx;
mod program;
mod system;

use std::time::{Duration, Instant};

pub use nginx::Nginx;
pub use program::Program;
pub use system::TestSystem;

/// A test that waits longer than this waits for what does not come.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until a figure has this value.
///
/// Panics: it has not within [`PATIENCE`]
pub fn wait_for(name: &str, wanted: u64, figure: impl Fn() -> u64) {
    let end = Instant::now() + PATIENCE;
    loop {
        let found = figure();
        if found == wanted {
            return;
        }
        assert!(Instant::now() < end, "{name} is {found}, not {wanted}");
        std::thread::yield_now();
    }
}

/// Bytes of which no run is like another, so that they do not compress to nothing; in lower-case letters.
pub fn content(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b'a' + (state >> 28) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}
