//! Is anybody there at all? Asked once, before the run.

use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use record::FailureKind;

use super::endpoint::{Address, Endpoint};
use super::failure::{describe, failure_kind};

/// Connects once and closes again, to learn before the run whether anybody listens.
///
/// It blocks for `within` at most. Nothing is sent, not even a TLS hello: whether the target speaks
/// well is for the run to find out.
///
/// Errors: the kind of failure and what was seen
pub fn first_contact(endpoint: &Endpoint, within: Duration) -> Result<(), (FailureKind, String)> {
    let deadline = Instant::now() + within;
    let result = match &endpoint.address {
        Address::Unix(path) => UnixStream::connect(path).map(drop),
        Address::Memory(_) => Ok(()),
        Address::Tcp(addresses) => {
            let mut last = Err(std::io::ErrorKind::AddrNotAvailable.into());
            for (index, address) in addresses.iter().enumerate() {
                let left = deadline.saturating_duration_since(Instant::now());
                let share = left / u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
                // A zero time-out is an error of its own kind to the standard library.
                last = TcpStream::connect_timeout(address, share.max(Duration::from_millis(1)))
                    .map(drop);
                if last.is_ok() {
                    break;
                }
            }
            last
        }
    };
    result.map_err(|error| {
        (failure_kind(&error), describe(&format!("connecting to {endpoint}"), &error))
    })
}
