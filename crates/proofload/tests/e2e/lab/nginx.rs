//! nginx in a folder of its own, on a free port.

use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

use super::Lab;
use super::server::Served;

/// Starts nginx with this `server` block (without `listen`) and waits until it accepts.
pub fn nginx(lab: &Lab, name: &str, server: &str) -> (Served, u16) {
    nginx_listening(lab, name, server, "")
}

/// The same with words after the address in `listen`, such as `ssl`.
pub fn nginx_listening(lab: &Lab, name: &str, server: &str, listen: &str) -> (Served, u16) {
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port();
    let root = lab.path(name);
    std::fs::create_dir_all(&root).expect("a folder for nginx");
    let dir = root.display();
    let config = format!(
        "daemon off; master_process off; pid {dir}/pid; error_log {dir}/error.log notice;
events {{ worker_connections 4096; }}
http {{ access_log off; client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy;
  fastcgi_temp_path {dir}/fastcgi; uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
  server {{ listen 127.0.0.1:{port} {listen} backlog=4096; {server} }} }}"
    );
    let file = lab.write(&format!("{name}.conf"), &config);
    let program =
        if std::path::Path::new("/usr/sbin/nginx").exists() { "/usr/sbin/nginx" } else { "nginx" };
    let child = Command::new(program)
        .args(["-p", &dir.to_string(), "-c", &file.display().to_string()])
        .stderr(Stdio::null())
        .spawn()
        .expect("nginx starts (Debian: nginx-light)");
    let served = Served { child };
    // Readiness has no event to wait for; each refused attempt yields and tries again.
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        thread::yield_now();
    }
    (served, port)
}
