//! A target running on a thread of this process, and the plainest of clients.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;

use serde_json::Value;
use serving::error::ServeError;
use serving::options::Options;
use serving::stop::{Stop, Stopper};
use truth::Truth;

/// A running target; stopped and joined when dropped.
pub struct Running {
    pub http: SocketAddr,
    pub control: SocketAddr,
    pub ready: Value,
    stopper: Stopper,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

/// Options with a mode.
pub fn mode(name: &str) -> Options {
    Options::default().with("mode", name)
}

impl Running {
    pub fn start(options: Options) -> Self {
        let truth = Truth::bind(&options).unwrap();
        let ready: Value = serde_json::from_str(&truth.ready().line()).unwrap();
        let address = |kind: &str| ready["listening"][kind].as_str().unwrap().parse().unwrap();
        let (http, control) = (address("http"), address("control"));
        let (stopper, stop) = Stop::pair();
        let thread = std::thread::spawn(move || truth.run(stop));
        Self { http, control, ready, stopper, thread: Some(thread) }
    }

    pub fn stop(&self) {
        self.stopper.stop();
    }

    /// Waits until the target has returned.
    pub fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }

    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(self.http).unwrap()
    }

    /// One request on a connection of its own; everything up to the end, and how it ended.
    pub fn ask(&self, request: &str) -> (String, Option<ErrorKind>) {
        let mut stream = self.connect();
        // A target that closes at once may make the sending fail, which is an answer too.
        if let Err(error) = stream.write_all(request.as_bytes()) {
            return (String::new(), Some(error.kind()));
        }
        read_to_end(&mut stream)
    }

    /// A GET whose answer ends the connection; must succeed.
    pub fn get(&self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n");
        let (answer, error) = self.ask(&request);
        assert_eq!(error, None, "{answer}");
        answer
    }

    /// Asks the control port; the body of the answer.
    pub fn control(&self, request_line: &str) -> String {
        let mut stream = TcpStream::connect(self.control).unwrap();
        let request = format!("{request_line} HTTP/1.1\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let (answer, error) = read_to_end(&mut stream);
        assert_eq!(error, None, "{answer}");
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    pub fn report(&self, query: &str) -> Value {
        serde_json::from_str(&self.control(&format!("GET /truth/report?{query}"))).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let outcome = thread.join();
            if !std::thread::panicking() {
                outcome.unwrap().unwrap();
            }
        }
    }
}

pub fn read_to_end(stream: &mut TcpStream) -> (String, Option<ErrorKind>) {
    let mut bytes = Vec::new();
    let error = stream.read_to_end(&mut bytes).err().map(|error| error.kind());
    (String::from_utf8_lossy(&bytes).into_owned(), error)
}

/// Reads exactly one answer with a content-length.
pub fn read_answer(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let head_bytes = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "the answer ended within its head");
        bytes.push(byte[0]);
    };
    let head = String::from_utf8(bytes).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    assert_eq!(head.len(), head_bytes);
    head + &String::from_utf8(body).unwrap()
}
