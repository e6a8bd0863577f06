//! The plainest of clients: text over a TCP connection.

use std::io::{BufRead, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::PATIENCE;

/// A connection that waits no longer than [`PATIENCE`] for bytes.
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends a text on a connection of its own and reads to the end; an answer that breaks off is returned as far as it came.
pub fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

/// The value of a metric at this path, by its name and labels.
pub fn metric(address: SocketAddr, path: &str, name: &str) -> u64 {
    let text = ask(address, &format!("GET {path} HTTP/1.0\r\n\r\n"));
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

/// The value of a header, by its name in lower case.
pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// One message: its head in lines, and its body by `Content-Length`; `None` where the connection ends or is reset.
pub fn message(reader: &mut impl BufRead) -> Option<(String, String)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = header(&head, "content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).unwrap()))
}
