//! Checks once, before the run, that a target accepts connections.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use record::FailureKind;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::endpoint::{Address, Endpoint};
use super::failure::{describe, failure_kind};

/// Connects once and closes again, to learn before the run whether the target accepts connections.
///
/// It blocks for `within` at most. It sends nothing, not even a TLS hello: it does not check the protocol.
///
/// Errors: the kind of failure and what was seen
pub fn check_reachable(endpoint: &Endpoint, within: Duration) -> Result<(), (FailureKind, String)> {
    let result = match &endpoint.address {
        Address::Tcp(addresses) => connect_tcp(addresses, within),
        Address::Unix(path) | Address::Channel(path) => connect_unix(path),
        Address::Memory(_) => Ok(()),
    };
    result.map_err(|error| {
        (failure_kind(&error), describe(&format!("connecting to {endpoint}"), &error))
    })
}

/// Each address gets an equal share of the remaining time.
fn connect_tcp(addresses: &[SocketAddr], within: Duration) -> io::Result<()> {
    let deadline = Instant::now() + within;
    let mut last = Err(io::ErrorKind::AddrNotAvailable.into());
    for (index, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
        // The standard library refuses a time-out of zero.
        last = TcpStream::connect_timeout(address, share.max(Duration::from_millis(1))).map(drop);
        if last.is_ok() {
            break;
        }
    }
    last
}

/// Does not wait: a full backlog also shows that the socket has a listener.
fn connect_unix(path: &Path) -> io::Result<()> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        Ok(()) | Err(Errno::AGAIN) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
