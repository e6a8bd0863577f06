//! A minimal client for checking a process: one HTTP/1.0 `GET`, with limits of time and size.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Longest answer that is read: an encoded histogram takes a few hundred KiB.
const ANSWER_LIMIT: usize = 64 << 20;

/// A port of the loopback interface that is free now.
///
/// The kernel assigned it just now, and it was closed again. Another process may take it in
/// between; then ours ends at once with an error.
pub(super) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Whether a process accepts connections at this port of the loopback interface.
pub(super) fn accepts(port: u16, within: Duration) -> bool {
    TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], port)), within).is_ok()
}

/// Status and body of a `GET`.
///
/// Errors: no connection, no answer in time, an answer that is not HTTP or is longer than the limit
pub(super) fn get(address: &str, path: &str, within: Duration) -> io::Result<(u16, Vec<u8>)> {
    let deadline = Instant::now() + within;
    let socket_address = address.to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
    let mut socket = TcpStream::connect_timeout(&socket_address, within)?;
    socket.set_write_timeout(Some(within))?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        match socket.read(&mut piece)? {
            0 => return split(&answer),
            length => answer.extend_from_slice(&piece[..length]),
        }
        if answer.len() > ANSWER_LIMIT {
            return Err(io::Error::other("the answer is too long"));
        }
    }
}

fn split(answer: &[u8]) -> io::Result<(u16, Vec<u8>)> {
    let malformed = || io::Error::other("the answer is not HTTP");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(malformed)?;
    let head = std::str::from_utf8(&answer[..end]).map_err(|_| malformed())?;
    let status = head
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.split(' ').nth(1))
        .and_then(|digits| digits.trim().parse().ok())
        .ok_or_else(malformed)?;
    Ok((status, answer[end + 4..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answering(answer: &'static [u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let _ = socket.read(&mut [0; 1024]);
            socket.write_all(answer).unwrap();
        });
        address
    }

    #[test]
    fn a_get_gives_status_and_body() {
        let address = answering(b"HTTP/1.0 200 OK\r\nA: b\r\n\r\n{\"x\":1}");
        let answer = get(&address, "/observed", Duration::from_secs(5)).unwrap();
        assert_eq!(answer, (200, b"{\"x\":1}".to_vec()));
    }

    #[test]
    fn garbage_is_an_error() {
        assert!(get(&answering(b"hello"), "/", Duration::from_secs(5)).is_err());
        assert!(get(&answering(b"HTTP/1.1 abc\r\n\r\n"), "/", Duration::from_secs(5)).is_err());
    }

    #[test]
    fn an_answer_that_never_comes_is_an_error_in_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        assert!(get(&address, "/", Duration::from_millis(20)).is_err());
    }
}
