//! Third-party servers: nginx with several framings, Python's HTTP/1.0 server, a Unix socket.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::lab::nginx::{nginx, nginx_listening};
use crate::lab::server::python;
use crate::lab::{Lab, assert_accounting, assert_measured, only_trial};

const CLOSED: [&str; 6] = ["--requests", "2000", "--connections", "10", "--warm-up", "0s"];

fn assert_all_succeed(lab: &Lab, arguments: &[&str]) -> record::summary::TrialSummary {
    let (ran, summary) = lab.run(&[arguments, &CLOSED].concat());
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary).clone();
    assert_accounting(&trial);
    assert_eq!(trial.accounting.succeeded, 2_000, "{:?}", trial.total.failures);
    trial
}

#[test]
fn nginx_plain() {
    let lab = Lab::new();
    let (_nginx, port) = nginx(&lab, "plain", "location / { return 200 hello; }");
    let trial = assert_all_succeed(&lab, &[&format!("http://127.0.0.1:{port}/")]);
    assert_eq!(trial.total.statuses["200"], 2_000);
    assert_eq!(trial.total.spans["connect"].count, 10, "ten connections kept alive");
}

#[test]
fn nginx_over_ipv6_name_and_redirect_not_followed() {
    let lab = Lab::new();
    let (_nginx, port) = nginx(&lab, "redirect", "location / { return 302 /elsewhere; }");
    let trial = assert_all_succeed(
        &lab,
        &[&format!("http://localhost:{port}/"), "--connect-to", &format!("127.0.0.1:{port}")],
    );
    assert_eq!(trial.total.statuses["302"], 2_000);
}

#[test]
fn nginx_closing_every_tenth_answer() {
    let lab = Lab::new();
    let server = "keepalive_requests 10; location / { return 200 hello; }";
    let (_nginx, port) = nginx(&lab, "ten", server);
    let trial = assert_all_succeed(&lab, &[&format!("http://127.0.0.1:{port}/")]);
    // One for every ten answers, and one more for each of ten connections that had fewer than ten left.
    let connects = trial.total.spans["connect"].count;
    assert!((200..=210).contains(&connects), "{connects} connections");
}

#[test]
fn nginx_chunked() {
    let lab = Lab::new();
    // Server-side includes make the length unknown in advance, so nginx sends the answer in chunks.
    let root = lab.path("site");
    std::fs::create_dir_all(&root).expect("a site");
    std::fs::write(root.join("index.html"), "<!--#echo var=\"request_uri\" -->".repeat(300))
        .expect("a page");
    let server = format!("root {}; location / {{ ssi on; }}", root.display());
    let (_nginx, port) = nginx(&lab, "chunked", &server);
    let url = format!("http://127.0.0.1:{port}/");
    let trial = assert_all_succeed(&lab, &[&url, "--header", "accept: text/html"]);
    let body = "/".len() as u64 * 300;
    let per_answer = trial.total.bytes_received / 2_000;
    assert!(per_answer > body, "{per_answer} bytes on the wire for a body of {body}");
    let head = raw_head(port);
    assert!(head.contains("transfer-encoding: chunked"), "the peer does what is tried: {head}");
}

#[test]
fn nginx_tls_with_a_certificate_that_signed_itself() {
    let lab = Lab::new();
    // Like OpenSSL's self-signed certificates, it is also marked as an authority.
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate").pem();
    let cert_file = lab.write("cert.pem", &certificate);
    let key_file = lab.write("key.pem", &key.serialize_pem());
    let (cert, key) = (cert_file.display().to_string(), key_file.display());
    let server = format!(
        "ssl_certificate {cert}; ssl_certificate_key {key}; location / {{ return 200 hello; }}"
    );
    let (_nginx, port) = nginx_listening(&lab, "tls", &server, "ssl");
    let connect = format!("127.0.0.1:{port}");
    let url = format!("https://localhost:{port}/");
    let trial = assert_all_succeed(&lab, &[&url, "--connect-to", &connect, "--cacert", &cert]);
    assert_eq!(trial.total.spans["tls"].count, 10);
}

#[test]
fn an_untrusted_certificate_is_a_tls_failure() {
    let lab = Lab::new();
    let (certificate, key) = self_signed();
    let cert_file = lab.write("cert.pem", &certificate);
    let key_file = lab.write("key.pem", &key);
    let server = format!(
        "ssl_certificate {}; ssl_certificate_key {}; location / {{ return 200 hello; }}",
        cert_file.display(),
        key_file.display()
    );
    let (_nginx, port) = nginx_listening(&lab, "untrusted", &server, "ssl");
    let url = format!("https://localhost:{port}/");
    let connect = format!("127.0.0.1:{port}");
    let flags = ["--connect-to", &connect, "--requests", "5", "--warm-up", "0s", "--out", "run"];
    let ran = lab.proofload(&[&["run", &url], &flags[..]].concat());
    let summary = lab.summary("run").expect("a summary");
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.total.failures["tls"], 5, "{:?}", trial.total.failures);
    assert!(ran.stderr.contains("invalid peer certificate"), "{}", ran.stderr);
    let insecure = [&[url.as_str(), "--insecure"], &flags[..6]].concat();
    std::fs::remove_dir_all(lab.path("run")).expect("the first run");
    let (ran, summary) = lab.run(&insecure);
    assert_measured(&ran, &summary);
    assert_eq!(only_trial(&summary).accounting.succeeded, 5, "--insecure takes any certificate");
}

#[test]
fn python_http_server_speaks_http_1_0() {
    let lab = Lab::new();
    lab.write("index.html", "hello");
    let (_python, port) = python(&lab.path(""));
    let url = format!("http://127.0.0.1:{port}/");
    let (ran, summary) =
        lab.run(&[&url, "--requests", "200", "--connections", "4", "--warm-up", "0s"]);
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert_eq!(trial.accounting.succeeded, 200, "{:?}", trial.total.failures);
    assert_eq!(trial.total.spans["connect"].count, 200, "HTTP/1.0 closes after each answer");
}

#[test]
fn a_unix_socket_server() {
    let lab = Lab::new();
    let socket = lab.path("sock").display().to_string();
    let server = format!("listen unix:{socket}; location / {{ return 200 hello; }}");
    let (_nginx, _) = nginx(&lab, "unix", &server);
    assert_all_succeed(&lab, &["http://localhost/", "--unix-socket", &socket]);
}

/// The head of the peer's answer in lower case, read without the binary.
fn raw_head(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("connects");
    stream.write_all(b"GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").expect("asks");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer.to_lowercase()
}

pub fn self_signed() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    (made.cert.pem(), made.signing_key.serialize_pem())
}
