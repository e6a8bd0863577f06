//! Clients of others' before the origin, in the clear and over TLS: curl and h2load.

use std::io::{Read, Write};

use serde_json::json;
use serving::options::Options;

use super::peers::{Certificate, curl, h2load};
use super::{TestOrigin, recipe, stage};

/// One that serves a short text, and another one where it is waited for.
fn origin(settings: &[(&str, &str)]) -> TestOrigin {
    let recipes = json!([
        recipe("/*", "whole", 200),
        {"route": "/large", "random_content": "300kb", "stages": [stage(200, "1ms")]},
    ]);
    let mut options = Options::default().with("recipe", recipes.to_string());
    for (key, value) in settings {
        options = options.with(key, *value);
    }
    TestOrigin::start(options)
}

#[test]
fn curl_is_served_over_either_protocol_in_the_clear_and_over_tls() {
    let certificate = Certificate::new("origin-curl");
    let (clear, covered) = (origin(&[]), origin(&certificate.settings()));
    let clear = format!("http://{}", clear.address());
    let covered_url = format!("https://{}", covered.address());
    let cases = [
        ("--http1.1", &clear, "1.1"),
        // A client that would go over to it asks in vain.
        ("--http2", &clear, "1.1"),
        ("--http2-prior-knowledge", &clear, "2"),
        ("--http1.1", &covered_url, "1.1"),
        ("--http2", &covered_url, "2"),
    ];
    for (way, url, protocol) in cases {
        let told = |path: &str, more: &[&str]| {
            let url = format!("{url}{path}");
            let format = "%{http_version} %{http_code} %{size_download}";
            let own = ["--cacert", &certificate.cert, way, "-o", "/dev/null", "-w", format, &url];
            String::from_utf8(curl(&[&own, more].concat())).unwrap()
        };
        assert_eq!(told("/", &[]), format!("{protocol} 200 5"), "{way} {url}");
        assert_eq!(told("/large", &[]), format!("{protocol} 200 307200"), "{way} {url}");
        assert_eq!(told("/", &["--data", "x"]), format!("{protocol} 200 5"), "{way} {url}");
        assert_eq!(told("/", &["-I"]), format!("{protocol} 404 0"), "{way} {url}");
    }
}

#[test]
fn h2load_is_served_in_the_clear_and_over_tls() {
    let certificate = Certificate::new("origin-h2load");
    let (clear, covered) = (origin(&[]), origin(&certificate.settings()));
    for path in ["/", "/large"] {
        h2load(&format!("http://{}{path}", clear.address()));
        h2load(&format!("https://{}{path}", covered.address()));
    }
    assert!(clear.admin("current_count").contains(r#""200":2000"#));
}

/// A fault below HTTP is one over TLS, too: after what was sent there is no end.
#[test]
fn what_is_cut_short_over_tls_is_not_whole() {
    let certificate = Certificate::new("origin-cut");
    let mut cut = recipe("/cut", "0123456789", 200);
    cut["stages"][0]["fault"] = "close".into();
    cut["stages"][0]["after"] = "5b".into();
    let [cert, key] = certificate.settings();
    let options = Options::default().with("recipe", cut.to_string());
    let origin = TestOrigin::start(options.with(cert.0, cert.1).with(key.0, key.1));
    let url = format!("https://{}/cut", origin.address());
    for way in ["--http1.1", "--http2"] {
        let output = std::process::Command::new("curl")
            .args(["-sS", "--cacert", &certificate.cert, way, &url])
            .output()
            .unwrap();
        assert!(!output.status.success() && b"01234".starts_with(&output.stdout), "{way}");
    }
}

#[test]
fn a_handshake_that_does_not_come_holds_nobody_up() {
    let certificate = Certificate::new("origin-silent");
    let [cert, key] = certificate.settings();
    let origin = origin(&[cert, key, ("read", "300ms")]);
    let silent: Vec<_> = (0..20).map(|_| origin.connect()).collect();
    let mut plain = origin.connect();
    plain.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    let url = format!("https://{}/", origin.address());
    assert_eq!(curl(&["--cacert", &certificate.cert, &url]), b"whole");
    for mut stream in silent {
        assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    }
    let mut bytes = Vec::new();
    let _ = plain.read_to_end(&mut bytes);
    assert!(!bytes.starts_with(b"HTTP/"), "{bytes:?}");
}
