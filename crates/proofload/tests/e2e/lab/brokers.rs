//! Redis and NATS for a single test, each on a free port that it keeps across restarts. The test
//! ends and reaps them.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::thread;

use super::Lab;
use super::server::{Served, free_port};

/// How a kind of server is started.
struct Kind {
    program: &'static str,
    scheme: &'static str,
    fixed: &'static [&'static str],
    folder_flag: &'static str,
    port_flag: &'static str,
    /// The text in its log once it accepts connections.
    ready: &'static str,
}

/// Redis that writes each change to a file before it answers.
const REDIS: Kind = Kind {
    program: "redis-server",
    scheme: "redis",
    fixed: &["--bind", "127.0.0.1", "--save", "", "--appendonly", "yes", "--appendfsync", "always"],
    folder_flag: "--dir",
    port_flag: "--port",
    ready: "Ready to accept connections",
};

/// Redis that is reached over TLS alone.
const REDIS_TLS: Kind = Kind {
    scheme: "rediss",
    fixed: &["--bind", "127.0.0.1", "--save", "", "--port", "0", "--tls-auth-clients", "no"],
    port_flag: "--tls-port",
    ..REDIS
};

/// NATS.
const NATS: Kind = Kind {
    program: "nats-server",
    scheme: "nats",
    fixed: &["-a", "127.0.0.1"],
    folder_flag: "-sd",
    port_flag: "-p",
    ready: "Server is ready",
};

/// A server, possibly stopped.
pub struct Broker {
    served: Option<Served>,
    kind: &'static Kind,
    flags: Vec<String>,
    folder: String,
    port: u16,
}

impl Broker {
    /// A Redis, empty.
    pub fn redis(lab: &Lab) -> Self {
        Self::begin(lab, &REDIS, &[])
    }

    /// A Redis with these flags.
    pub fn redis_with(lab: &Lab, flags: &[&str]) -> Self {
        Self::begin(lab, &REDIS, flags)
    }

    /// A Redis that is reached over TLS, with this certificate and key.
    pub fn redis_over_tls(lab: &Lab, (certificate, key): (&str, &str)) -> Self {
        let (certificate, key) = (lab.write("redis.pem", certificate), lab.write("redis.key", key));
        let (certificate, key) = (certificate.display().to_string(), key.display().to_string());
        let flags = ["--tls-cert-file", &certificate, "--tls-key-file", &key];
        Self::begin(lab, &REDIS_TLS, &flags)
    }

    /// A NATS with JetStream, empty.
    pub fn nats(lab: &Lab) -> Self {
        Self::nats_with(lab, &["-js"])
    }

    /// A NATS with these flags.
    pub fn nats_with(lab: &Lab, flags: &[&str]) -> Self {
        Self::begin(lab, &NATS, flags)
    }

    fn begin(lab: &Lab, kind: &'static Kind, flags: &[&str]) -> Self {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let folder = lab.path(kind.scheme);
        std::fs::create_dir_all(&folder).expect("a folder for the server");
        let folder = folder.display().to_string();
        let mut broker = Self { served: None, kind, flags, folder, port: 0 };
        // Another process may take the free port first; then the next attempt uses another port.
        let gets_ready = (0..5).any(|_| {
            broker.port = free_port();
            broker.starts()
        });
        assert!(gets_ready, "{} gets ready on none of five free ports", kind.program);
        broker
    }

    /// The URL for clients.
    pub fn url(&self) -> String {
        format!("{}://{}", self.kind.scheme, self.address())
    }

    /// Address and port.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        self.served.take().expect("it runs");
    }

    /// Restarts it with the contents of its files.
    pub fn start_again(&mut self) {
        assert!(self.starts(), "{} gets ready again", self.kind.program);
    }

    /// Waits until it accepts connections; `false` if it ends instead.
    fn starts(&mut self) -> bool {
        let Kind { program, fixed, folder_flag, port_flag, ready, .. } = self.kind;
        let path = std::env::var("PATH").unwrap_or_default();
        let (log, end) = std::io::pipe().expect("a pipe");
        let child = Command::new(program)
            // Debian installs servers outside a user's PATH.
            .env("PATH", format!("{path}:/usr/local/sbin:/usr/sbin:/sbin"))
            .args(*fixed)
            .args(&self.flags)
            .args([*folder_flag, &self.folder, *port_flag, &self.port.to_string()])
            .stdout(end.try_clone().expect("another end"))
            .stderr(end)
            .stdin(Stdio::null())
            .spawn();
        let child = child.unwrap_or_else(|error| panic!("{program} of Debian starts: {error}"));
        self.served = Some(Served { child });
        says(log, ready)
    }
}

/// Whether a log contains these words before it ends.
pub fn says(log: impl Read + Send + 'static, words: &str) -> bool {
    let mut lines = BufReader::new(log).lines().map_while(Result::ok);
    let is_said = lines.any(|line| line.contains(words));
    // Reads to the end: a log that nobody reads would block the server.
    thread::spawn(move || lines.for_each(drop));
    is_said
}
