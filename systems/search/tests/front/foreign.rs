//! Others' servers behind the front, others' clients before it: nginx, curl, Python.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::test_front::{TestFront, echo};
use sha2::{Digest, Sha256};

/// A folder and a process that are gone with the test.
struct Nginx {
    child: Child,
    folder: PathBuf,
    address: SocketAddr,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// nginx as one process, which serves a folder and takes in what is put there.
fn nginx(name: &str) -> Nginx {
    let folder = std::env::temp_dir().join(format!("front-{name}-{}", std::process::id()));
    fs::create_dir_all(folder.join("root")).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let at = folder.display();
    let configuration = format!(
        "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log crit; events {{}}\n\
         http {{ access_log off; absolute_redirect off; client_body_temp_path {at}/body; proxy_temp_path {at}/proxy; fastcgi_temp_path {at}/f;\n\
         uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;\n\
         server {{ listen 127.0.0.1:{port}; root {at}/root; client_max_body_size 200m; gzip on; gzip_types *;\n\
         location /empty {{ return 204; }} location /moved {{ return 302 /empty; }} }} }}"
    );
    fs::write(folder.join("nginx.conf"), configuration).unwrap();
    let program = if Path::new("/usr/sbin/nginx").exists() { "/usr/sbin/nginx" } else { "nginx" };
    let child = Command::new(program)
        .args(["-p", folder.to_str().unwrap(), "-c", folder.join("nginx.conf").to_str().unwrap()])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let address = ([127, 0, 0, 1], port).into();
    while TcpStream::connect(address).is_err() {
        thread::yield_now();
    }
    Nginx { child, folder, address }
}

fn run(program: &str, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(program).args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {told}");
    output.stdout
}

/// No run of it is like another, and it does not compress to nothing.
fn content(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn curl_gets_from_nginx_what_nginx_has() {
    let nginx = nginx("curl");
    let large = content(20 << 20);
    fs::write(nginx.folder.join("root/large.txt"), &large).unwrap();
    fs::write(nginx.folder.join("root/small.txt"), "small\n").unwrap();
    let house = TestFront::before(nginx.address);
    let url = |path: &str| format!("http://{}{path}", house.address);
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
    let house = TestFront::before(echo());
    let url = format!("http://{}/a", house.address);
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
    fs::write(nginx.folder.join("root/small.txt"), "small\n").unwrap();
    let house = TestFront::before(nginx.address);
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
    run("python3", &["-c", script, &house.address.to_string()]);
    assert_eq!(house.figure("front_connected_total"), 1);
}
