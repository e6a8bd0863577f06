//! Servers of a few lines: each request head gets the answer that a test makes of it.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// A server that answers until the test process ends; `connection` makes for each connection what answers its request
/// heads. Returns its address.
pub fn answering<A>(connection: impl Fn() -> A + Send + 'static) -> String
where
    A: FnMut(&str) -> String + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut answer = connection();
            stream.set_nodelay(true).expect("an option");
            thread::spawn(move || {
                converse(&stream, |head, stream| stream.write_all(answer(head).as_bytes()));
            });
        }
    });
    address
}

/// Reads request heads and answers each, until the client closes.
pub fn converse(
    mut stream: &TcpStream,
    mut answer: impl FnMut(&str, &mut &TcpStream) -> io::Result<()>,
) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        if answer(&head, &mut stream).is_err() {
            return;
        }
    }
}
