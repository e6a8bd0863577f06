//! Others' servers behind the proxy, others' clients before it: nginx, Python, curl.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use testing::{Nginx, content};

use crate::fixture::{TestProxy, Upstream, answer};
use crate::peers;

/// A folder and a process that are gone with the test.
struct Server {
    child: Child,
    folder: PathBuf,
    address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("edge-{name}-{}", std::process::id()));
    fs::create_dir_all(folder.join("root")).unwrap();
    folder
}

/// nginx, whose answers may be believed for a minute, and compressed.
fn nginx(name: &str) -> Nginx {
    let directives = "gzip_vary on; gzip_proxied any; location / { expires 60s; } \
                      location /stale/ { alias {root}/; add_header cache-control no-cache; }";
    Nginx::start(&format!("edge-{name}"), directives)
}

/// Python's own server over a folder; it says where it listens.
fn python(name: &str) -> Server {
    let folder = folder(name);
    let mut child = Command::new("python3")
        .args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory"])
        .arg(folder.join("root"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.split(" port ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    Server { child, folder, address: ([127, 0, 0, 1], port).into() }
}

/// Ways to ask in the clear.
const WAYS: [&str; 2] = ["--http1.1", "--http2-prior-knowledge"];

/// curl on one of the ways.
#[derive(Clone, Copy)]
struct Curl(&'static str);

impl Curl {
    fn gets(self, arguments: &[&str]) -> Vec<u8> {
        peers::curl(&[&[self.0], arguments].concat())
    }

    /// Status, where it came from, and bytes of the body, of what it gets with these arguments.
    fn summary(self, arguments: &[&str]) -> String {
        let format = ["-o", "/dev/null", "-w", "%{http_code} %header{x-cache} %{size_download}"];
        String::from_utf8(self.gets(&[&format, arguments].concat())).unwrap()
    }
}

#[test]
fn curl_gets_from_the_cache_what_nginx_has() {
    let nginx = nginx("curl");
    let large = content(300_000);
    fs::write(nginx.file("large.txt"), &large).unwrap();
    fs::write(nginx.file("small.txt"), "small\n").unwrap();
    for way in WAYS {
        walk(&nginx, &large, Curl(way));
    }
}

fn walk(nginx: &Nginx, large: &[u8], curl: Curl) {
    let proxy = TestProxy::before(nginx.address);
    let url = |path: &str| format!("http://{}{path}", proxy.address);
    let (large_url, small_url) = (url("/large.txt"), url("/small.txt"));
    assert_eq!(curl.summary(&[&large_url]), "200 miss 300000");
    assert_eq!(curl.summary(&[&large_url]), "200 hit 300000");
    assert_eq!(curl.gets(&["-f", &large_url]), large);
    assert_eq!(curl.summary(&["-I", &large_url]), "200 hit 0");
    // Compressed by the upstream, kept as it came, and told apart by Vary.
    assert!(curl.summary(&["-H", "accept-encoding: gzip", &large_url]).starts_with("200 miss "));
    let packed = curl.summary(&["-H", "accept-encoding: gzip", &large_url]);
    let size: usize = packed.strip_prefix("200 hit ").unwrap().parse().unwrap();
    assert!((1..290_000).contains(&size), "{packed}");
    let unpacked = curl.gets(&["-f", "--compressed", "-H", "accept-encoding: gzip", &large_url]);
    assert_eq!(unpacked, large);
    assert_eq!(curl.summary(&[&large_url]), "200 hit 300000");
    // A part is the upstream's to cut.
    assert_eq!(curl.gets(&["-f", "-r", "1-3", &large_url]), large[1..=3]);
    assert_eq!(curl.summary(&["-r", "1-3", &large_url]), "206 pass 3");
    // A condition on what is kept.
    assert_eq!(curl.summary(&[&small_url]), "200 miss 6");
    let head = String::from_utf8(curl.gets(&["-I", &small_url])).unwrap();
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    assert_eq!(curl.summary(&["-H", &format!("if-none-match: {tag}"), &small_url]), "304 hit 0");
    let file = nginx.file("small.txt");
    assert_eq!(curl.summary(&["-z", file.to_str().unwrap(), &small_url]), "304 hit 0");
    assert_eq!(curl.summary(&[&url("/nothing")]).split(' ').next(), Some("404"));
    assert_eq!(peers::curl(&["-f", "--http1.0", &small_url]), b"small\n");
}

#[test]
fn nginx_is_asked_whether_it_is_still_the_same() {
    let nginx = nginx("stale");
    fs::write(nginx.file("small.txt"), "small\n").unwrap();
    let (proxy, curl) = (TestProxy::before(nginx.address), Curl(WAYS[0]));
    let url = format!("http://{}/stale/small.txt", proxy.address);
    assert_eq!(curl.summary(&[&url]), "200 miss 6");
    assert_eq!(curl.summary(&[&url]), "200 revalidated 6");
    fs::write(nginx.file("small.txt"), "another\n").unwrap();
    assert_eq!(curl.summary(&[&url]), "200 miss 8");
    assert_eq!(curl.summary(&[&url]), "200 revalidated 8");
}

#[test]
fn a_server_in_python_is_asked_by_date() {
    let python = python("python");
    fs::write(python.folder.join("root/small.txt"), "small\n").unwrap();
    let (proxy, curl) = (TestProxy::before(python.address), Curl(WAYS[0]));
    let url = format!("http://{}/small.txt", proxy.address);
    assert_eq!(curl.summary(&[&url]), "200 miss 6");
    assert_eq!(curl.summary(&[&url]), "200 revalidated 6");
    assert_eq!(curl.gets(&["-f", &url]), b"small\n");
    assert_eq!(curl.summary(&["-I", &url]), "200 pass 0");
    assert!(curl.summary(&["--data", "x", &url]).starts_with("501 pass "));
}

#[test]
fn curl_waits_to_be_told_to_go_on() {
    let upstream = Upstream::new(|_, body| answer(&format!("200|={}", body.len())));
    let proxy = TestProxy::before(upstream.address);
    let url = format!("http://{}/", proxy.address);
    let path = folder("post").join("root/body");
    fs::write(&path, "x".repeat(3_000_000)).unwrap();
    let data = format!("@{}", path.display());
    for way in WAYS {
        let arguments = ["-f", "-H", "expect: 100-continue", "--data-binary", &data, &url];
        assert_eq!(Curl(way).gets(&arguments), b"3000000", "{way}");
    }
    fs::remove_dir_all(path.parent().unwrap().parent().unwrap()).unwrap();
}
