//! The producer as a child process of the front: supervised, always in the same folder, which is removed with it.
//!
//! Not here: how a part is supervised ([`serving::supervisor`]).

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use serving::metrics::Registry;
use serving::supervisor::{ChildSpec, Supervisor};

use crate::race;

/// The producer's setting for where its sockets are.
pub(super) const FOLDER: &str = "folder";

/// Where a producer is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProducerAddresses {
    /// Over HTTP.
    pub http: SocketAddr,
    /// Over a Unix socket.
    pub unix: PathBuf,
    /// Over shared memory: the socket at which that is handed out.
    pub shm: PathBuf,
}

impl ProducerAddresses {
    /// Those of a ready line.
    fn from_ready_line(ready: &Value) -> io::Result<Self> {
        let text = |kind: &str| ready["listening"][kind].as_str();
        let http = text("http").and_then(|text| text.parse().ok());
        match (http, text("unix"), text("shm")) {
            (Some(http), Some(unix), Some(shm)) => {
                Ok(Self { http, unix: unix.into(), shm: shm.into() })
            }
            _ => Err(io::Error::other(format!("its ready line has no addresses: {ready}"))),
        }
    }

    fn folder(&self) -> PathBuf {
        self.unix.parent().map(Path::to_owned).unwrap_or_default()
    }
}

/// A supervised producer.
#[derive(Debug)]
pub(super) struct ProducerProcess {
    /// Where it is, also when it comes back.
    pub addresses: ProducerAddresses,
    /// Restarts it when it dies.
    pub supervisor: Supervisor,
    _fresh: Option<FreshFolder>,
}

impl ProducerProcess {
    /// Starts a producer on loopback and waits until it answers.
    ///
    /// Errors: it does not start, or its ready line lacks an address
    pub async fn start(spec: ChildSpec, registry: &Registry) -> io::Result<Self> {
        let help = "Restarts of the producer.";
        let restarts = registry.counter("exchange_front_producer_restarts_total", help);
        let is_given = spec.settings.contains_key(FOLDER);
        let lasting = |ready: &Value| {
            let folder = ProducerAddresses::from_ready_line(ready)?.folder();
            Ok(BTreeMap::from([(FOLDER.to_owned(), json!(folder))]))
        };
        let supervisor = Supervisor::start(spec, restarts, lasting).await?;
        let addresses = ProducerAddresses::from_ready_line(&supervisor.ready)?;
        // One that it made for itself is not its own when it comes back.
        let fresh = (!is_given).then(|| FreshFolder::of(&addresses));
        Ok(Self { addresses, supervisor, _fresh: fresh })
    }

    /// Ends the producer, and waits for that.
    pub async fn stop(self) {
        self.supervisor.stop().await;
    }
}

/// The folder that a producer made for itself and its files; removed when dropped, even if the producer was killed.
#[derive(Debug)]
struct FreshFolder {
    folder: PathBuf,
    files: [PathBuf; 3],
}

impl FreshFolder {
    fn of(addresses: &ProducerAddresses) -> Self {
        let folder = addresses.folder();
        let race = folder.join(race::NAME);
        Self { folder, files: [addresses.unix.clone(), addresses.shm.clone(), race] }
    }
}

impl Drop for FreshFolder {
    fn drop(&mut self) {
        // The producer usually has removed them already; files of other programs stay.
        for file in &self.files {
            let _ = std::fs::remove_file(file);
        }
        let _ = std::fs::remove_dir(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::process::{Pid, Signal, kill_process};
    use testing::Program;

    use super::*;
    use crate::producer;

    fn child_spec(program: &Program) -> ChildSpec {
        let (program, system) = (program.path().to_owned(), producer::SYSTEM.name);
        ChildSpec { program, system, settings: BTreeMap::new() }
    }

    fn ready(folder: &Path) -> String {
        let (unix, shm) = (folder.join("u"), folder.join("c"));
        let listening = json!({ "http": "127.0.0.1:9", "unix": unix, "shm": shm });
        json!({ "ready": true, "listening": listening, "effective": { "seed": 1 } }).to_string()
    }

    #[tokio::test]
    async fn it_comes_back_where_it_was_and_goes_with_its_folder() {
        let folder = std::env::temp_dir().join(format!("exchange-folder-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("u"), "").unwrap();
        let program = Program::printing("exchange-kept", &ready(&folder));
        let process =
            ProducerProcess::start(child_spec(&program), &Registry::default()).await.unwrap();
        assert_eq!(program.arguments(), "exchange-producer\n--listen\n127.0.0.1:0\n");
        let pid = Pid::from_raw(i32::try_from(process.supervisor.pid).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        let restarted = async {
            while process.supervisor.state.report()["restarts"] != 1 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), restarted)
            .await
            .expect("it is started again");
        let place = format!("127.0.0.1:9\n--set\nfolder={}\n", folder.display());
        assert!(program.arguments().ends_with(&place), "{}", program.arguments());
        process.stop().await;
        assert!(!folder.exists());
    }

    #[tokio::test]
    async fn a_folder_that_was_given_stays() {
        let folder = std::env::temp_dir().join(format!("exchange-stays-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let program = Program::printing("exchange-given", &ready(&folder));
        let mut spec = child_spec(&program);
        spec.settings.insert(FOLDER.to_owned(), json!(folder));
        let process = ProducerProcess::start(spec, &Registry::default()).await.unwrap();
        process.stop().await;
        std::fs::remove_dir(&folder).unwrap();
    }

    #[tokio::test]
    async fn one_that_says_something_else_is_not_taken_for_ready() {
        for (name, line) in [("word", "hello"), ("half", r#"{"listening":{"http":"127.0.0.1:9"}}"#)]
        {
            let program = Program::printing(&format!("exchange-{name}"), line);
            assert!(
                ProducerProcess::start(child_spec(&program), &Registry::default()).await.is_err(),
                "{line}"
            );
        }
    }
}
