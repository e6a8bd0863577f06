//! A target that notes which paths came over which connection.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Paths by connection, in the order in which they came.
pub type Visits = Arc<Mutex<Vec<Vec<String>>>>;

/// Answers 404 to paths with `lost`.
pub fn target() -> (String, Visits) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address").to_string();
    let visits = Visits::default();
    let seen = Arc::clone(&visits);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            thread::spawn(move || serve(&stream, &seen));
        }
    });
    (address, visits)
}

fn serve(mut stream: &TcpStream, seen: &Visits) {
    let mut place = None;
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let path = head.split(' ').nth(1).expect("a path").to_owned();
        let status = if path.contains("lost") { "404 Not Found" } else { "200 OK" };
        {
            let mut visits = seen.lock().expect("nobody panics with it");
            let place = *place.get_or_insert_with(|| {
                visits.push(Vec::new());
                visits.len() - 1
            });
            visits[place].push(path);
        }
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}
