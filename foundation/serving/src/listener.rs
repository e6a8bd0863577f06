//! A listening socket with the backlog that a load test needs.

use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

use crate::error::ServeError;

/// Backlog asked of the kernel, which cuts it to `net.core.somaxconn` (4096 since Linux 5.4).
pub const BACKLOG: i32 = 4096;

/// Binds and listens, not blocking, with the address reusable after a restart.
pub fn bind(address: SocketAddr) -> Result<TcpListener, ServeError> {
    listen(address).map_err(|source| ServeError::Listen { address, source })
}

/// The backlog in force: what was asked for, cut to what the kernel allows.
pub fn effective_backlog() -> i32 {
    let path = "/proc/sys/net/core/somaxconn";
    let allowed = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
    allowed.map_or(BACKLOG, |allowed: i32| allowed.min(BACKLOG))
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_the_environments_fault() {
        let first = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = first.local_addr().unwrap();
        let error = bind(address).unwrap_err();
        assert_eq!(error.exit_code(), 4);
        assert!(error.to_string().starts_with(&format!("cannot listen on {address}: ")));
    }
}
