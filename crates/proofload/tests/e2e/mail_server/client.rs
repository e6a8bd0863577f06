//! Small clients for SMTP and HTTP that share no code with the tested programs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Time limit for everything that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection that sends one message after another.
pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    /// Connects and reads the greeting; `None` if no server listens.
    pub fn connect(address: &str) -> Option<Self> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.set_nodelay(true).ok()?;
        let mut client = Self { stream: BufReader::new(stream) };
        let greeted = client.reply()? == 220 && client.say("EHLO client.example")? == 250;
        greeted.then_some(client)
    }

    /// Sends a message; returns the code of the final reply, or `None` if the connection broke.
    pub fn send(&mut self, content: &[u8]) -> Option<u16> {
        for command in ["MAIL FROM:<a@client.example>", "RCPT TO:<b@mail.example>", "DATA"] {
            let code = self.say(command)?;
            if code >= 400 {
                self.say("RSET")?;
                return Some(code);
            }
        }
        let mut stuffed = Vec::with_capacity(content.len() + 100);
        for line in content.split_inclusive(|byte| *byte == b'\n') {
            if line.starts_with(b".") {
                stuffed.push(b'.');
            }
            stuffed.extend_from_slice(line);
        }
        stuffed.extend_from_slice(b".\r\n");
        self.stream.get_mut().write_all(&stuffed).ok()?;
        self.reply()
    }

    fn say(&mut self, command: &str) -> Option<u16> {
        self.stream.get_mut().write_all(format!("{command}\r\n").as_bytes()).ok()?;
        self.reply()
    }

    /// The code of a reply; reads all its lines.
    fn reply(&mut self) -> Option<u16> {
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).ok()?;
            let code = line.get(..3)?.parse().ok()?;
            if line.as_bytes().get(3) != Some(&b'-') {
                return line.ends_with("\r\n").then_some(code);
            }
        }
    }
}

/// Status and body.
pub fn ask(address: &str, method: &str, path: &str) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(address).expect("the door");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n")
        .expect("asks");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (status, answer.split_off(end + 4))
}
