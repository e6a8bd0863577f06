//! The producer as a process of the front's: kept alive, always in the same folder, which goes with its keeper.
//!
//! Not here: how a part is kept ([`serving::keeper`]).

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use serving::keeper::{self, Recipe};
use serving::metrics::Registry;

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

/// A producer that is kept alive.
#[derive(Debug)]
pub(super) struct ProducerProcess {
    /// Where it is, also when it comes back.
    pub addresses: ProducerAddresses,
    /// Its processes, one after the other.
    pub kept: keeper::Keeper,
    _fresh: Option<FreshFolder>,
}

impl ProducerProcess {
    /// Starts a producer on loopback and waits until it answers.
    ///
    /// Errors: it does not start, or does not say where it is
    pub async fn start(recipe: Recipe, registry: &Registry) -> io::Result<Self> {
        let help = "Restarts of the producer.";
        let restarts = registry.counter("exchange_front_producer_restarts_total", help);
        let is_given = recipe.settings.contains_key(FOLDER);
        let lasting = |ready: &Value| {
            let folder = ProducerAddresses::from_ready_line(ready)?.folder();
            Ok(BTreeMap::from([(FOLDER.to_owned(), json!(folder))]))
        };
        let kept = keeper::Keeper::start(recipe, restarts, lasting).await?;
        let addresses = ProducerAddresses::from_ready_line(&kept.ready)?;
        // One that it made for itself is not its own when it comes back.
        let fresh = (!is_given).then(|| FreshFolder::of(&addresses));
        Ok(Self { addresses, kept, _fresh: fresh })
    }

    /// Ends the producer, and waits for that.
    pub async fn stop(self) {
        self.kept.stop().await;
    }
}

/// What a producer puts into a folder that it made for itself, gone with its keeper even if the producer was killed.
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
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;
    use crate::producer;

    /// A program that prints this line when started as a producer, and stays.
    struct Program(PathBuf);

    impl Program {
        fn printing(name: &str, line: &str) -> Self {
            let name = format!("exchange-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let script = format!(
                "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$0.said\"\necho '{line}'\nexec sleep 1000\n"
            );
            std::fs::write(&path, script).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
            Self(path)
        }

        fn recipe(&self) -> Recipe {
            let system = producer::SYSTEM.name;
            Recipe { program: self.0.clone(), system, settings: BTreeMap::new() }
        }

        /// The last line written to it.
        fn last_line(&self) -> String {
            std::fs::read_to_string(format!("{}.said", self.0.display())).unwrap()
        }
    }

    impl Drop for Program {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
            let _ = std::fs::remove_file(format!("{}.said", self.0.display()));
        }
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
        let program = Program::printing("kept", &ready(&folder));
        let keeper = ProducerProcess::start(program.recipe(), &Registry::default()).await.unwrap();
        assert_eq!(program.last_line(), "exchange-producer\n--listen\n127.0.0.1:0\n");
        let pid = Pid::from_raw(i32::try_from(keeper.kept.pid).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        let restarted = async {
            while keeper.kept.state.told()["restarts"] != 1 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), restarted)
            .await
            .expect("it is started again");
        let place = format!("127.0.0.1:9\n--set\nfolder={}\n", folder.display());
        assert!(program.last_line().ends_with(&place), "{}", program.last_line());
        keeper.stop().await;
        assert!(!folder.exists());
    }

    #[tokio::test]
    async fn a_folder_that_was_given_stays() {
        let folder = std::env::temp_dir().join(format!("exchange-stays-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let program = Program::printing("given", &ready(&folder));
        let mut recipe = program.recipe();
        recipe.settings.insert(FOLDER.to_owned(), json!(folder));
        let keeper = ProducerProcess::start(recipe, &Registry::default()).await.unwrap();
        keeper.stop().await;
        std::fs::remove_dir(&folder).unwrap();
    }

    #[tokio::test]
    async fn one_that_says_something_else_is_not_taken_for_ready() {
        for (name, line) in [("word", "hello"), ("half", r#"{"listening":{"http":"127.0.0.1:9"}}"#)]
        {
            let program = Program::printing(name, line);
            assert!(
                ProducerProcess::start(program.recipe(), &Registry::default()).await.is_err(),
                "{line}"
            );
        }
    }
}
