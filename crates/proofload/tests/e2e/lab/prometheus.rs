//! Debian's Prometheus for a single test, on a free port, with its data in the test's folder.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Lab;
use super::brokers::says;
use super::server::{Served, free_port};

/// Prometheus while it runs.
pub struct Prometheus {
    _served: Served,
    address: String,
}

impl Prometheus {
    /// One that takes remote write and native histograms.
    pub fn native(lab: &Lab, scraped: Option<&str>) -> Self {
        let flags = ["--enable-feature=native-histograms", "--web.enable-remote-write-receiver"];
        Self::start(lab, "native", scraped, &flags)
    }

    /// As it is without flags.
    pub fn classic(lab: &Lab, scraped: &str) -> Self {
        Self::start(lab, "classic", Some(scraped), &[])
    }

    /// Scrapes this address each second.
    fn start(lab: &Lab, name: &str, scraped: Option<&str>, flags: &[&str]) -> Self {
        let targets = scraped.map(|address| format!("\"{address}\"")).unwrap_or_default();
        let config = format!(
            "global: {{ scrape_interval: 1s }}\nscrape_configs:\n  - job_name: proofload\n    \
             static_configs: [ {{ targets: [{targets}] }} ]\n"
        );
        let config = lab.write(&format!("{name}.yml"), &config);
        // Another process may take the free port first; then the next attempt uses another port.
        let started = (0..5).find_map(|attempt| {
            let address = format!("127.0.0.1:{}", free_port());
            let (log, end) = std::io::pipe().expect("a pipe");
            let child = Command::new("prometheus")
                .arg(format!("--config.file={}", config.display()))
                .arg(format!(
                    "--storage.tsdb.path={}",
                    lab.path(&format!("{name}-{attempt}")).display()
                ))
                .arg(format!("--web.listen-address={address}"))
                .args(flags)
                .stdin(Stdio::null())
                .stdout(end.try_clone().expect("another end"))
                .stderr(end)
                .spawn()
                .expect("Prometheus starts (Debian: prometheus)");
            let served = Served { child };
            says(log, "Server is ready to receive web requests").then_some((served, address))
        });
        let (_served, address) = started.expect("Prometheus gets ready on one of five free ports");
        Self { _served, address }
    }

    /// Waits until it scrapes: it begins some seconds after it is ready. A target that does not answer yet is down.
    pub fn await_scrapes(&self) {
        let is_known = std::iter::repeat_with(|| self.query("up")).any(|found| !found.is_empty());
        assert!(is_known);
    }

    /// Where it takes remote write; with this user and password, which it does not ask for.
    pub fn write_url(&self, user: &str) -> String {
        format!("http://{user}{}/api/v1/write", self.address)
    }

    /// The result of a query, now.
    pub fn query(&self, expression: &str) -> Vec<Value> {
        self.ask("query", &[("query", expression)])
    }

    /// The result of a query from one time to another, in seconds since the epoch, each second.
    pub fn query_range(&self, expression: &str, from: f64, to: f64) -> Vec<Value> {
        let (from, to) = (from.to_string(), to.to_string());
        self.ask(
            "query_range",
            &[("query", expression), ("start", &from), ("end", &to), ("step", "1")],
        )
    }

    fn ask(&self, what: &str, parameters: &[(&str, &str)]) -> Vec<Value> {
        let parameters = parameters.iter().map(|(name, value)| {
            let value = value.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
            format!("{name}={value}")
        });
        let query = parameters.collect::<Vec<_>>().join("&");
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        // Without chunks.
        write!(stream, "GET /api/v1/{what}?{query} HTTP/1.0\r\n\r\n").expect("asks");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
        let answer: Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        answer["data"]["result"].as_array().expect("a result").clone()
    }
}
