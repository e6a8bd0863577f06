//! Postfix in a folder of its own, on a free port: its sink, and the whole server.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process};

use super::Lab;
use super::nginx::accepts;
use super::server::{Served, free_port};

/// Postfix's own sink, which writes every message to a file in the test's folder `kept`, and its port.
pub fn sink(lab: &Lab, arguments: &[&str]) -> (Served, u16) {
    let kept = lab.path("kept");
    std::fs::create_dir_all(&kept).expect("a folder for messages");
    // It drops root privileges and must be told to which user.
    let others = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&kept, others).expect("a folder that anybody may write to");
    let user: &[&str] = if geteuid().is_root() { &["-u", "nobody"] } else { &[] };
    for _ in 0..5 {
        let port = free_port();
        let mut command = Command::new(found("/usr/sbin/smtp-sink"));
        command.args(user).args(["-d", &format!("{}/m", kept.display())]).args(arguments);
        command.args([&format!("127.0.0.1:{port}"), "1024"]).stderr(Stdio::null());
        let mut served = Served { child: command.spawn().expect("smtp-sink (Debian: postfix)") };
        if accepts(&mut served.child, port) {
            return (served, port);
        }
    }
    panic!("smtp-sink does not start");
}

/// A Postfix that accepts messages for `mail.example`, in the clear and after `STARTTLS`, and discards them.
#[derive(Debug)]
pub struct Postfix {
    master: Child,
    pub port: u16,
}

impl Postfix {
    /// Starts one; `None` without the root privileges that it needs.
    pub fn start(lab: &Lab, (certificate, key): (&str, &str)) -> Option<Self> {
        if !geteuid().is_root() {
            return None;
        }
        lab.write("cert.pem", certificate);
        lab.write("key.pem", key);
        for folder in ["postfix", "queue", "data"] {
            std::fs::create_dir_all(lab.path(folder)).expect("a folder for Postfix");
        }
        let owner = Command::new("chown").arg("postfix").arg(lab.path("data")).status();
        assert!(owner.expect("chown").success(), "the user of Postfix (Debian: postfix)");
        lab.write("postfix/main.cf", &main_cf(&lab.path("")));
        // Another process may take the free port first; then the next attempt uses another port.
        (0..5).find_map(|_| {
            let port = free_port();
            lab.write("postfix/master.cf", &master_cf(port));
            let config = lab.path("postfix");
            let mut check = Command::new(found("/usr/sbin/postfix"));
            check.arg("-c").arg(&config).arg("check").stderr(Stdio::null());
            let checked = check.status().expect("postfix check");
            assert!(checked.success(), "Postfix takes its configuration");
            let mut command = Command::new("/usr/lib/postfix/sbin/master");
            command.arg("-c").arg(config).arg("-d").stdout(Stdio::null()).stderr(Stdio::null());
            // Postfix ends its whole process group with itself, so it needs its own.
            let mut master = command.process_group(0).spawn().expect("the master of Postfix");
            if accepts(&mut master, port) {
                return Some(Self { master, port });
            }
            let _ = master.wait();
            None
        })
    }
}

impl Drop for Postfix {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.master.id().cast_signed()) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.master.wait();
    }
}

fn main_cf(root: &Path) -> String {
    let root = root.display();
    format!(
        "compatibility_level = 3.6
queue_directory = {root}/queue
data_directory = {root}/data
maillog_file = /dev/stdout
myhostname = mail.example
mydestination =
local_recipient_maps =
alias_maps =
relay_domains = mail.example
relay_transport = discard:
default_transport = discard:
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_peername_lookup = no
disable_dns_lookups = yes
smtpd_client_connection_count_limit = 0
smtpd_tls_cert_file = {root}/cert.pem
smtpd_tls_key_file = {root}/key.pem
smtpd_tls_security_level = may
"
    )
}

fn master_cf(port: u16) -> String {
    format!(
        "127.0.0.1:{port} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
anvil unix - - n - 1 anvil
proxymap unix - - n - - proxymap
discard unix - - n - - discard
postlog unix-dgram n - n - 1 postlogd
"
    )
}

/// The program at Debian's path, otherwise on PATH.
fn found(path: &str) -> &str {
    if Path::new(path).exists() { path } else { path.rsplit('/').next().unwrap_or(path) }
}
