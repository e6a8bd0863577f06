//! Interim answers of the upstream: for whoever is answered from there, and for nobody else.

use std::fs;

use crate::house::{House, Upstream, answer, ask, request};
use crate::peers::{Certificate, curl};
use crate::session::Session;

/// An upstream that gives hints before an answer that may be kept.
fn hinting() -> Upstream {
    Upstream::new(|_, _| {
        let hints = "HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n";
        format!("{hints}{}", answer("200|cache-control: max-age=60|=one"))
    })
}

#[test]
fn hints_are_passed_on_and_not_kept() {
    let upstream = hinting();
    let house = House::before(upstream.address);
    let first = ask(house.address, &request("GET /"));
    let heads: Vec<&str> = first.split("\r\n\r\n").collect();
    let [hints, head, "one"] = heads[..] else { panic!("{first}") };
    assert!(hints.starts_with("HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\nvia: "), "{hints}");
    assert!(head.starts_with("HTTP/1.1 200 ") && !head.contains("link"), "{head}");
    let second = ask(house.address, &request("GET /"));
    assert!(second.starts_with("HTTP/1.1 200 "), "{second}");
    assert!(second.contains("x-cache: hit\r\n"), "{second}");
    assert_eq!((upstream.times(), house.figure("proxy_upstream_interims_total")), (1, 1));
}

/// Over TLS they are among what curl writes of heads; h2 cannot send them.
#[test]
fn whoever_cannot_be_given_hints_is_answered_all_the_same() {
    let certificate = Certificate::new("proxy-hints");
    let house = House::with(hinting().address, &certificate.settings());
    let heads = |way: &str| {
        let file = format!("{}{way}", certificate.cert);
        let url = format!("https://{}/{way}", house.address);
        let body = curl(&["--cacert", &certificate.cert, way, "-D", &file, &url]);
        assert_eq!(body, b"one");
        fs::read_to_string(file).unwrap()
    };
    assert!(heads("--http1.1").starts_with("HTTP/1.1 103 Early Hints\r\n"));
    assert!(heads("--http2").starts_with("HTTP/2 200 "));
    let clear = House::before(hinting().address);
    let mut session = Session::open(clear.address);
    let begun = session.begin("GET /").unwrap();
    assert_eq!(session.finish(begun).unwrap().status, 200);
    assert_eq!(clear.figure("proxy_upstream_interims_total"), 0);
}
