//! The three ways, for tokio: kept connections, each number of them bounded.

pub mod channel;
pub mod http;
mod pool;
pub mod unix;

pub use channel::Channel;
pub use http::Http;
pub use unix::Unix;
