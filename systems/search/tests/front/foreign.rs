//! Others' servers behind the front, others' clients before it: nginx, curl, Python.

use std::fs;
use std::process::Command;

use crate::test_front::{TestFront, echo};
use sha2::{Digest, Sha256};
use testing::{Nginx, content};

/// nginx, which serves a folder and takes in what is put there.
fn nginx(name: &str) -> Nginx {
    let directives = "client_max_body_size 200m; location /empty { return 204; } \
                      location /moved { return 302 /empty; }";
    Nginx::start(&format!("front-{name}"), directives)
}

fn run(program: &str, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(program).args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {told}");
    output.stdout
}

#[test]
fn curl_gets_from_nginx_what_nginx_has() {
    let nginx = nginx("curl");
    let large = content(20 << 20);
    fs::write(nginx.file("large.txt"), &large).unwrap();
    fs::write(nginx.file("small.txt"), "small\n").unwrap();
    let front = TestFront::before(nginx.address);
    let url = |path: &str| format!("http://{}{path}", front.address);
    let digest = Sha256::digest(&large);
    assert_eq!(Sha256::digest(run("curl", &["-sSf", &url("/large.txt")])), digest);
    // Compressed on the way, and so in chunks.
    assert_eq!(Sha256::digest(run("curl", &["-sSf", "--compressed", &url("/large.txt")])), digest);
    assert_eq!(Sha256::digest(run("curl", &["-sSf", "--http1.0", &url("/_go/large.txt")])), digest);
    assert_eq!(run("curl", &["-sSf", "-r", "1-3", &url("/small.txt")]), b"mal");
    let code = |arguments: &[&str]| {
        let arguments =
            [&["-sS", "-o", "/dev/null", "-w", "%{http_code} %{num_connects}\n"], arguments]
                .concat();
        String::from_utf8(run("curl", &arguments)).unwrap()
    };
    assert_eq!(code(&["-I", &url("/large.txt")]), "200 1\n");
    assert_eq!(code(&[&url("/nothing")]), "404 1\n");
    assert_eq!(code(&["-L", &url("/moved")]), "204 1\n");
    // One connection for both.
    assert_eq!(
        code(&[&url("/small.txt"), "-o", "/dev/null", &url("/small.txt")]),
        "200 1\n200 0\n"
    );
}

#[test]
fn curl_posts_to_an_upstream_large_and_small() {
    let front = TestFront::before(echo());
    let url = format!("http://{}/a", front.address);
    for length in [1, 5_000, 100_000, 3_000_000] {
        let body = "x".repeat(length);
        let file = std::env::temp_dir().join(format!("front-post-{length}-{}", std::process::id()));
        fs::write(&file, &body).unwrap();
        let data = format!("@{}", file.display());
        // Beyond a megabyte curl expects 100-continue.
        let answer = run("curl", &["-sSf", "--data-binary", &data, &url]);
        fs::remove_file(&file).unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["body"].as_str().unwrap().len(), length);
    }
}

#[test]
fn a_client_in_python_keeps_its_connection_and_sends_chunks() {
    let nginx = nginx("python");
    fs::write(nginx.file("small.txt"), "small\n").unwrap();
    let front = TestFront::before(nginx.address);
    let script = "\
import http.client, sys
connection = http.client.HTTPConnection(sys.argv[1], timeout=20)
for turn in range(100):
    connection.request('GET', '/small.txt')
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b'small\\n'), answer.status
    assert answer.getheader('server-timing').startswith('front;dur='), answer.headers
for method, status in [('HEAD', 200), ('GET', 200)]:
    connection.request(method, '/small.txt')
    answer = connection.getresponse()
    assert answer.getheader('content-length') == '6', answer.headers
    assert len(answer.read()) == (0 if method == 'HEAD' else 6)
connection.request('POST', '/small.txt', body=iter([b'a' * 1000] * 50), encode_chunked=True)
answer = connection.getresponse()
assert answer.status == 405, answer.status
";
    run("python3", &["-c", script, &front.address.to_string()]);
    assert_eq!(front.figure("front_connected_total"), 1);
}
