//! A listening socket with the backlog that a load test needs.

use std::net::{IpAddr, SocketAddr, TcpListener};

use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};
use socket2::{Domain, Protocol, Socket, Type};

use crate::error::ServeError;

/// Backlog asked of the kernel, which cuts it to `net.core.somaxconn` (4096 since Linux 5.4).
pub const BACKLOG: i32 = 4096;

/// Binds and listens, not blocking, with the address reusable after a restart.
pub fn bind(address: SocketAddr) -> Result<TcpListener, ServeError> {
    bind_with(address, BACKLOG)
}

/// The same with a backlog of one's own, from 1 on.
pub fn bind_with(address: SocketAddr, backlog: i32) -> Result<TcpListener, ServeError> {
    listen(address, backlog).map_err(|source| ServeError::Listen { address, source })
}

/// The address in force, with the port that the kernel chose where none was asked for.
pub fn address(listener: &TcpListener) -> Result<SocketAddr, ServeError> {
    listener.local_addr().map_err(ServeError::while_doing("read an address back"))
}

/// The backlog in force, as the kernel knows it and `ss -ltn` shows it under Send-Q.
///
/// Errors: the kernel does not tell (`NETLINK_SOCK_DIAG` is missing or forbidden)
pub fn backlog(listener: &TcpListener) -> std::io::Result<u32> {
    let socket = net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    let request = request(listener.local_addr()?);
    let kernel = netlink::SocketAddrNetlink::new(0, 0);
    net::sendto(&socket, &request, SendFlags::empty(), &kernel)?;
    let mut answer = [0_u8; 512];
    // The answer is made while the request is sent: there is nothing to wait for.
    net::recv(&socket, &mut answer[..], RecvFlags::DONTWAIT)?;
    let word = |at: usize| answer[at..at + 4].try_into().map(u32::from_ne_bytes);
    let [kind, _] = [answer[4], answer[5]];
    match (kind == SOCK_DIAG_BY_FAMILY, word(WQUEUE)) {
        (true, Ok(backlog)) => Ok(backlog),
        _ => Err(std::io::Error::other("the kernel tells nothing of its sockets")),
    }
}

/// Type of question and answer (`linux/sock_diag.h`).
const SOCK_DIAG_BY_FAMILY: u8 = 20;
/// Where an answer holds the backlog of a listening socket: the head of the message, family to
/// retransmissions, the addresses, time and length of the queue lie before it (`linux/inet_diag.h`).
const WQUEUE: usize = 16 + 4 + 48 + 4 + 4;

/// `struct nlmsghdr` and `struct inet_diag_req_v2`: which socket listens at this address?
fn request(address: SocketAddr) -> Vec<u8> {
    const REQUEST: u16 = 1;
    const LISTENING: u32 = 1 << 10;
    const TCP: u8 = 6;
    let (family, octets) = match address.ip() {
        IpAddr::V4(ip) => (AddressFamily::INET, ip.octets().to_vec()),
        IpAddr::V6(ip) => (AddressFamily::INET6, ip.octets().to_vec()),
    };
    let mut bytes = Vec::with_capacity(72);
    bytes.extend(72_u32.to_ne_bytes());
    bytes.extend(u16::from(SOCK_DIAG_BY_FAMILY).to_ne_bytes());
    bytes.extend(REQUEST.to_ne_bytes());
    // Sequence and sender do not matter: it is the only question on this socket.
    bytes.extend([0; 8]);
    bytes.extend([family.as_raw() as u8, TCP, 0, 0]);
    bytes.extend(LISTENING.to_ne_bytes());
    bytes.extend(address.port().to_be_bytes());
    bytes.extend([0; 2]);
    bytes.extend(&octets);
    bytes.resize(bytes.len() + 32 - octets.len() + 4, 0);
    // No cookie: whichever it is.
    bytes.extend([0xff; 8]);
    bytes
}

fn listen(address: SocketAddr, backlog: i32) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(backlog)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backlog_is_read_back_from_the_kernel() {
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
            for backlog_asked in [1, 10, 100] {
                let listener = bind_with(address.parse().unwrap(), backlog_asked).unwrap();
                let told = backlog(&listener).unwrap();
                assert_eq!(i64::from(told), i64::from(backlog_asked), "{address}");
            }
        }
    }

    #[test]
    fn a_taken_port_is_the_environments_fault() {
        let first = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = first.local_addr().unwrap();
        let error = bind(address).unwrap_err();
        assert_eq!(error.exit_code(), 4);
        assert!(error.to_string().starts_with(&format!("cannot listen on {address}: ")));
    }
}
