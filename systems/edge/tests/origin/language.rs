//! The language of recipes, sentence after sentence.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use serving::options::Options;

use super::{Reply, TestOrigin, recipe, stage, upstream};

fn unpacked(reply: &Reply) -> Vec<u8> {
    assert_eq!(reply.header("content-encoding"), Some("gzip"));
    let mut text = Vec::new();
    GzDecoder::new(&reply.body[..]).read_to_end(&mut text).unwrap();
    text
}

#[test]
fn the_first_answer_is_a_welcome() {
    let origin = TestOrigin::start(Options::default());
    let begun = Instant::now();
    let reply = origin.get("/any/path?with=query");
    assert!(begun.elapsed() >= Duration::from_millis(100));
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("cache-control"), Some("public, max-age=30"));
    assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(unpacked(&reply).starts_with(b"<!doctype html>"));
    assert_eq!(origin.admin("routes_status"), "/* 200 100");
}

#[test]
fn a_body_is_served_with_headers_of_ours_and_of_the_recipe() {
    let origin = TestOrigin::with(recipe("/*", "{\"hello\": \"world\"}", 200));
    let plain = origin.get("/x");
    assert_eq!((plain.status, plain.text().as_str()), (200, "{\"hello\": \"world\"}"));
    for (name, value) in [
        ("content-type", "application/json; charset=utf-8"),
        ("cache-control", "max-age=0, private, must-revalidate"),
        ("server", "Cowboy"),
        ("x-origin-generation", "1"),
        ("content-length", "18"),
    ] {
        assert_eq!(plain.header(name), Some(value), "{name}");
    }
    let mut own = recipe("/own", "hello", 200);
    own["headers"] = json!({"content-type": "text/x-own", "server": "me", "x-one": "1"});
    origin.added(own);
    let own = origin.get("/own");
    for (name, value) in [
        ("content-type", "text/x-own"),
        ("cache-control", "max-age=0, private, must-revalidate"),
        ("server", "me"),
        ("x-one", "1"),
    ] {
        assert_eq!(own.header(name), Some(value), "{name}");
    }
    assert_eq!(origin.get("/x").header("x-one"), None);
}

#[test]
fn get_and_post_are_simulated_and_nothing_else() {
    let origin = TestOrigin::with(recipe("/*", "hello", 200));
    assert_eq!(origin.ask("POST", "/x", "a body that nobody reads").text(), "hello");
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS"] {
        let reply = origin.ask(method, "/x", "");
        assert_eq!((reply.status, reply.text().as_str()), (404, "not found"), "{method}");
    }
}

#[test]
fn random_content_has_its_size_and_is_made_once() {
    let origin = TestOrigin::with(json!([
        {"random_content": "50kb", "route": "/random", "stages": [stage(200, "0")]},
        {"body": "a<<7b>>z<<1kb>>", "route": "/body", "stages": [stage(200, "0")]},
    ]));
    let random = origin.get("/random").body;
    assert_eq!(random.len(), 51_200);
    assert!(random.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(byte)));
    assert_eq!(origin.get("/random").body, random);
    let body = origin.get("/body").text();
    assert_eq!((body.len(), &body[..1], &body[8..9]), (1 + 7 + 1 + 1_024, "a", "z"));
}

#[test]
fn the_same_seed_serves_the_same_and_another_does_not() {
    let payload = |seed: u64, own: Value| {
        let recipe = json!({"random_content": "1kb", "seed": own, "stages": [stage(200, "0")]});
        let options = Options::default().with("seed", seed).with("recipe", recipe.to_string());
        TestOrigin::start(options).get("/").body
    };
    let plain = payload(1, Value::Null);
    assert_eq!(plain, payload(1, Value::Null));
    assert_ne!(plain, payload(2, Value::Null));
    assert_eq!(payload(1, json!(9)), payload(2, json!(9)));
}

#[test]
fn gzip_is_of_the_payload_alone_and_sent_whatever_is_accepted() {
    let headers = json!({"content-encoding": "gzip"});
    let route = |route: &str, body: &str, status: u16| {
        let mut one = recipe(route, body, status);
        one["headers"] = headers.clone();
        one
    };
    let origin = TestOrigin::with(json!([
        route("/json", "{\"a\": \"<<2kb>>\"}", 200),
        route("/failed", "never served", 503),
        route("/missing", "never served", 404),
        {"route": "/unset", "body": "never served", "headers": headers},
    ]));
    let reply = origin.get("/json");
    assert_eq!(unpacked(&reply).len(), 2_048 + 9);
    assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"));
    for (path, status, text) in
        [("/failed", 503, "Error 503"), ("/missing", 404, "Not found"), ("/unset", 406, UNSET)]
    {
        let reply = origin.get(path);
        assert_eq!((reply.status, reply.text().as_str()), (status, text), "{path}");
        assert_eq!(reply.header("content-encoding"), None, "{path}");
        assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
    }
}

const UNSET: &str =
    "Recipe not set at /unset, please POST a recipe for this route to /_admin/add_recipe";

#[test]
fn each_status_has_its_body() {
    for (status, text) in [
        (200, "hello"),
        (304, ""),
        (204, ""),
        (404, "Not found"),
        (406, "Recipe not set at /x, please POST a recipe for this route to /_admin/add_recipe"),
        (500, "Error 500"),
        (201, "Error 201"),
        (799, "Error 799"),
    ] {
        let reply = TestOrigin::with(recipe("/*", "hello", status)).get("/x");
        assert_eq!((reply.status, reply.text().as_str()), (status, text));
    }
}

#[test]
fn a_path_leads_to_its_route_or_the_nearest_beginning_whatever_the_query() {
    let names = ["/*", "/news*", "/news/live", "/sport*"];
    let origin = TestOrigin::with(names.map(|name| recipe(name, name, 200)).as_slice().into());
    for (path, name) in [
        ("/", "/*"),
        ("/new", "/*"),
        ("/news", "/news*"),
        ("/news/x?a=/sport", "/news*"),
        ("/news/live", "/news/live"),
        ("/news/live?q", "/news/live"),
        ("/news/live/x", "/news*"),
        ("/sports", "/sport*"),
    ] {
        assert_eq!(origin.get(path).text(), name, "{path}");
    }
}

#[test]
fn answers_wait_as_long_as_is_said_and_ranges_are_drawn() {
    let origin = TestOrigin::with(json!([
        {"body": "x", "route": "/fixed", "stages": [stage(200, "80ms")]},
        {"body": "x", "route": "/range", "stages": [stage(200, "40ms..1s")]},
        {"body": "x", "route": "/normal", "stages": [
            {"at": 0, "status": 200, "latency": {"normal": {"mean": "50ms", "sd": "0ms"}}},
        ]},
    ]));
    for (path, least_ms) in [("/fixed", 80), ("/range", 40), ("/normal", 50)] {
        let begun = Instant::now();
        assert_eq!(origin.get(path).text(), "x");
        assert!(begun.elapsed() >= Duration::from_millis(least_ms), "{path}");
    }
    let status = "/* 406 0\n/fixed 200 80\n/normal 200 normal(50,0)\n/range 200 40..1000";
    assert_eq!(origin.admin("routes_status"), status);
}

#[test]
fn an_origin_is_fetched_once_with_the_headers_of_the_recipe() {
    let (address, asked) =
        upstream(vec![b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{\"a\":1}".to_vec()]);
    let origin = TestOrigin::with(json!({
        "origin": format!("http://{address}/path?q=1"),
        "headers": {"x-one": "1"},
        "stages": [stage(200, "0")],
    }));
    for _ in 0..2 {
        let reply = origin.get("/");
        assert_eq!(reply.text(), "{\"a\":1}");
        assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"));
    }
    let heads = asked.join().unwrap();
    assert!(heads[0].starts_with("GET /path?q=1 HTTP/1.1\r\n"), "{heads:?}");
    assert!(heads[0].contains(&format!("\r\nhost: {address}\r\n")), "{heads:?}");
    assert!(heads[0].contains("\r\nx-one: 1\r\n") && !heads[0].contains("accept-encoding"));
}

#[test]
fn an_origin_is_asked_for_gzip_and_compressed_here_if_it_does_not_do_it() {
    let plain = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello".to_vec();
    let (address, asked) = upstream(vec![plain]);
    let origin = TestOrigin::with(json!({
        "origin": format!("http://{address}/"),
        "headers": {"content-encoding": "gzip"},
        "stages": [stage(200, "0")],
    }));
    assert_eq!(unpacked(&origin.get("/")), b"hello");
    assert!(asked.join().unwrap()[0].contains("\r\naccept-encoding: gzip\r\n"));
}

/// A TLS server that answers once with a greeting, and the file of its certificate.
fn covered() -> (std::net::SocketAddr, std::path::PathBuf, std::thread::JoinHandle<()>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let name = format!("origin-test-{}-{}.pem", std::process::id(), address.port());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, made.cert.pem()).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut tls = rustls::ServerConnection::new(std::sync::Arc::new(config)).unwrap();
        let mut tls = rustls::Stream::new(&mut tls, &mut stream);
        // A client that does not know the certificate leaves here.
        if tls.read(&mut [0; 4_096]).is_ok() {
            tls.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").unwrap();
        }
    });
    (address, file, served)
}

#[test]
fn an_origin_over_tls_is_fetched_if_its_authority_is_known() {
    let (address, file, served) = covered();
    let recipe = json!({
        "origin": format!("https://localhost:{}/", address.port()),
        "stages": [stage(200, "0")],
    });
    let options = Options::default().with("ca", file.to_str().unwrap());
    let origin = TestOrigin::start(options.with("recipe", recipe.to_string()));
    assert_eq!(origin.get("/").text(), "hello");
    served.join().unwrap();
    std::fs::remove_file(file).unwrap();
}

#[test]
fn an_origin_over_tls_is_refused_if_its_authority_is_not_known() {
    let (address, file, served) = covered();
    let origin = TestOrigin::with(json!([]));
    let reply = origin.add(&json!({"origin": format!("https://localhost:{}/", address.port())}));
    assert_eq!(reply.status, 400);
    assert!(reply.text().contains("certificate"), "{}", reply.text());
    served.join().unwrap();
    std::fs::remove_file(file).unwrap();
}

#[test]
fn outcomes_are_mixed_by_their_weights() {
    let stage = json!({"at": 0, "latency": 0, "outcomes": [
        {"weight": 1, "status": 200}, {"weight": 1, "status": 503},
    ]});
    let origin = TestOrigin::with(json!({"body": "x", "stages": [stage]}));
    let failed = (0..200).filter(|_| origin.get("/").status == 503).count();
    // Six standard deviations of a coin are 42: no seed is lucky enough.
    assert!((58..142).contains(&failed), "{failed}");
    assert_eq!(origin.admin("routes_status"), "/* 200:1|503:1 0");
}

#[test]
fn a_loop_goes_round() {
    let origin = TestOrigin::with(json!({"body": "x", "loop": "20ms", "stages": [
        {"at": 0, "status": 200, "latency": 0}, {"at": "10ms", "status": 503, "latency": 0},
    ]}));
    let begun = Instant::now();
    let mut seen = Vec::new();
    // Both are met again and again, however slow this machine is.
    while seen.len() < 6 {
        let status = origin.get("/").status;
        if seen.last() != Some(&status) {
            seen.push(status);
        }
        assert!(begun.elapsed() < super::PATIENCE, "{seen:?}");
    }
}
