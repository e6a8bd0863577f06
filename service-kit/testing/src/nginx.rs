//! nginx behind a proxy.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

/// nginx as one process that serves files; it and its folder are gone when dropped.
pub struct Nginx {
    child: Child,
    folder: PathBuf,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Nginx {
    /// Starts one whose `server` block has these directives besides; `{root}` in them is its root.
    pub fn start(name: &str, directives: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("nginx-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("root")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let at = folder.display();
        let directives = directives.replace("{root}", &format!("{at}/root"));
        let configuration = format!(
            "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log crit; events {{}}\n\
             http {{ access_log off; absolute_redirect off; client_body_temp_path {at}/body; proxy_temp_path {at}/proxy; fastcgi_temp_path {at}/f;\n\
             uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;\n\
             server {{ listen 127.0.0.1:{port}; root {at}/root; gzip on; gzip_types *; {directives} }} }}"
        );
        fs::write(folder.join("nginx.conf"), configuration).unwrap();
        let program =
            if Path::new("/usr/sbin/nginx").exists() { "/usr/sbin/nginx" } else { "nginx" };
        let child = Command::new(program)
            .arg("-p")
            .arg(&folder)
            .arg("-c")
            .arg(folder.join("nginx.conf"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let address = ([127, 0, 0, 1], port).into();
        while TcpStream::connect(address).is_err() {
            thread::yield_now();
        }
        Self { child, folder, address }
    }

    /// The path of a file that it serves.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join("root").join(name)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
