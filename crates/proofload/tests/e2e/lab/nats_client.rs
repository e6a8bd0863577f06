//! A client of NATS that sends what it likes, for tests of what arrives.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use super::brokers::Broker;

/// A connection.
pub struct NatsClient {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
    subscriptions: u32,
}

/// What came.
pub struct Message {
    pub reply: Option<String>,
    pub payload: Vec<u8>,
}

impl NatsClient {
    pub fn connect(nats: &Broker) -> Self {
        let stream = TcpStream::connect(nats.address()).expect("NATS runs");
        let reader = BufReader::new(stream.try_clone().expect("another handle"));
        let mut client = Self { stream, reader, subscriptions: 0 };
        client.line();
        client.write(b"CONNECT {\"verbose\":false,\"headers\":true}\r\n");
        client
    }

    /// Returns when the server has it.
    pub fn subscribe(&mut self, subject: &str) {
        self.subscriptions += 1;
        self.write(format!("SUB {subject} {}\r\nPING\r\n", self.subscriptions).as_bytes());
        while self.line() != "PONG" {}
    }

    pub fn publish(&mut self, subject: &str, payload: &[u8]) {
        self.write(format!("PUB {subject} {}\r\n", payload.len()).as_bytes());
        self.write(payload);
        self.write(b"\r\n");
    }

    /// The next message of any subscription.
    pub fn next(&mut self) -> Message {
        loop {
            let line = self.line();
            if line == "PING" {
                self.write(b"PONG\r\n");
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            // MSG subject id [reply] length; HMSG subject id [reply] length-of-headers length
            let lengths = match words.first() {
                Some(&"MSG") => 1,
                Some(&"HMSG") => 2,
                _ => continue,
            };
            let number = |word: &&str| word.parse::<usize>().expect("a length");
            let all = words.last().map(number).expect("a length");
            let headers = if lengths == 2 { number(&words[words.len() - 2]) } else { 0 };
            let mut payload = vec![0; all + 2];
            self.reader.read_exact(&mut payload).expect("the message");
            payload.truncate(all);
            let reply = (words.len() == 4 + lengths).then(|| words[3].to_owned());
            return Message { reply, payload: payload.split_off(headers) };
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("NATS takes it");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.reader.read_line(&mut line).expect("NATS answers") > 0, "NATS hung up");
        line.trim_end().to_owned()
    }
}
