//! RFC 5861: what is stored stands in for an upstream that fails, within its bound.

use super::{STALE, table, walk};
use crate::fixture::TestProxy;

#[test]
fn errors_are_stood_in_for_within_the_bound() {
    const STRICT: &str = "200|cache-control: max-age=60, must-revalidate|age: 60|etag: \"a\"|=old";
    table(&[
        (
            "each kind of failure",
            &[
                ("GET /", STALE, "200 miss old"),
                ("GET /", "500|=no", "200 stale old"),
                ("GET /", "502|=no", "200 stale old"),
                ("GET /", "503|=no", "200 stale old"),
                ("GET /", "504|=no", "200 stale old"),
                // What is no answer at all.
                ("GET /", "nonsense", "200 stale old"),
                ("GET /", "404|=no", "404 miss no"),
            ],
        ),
        (
            "not against the answer's will",
            &[("GET /", STRICT, "200 miss old"), ("GET /", "503|=no", "503 miss no")],
        ),
        (
            "not against the client's will",
            &[
                ("GET /", STALE, "200 miss old"),
                ("GET /|cache-control: no-cache", "503|=no", "503 miss no"),
            ],
        ),
        ("nothing there", &[("GET /", "503|=no", "503 miss no")]),
    ]);
    walk(
        "no bound, no spare",
        &[("stale_if_error", "0")],
        &[("GET /", STALE, "200 miss old"), ("GET /", "503|=no", "503 miss no")],
    );
    walk(
        "the answer's own bound",
        &[("stale_if_error", "0")],
        &[
            ("GET /", "200|cache-control: max-age=0, stale-if-error=60|=old", "200 miss old"),
            ("GET /", "503|=no", "200 stale old"),
        ],
    );
}

/// Whoever cannot be reached is stood in for as well, and a slow one too.
#[test]
fn an_upstream_that_is_gone_or_slow_is_stood_in_for() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = TestProxy::with(listener.local_addr().unwrap(), &[("first_byte", "1s")]);
    let address = proxy.address;
    let client =
        std::thread::spawn(move || crate::fixture::ask(address, &crate::fixture::request("GET /")));
    let (mut stream, _) = listener.accept().unwrap();
    crate::fixture::message(&mut std::io::BufReader::new(stream.try_clone().unwrap())).unwrap();
    std::io::Write::write_all(&mut stream, crate::fixture::answer(STALE).as_bytes()).unwrap();
    assert!(client.join().unwrap().ends_with("old"));
    // It is there, and says nothing any more.
    assert_eq!(proxy.ask("GET /").line(), "200 stale old");
    drop((stream, listener));
    assert_eq!(proxy.ask("GET /").line(), "200 stale old");
    assert_eq!(proxy.ask("GET /b").status, 502);
}
