//! A small HTTP client.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// Time limit, so that a hanging server does not hang the tests.
const PATIENCE: Duration = Duration::from_secs(60);

/// The address with this name in a ready line.
pub fn address(ready: &Value, name: &str) -> String {
    ready["listening"][name].as_str().expect("an address in the ready line").to_owned()
}

/// Status, head and body; an error if the server is gone.
pub fn try_ask(
    address: &str,
    method: &str,
    path: &str,
    body: &str,
) -> io::Result<(u16, String, Vec<u8>)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    let media =
        if body.starts_with("{\"id\"") { "application/x-ndjson" } else { "application/json" };
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\
         content-type: {media}\r\ncontent-length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let broken = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").ok_or_else(broken)?;
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(broken)?;
    let body = answer.split_off(end + 4);
    let told = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    match told.and_then(|length| length.parse::<usize>().ok()) {
        Some(length) if length != body.len() => Err(broken()),
        _ => Ok((status, head, body)),
    }
}

/// The same for a server that must be there.
pub fn ask(address: &str, method: &str, path: &str, body: &str) -> (u16, String, Vec<u8>) {
    try_ask(address, method, path, body).expect("an answer")
}

pub fn json_of(body: &[u8]) -> Value {
    serde_json::from_slice(body).expect("JSON")
}

/// Status and answer of a search.
pub fn search(address: &str, asked: Value) -> (u16, Value) {
    let (status, _, body) = ask(address, "POST", "/v1/matrix/search", &asked.to_string());
    (status, json_of(&body))
}

/// The name of the first row of an answer.
pub fn first(answer: &Value) -> &str {
    answer["results"][0]["id"].as_str().unwrap_or("none")
}
