//! nginx in a folder of its own, on a free port.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use super::Lab;
use super::server::{Served, free_port};

/// Starts nginx with this `server` block (without `listen`) and waits until it accepts.
pub fn nginx(lab: &Lab, name: &str, server: &str) -> (Served, u16) {
    nginx_listening(lab, name, server, "")
}

/// The same with options after the address in `listen`, such as `ssl`.
pub fn nginx_listening(lab: &Lab, name: &str, server: &str, listen: &str) -> (Served, u16) {
    // Another process may take the free port first; then the next attempt uses another port.
    for _ in 0..5 {
        let port = free_port();
        let config = configuration(lab, name, &format!("127.0.0.1:{port} {listen}"), server);
        let mut served = Served { child: start(lab, name, &config) };
        if accepts(&mut served.child, port) {
            return (served, port);
        }
    }
    panic!("nginx does not start: {}", lab.read(&format!("{name}/error.log")));
}

fn configuration(lab: &Lab, name: &str, listen: &str, server: &str) -> String {
    let root = lab.path(name);
    std::fs::create_dir_all(&root).expect("a folder for nginx");
    let dir = root.display();
    format!(
        "daemon off; master_process off; pid {dir}/pid; error_log {dir}/error.log notice;
events {{ worker_connections 4096; }}
http {{ access_log off; client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy;
  fastcgi_temp_path {dir}/fastcgi; uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
  server {{ listen {listen} backlog=4096; {server} }} }}"
    )
}

fn start(lab: &Lab, name: &str, config: &str) -> Child {
    let file = lab.write(&format!("{name}.conf"), config);
    let program = if Path::new("/usr/sbin/nginx").exists() { "/usr/sbin/nginx" } else { "nginx" };
    Command::new(program)
        .arg("-p")
        .arg(lab.path(name))
        .arg("-c")
        .arg(file)
        .stderr(Stdio::null())
        .spawn()
        .expect("nginx starts (Debian: nginx-light)")
}

/// Readiness has no event to wait for: each refused attempt yields and tries again.
pub fn accepts(child: &mut Child, port: u16) -> bool {
    loop {
        if child.try_wait().expect("a child").is_some() {
            return false;
        }
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return true;
        }
        thread::yield_now();
    }
}
