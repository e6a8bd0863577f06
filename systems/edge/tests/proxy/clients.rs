//! Clients of others' over HTTP/2 and TLS before the proxy: curl and h2load.

use std::io::{Read, Write};

use crate::fixture::{TestProxy, Upstream, connect};
use crate::peers::{Certificate, curl, h2load};
use crate::poison::mirror;

/// Protocol, status, where it came from, and bytes of the body, of what curl gets with these arguments.
fn reported(arguments: &[&str]) -> String {
    let format = "%{http_version} %{http_code} %header{x-cache} %{size_download}";
    let format = ["-o", "/dev/null", "-w", format];
    String::from_utf8(curl(&[&format, arguments].concat())).unwrap()
}

#[test]
fn curl_is_answered_the_same_over_either_protocol_in_the_clear_and_over_tls() {
    let certificate = Certificate::new("proxy-curl");
    let upstream = Upstream::always("200|cache-control: max-age=60|etag: \"a\"|=one");
    let clear = TestProxy::before(upstream.address);
    let covered = TestProxy::with(upstream.address, &certificate.settings());
    let (clear_url, covered_url) =
        (format!("http://{}", clear.address), format!("https://{}", covered.address));
    for (way, url, protocol) in [
        ("--http1.1", &clear_url, "1.1"),
        // A client that would go over to it asks in vain.
        ("--http2", &clear_url, "1.1"),
        ("--http2-prior-knowledge", &clear_url, "2"),
        ("--http1.1", &covered_url, "1.1"),
        ("--http2", &covered_url, "2"),
    ] {
        let summary = |path: &str, more: &[&str]| {
            let url = format!("{url}{path}");
            let own = ["--cacert", &certificate.cert, way, &url];
            let line = reported(&[&own, more].concat());
            line.strip_prefix(protocol).unwrap_or_else(|| panic!("{way}: {line}")).to_owned()
        };
        let path = format!("/{way}");
        assert_eq!(summary(&path, &[]), " 200 miss 3", "{way} {url}");
        assert_eq!(summary(&path, &[]), " 200 hit 3", "{way} {url}");
        assert_eq!(summary(&path, &["-I"]), " 200 hit 0", "{way} {url}");
        assert_eq!(summary(&path, &["-H", "if-none-match: \"a\""]), " 304 hit 0", "{way} {url}");
        assert_eq!(summary(&path, &["-r", "0-1"]), " 200 pass 3", "{way} {url}");
        assert_eq!(summary("/post", &["--data", "x"]), " 200 pass 3", "{way} {url}");
        assert_eq!(summary("/_proxy/healthz", &["-I"]), " 404  0", "{way} {url}");
        assert_eq!(summary("/_proxy/healthz", &[]), " 200  3", "{way} {url}");
    }
}

#[test]
fn h2load_is_answered_in_the_clear_and_over_tls() {
    let certificate = Certificate::new("proxy-h2load");
    let upstream = Upstream::new(|head, _| {
        let body = "x".repeat(if head.contains("/large") { 300_000 } else { 100 });
        let kept = if head.contains("/alone") { "no-store" } else { "max-age=60" };
        crate::fixture::answer(&format!("200|cache-control: {kept}|={body}"))
    });
    let clear = TestProxy::before(upstream.address);
    let covered = TestProxy::with(upstream.address, &certificate.settings());
    for path in ["/small", "/large", "/alone"] {
        h2load(&format!("http://{}{path}", clear.address));
        h2load(&format!("https://{}{path}", covered.address));
    }
    let answers = |how: &str| clear.figure(&format!("proxy_answers_total{{cache=\"{how}\"}}"));
    assert_eq!(answers("hit") + answers("miss") + answers("collapsed"), 3000);
    clear.until("proxy_under_way", 0);
}

#[test]
fn the_upstream_is_told_what_the_client_speaks() {
    let certificate = Certificate::new("proxy-told");
    let upstream = mirror();
    let proxy = TestProxy::with(upstream.address, &certificate.settings());
    let url = format!("https://{}/", proxy.address);
    for (way, path, via) in [("--http1.1", "1", "1.1"), ("--http2", "2", "2.0")] {
        let url = format!("{url}{path}");
        let text = curl(&["--cacert", &certificate.cert, way, &url]);
        let text = String::from_utf8(text).unwrap();
        for line in [
            format!("\nhost: {}\n", proxy.address),
            "\nx-forwarded-proto: https\n".to_owned(),
            "\nforwarded: for=127.0.0.1;proto=https\n".to_owned(),
            format!("\nvia: {via} edge-proxy-"),
        ] {
            assert!(text.contains(&line), "{line} is not in {text}");
        }
    }
}

#[test]
fn a_handshake_that_does_not_come_holds_nobody_up() {
    let certificate = Certificate::new("proxy-silent");
    let [cert, key] = certificate.settings();
    let upstream = Upstream::always("200|=one");
    let proxy = TestProxy::with(upstream.address, &[cert, key, ("read", "2s")]);
    let silent: Vec<_> = (0..20).map(|_| connect(proxy.address)).collect();
    let mut plain = connect(proxy.address);
    plain.write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n").unwrap();
    let ask = |path: &str| {
        let url = format!("https://{}{path}", proxy.address);
        String::from_utf8(curl(&["--cacert", &certificate.cert, &url])).unwrap()
    };
    assert_eq!(ask("/"), "one");
    for mut stream in silent {
        assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    }
    let mut bytes = Vec::new();
    let _ = plain.read_to_end(&mut bytes);
    assert!(!bytes.starts_with(b"HTTP/"), "{bytes:?}");
    assert!(ask("/_proxy/metrics").contains("proxy_tls_failures_total 21\n"));
}
