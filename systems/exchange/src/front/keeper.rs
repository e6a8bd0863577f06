//! The producer as a process of the front's: started with it, started again where it died, ended with it.
//!
//! It comes back where it was: at the address that the first one was given, and in the same folder. Whoever asks it meanwhile
//! is told at once that nobody is there.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use serving::child::Running;
use serving::metrics::{Counter, Registry};
use serving::stop::{Stop, Stopper};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::{producer, race};

/// Pause before a producer that died is started again; doubled each time that this fails.
const PAUSE: Duration = Duration::from_millis(100);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The producer's setting for where its sockets are.
pub(super) const FOLDER: &str = "folder";

/// Where a producer is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Places {
    /// Over HTTP.
    pub http: SocketAddr,
    /// Over a Unix socket.
    pub unix: PathBuf,
    /// Over shared memory: the socket at which that is handed out.
    pub shm: PathBuf,
}

impl Places {
    /// Those of a ready line.
    fn told(ready: &Value) -> io::Result<Self> {
        let text = |kind: &str| ready["listening"][kind].as_str();
        let http = text("http").and_then(|text| text.parse().ok());
        match (http, text("unix"), text("shm")) {
            (Some(http), Some(unix), Some(shm)) => {
                Ok(Self { http, unix: unix.into(), shm: shm.into() })
            }
            _ => Err(io::Error::other(format!("its places are not in {ready}"))),
        }
    }
}

/// What is known of a producer.
#[derive(Debug, Default)]
pub(super) struct State {
    now: Mutex<Now>,
    restarts: Counter,
}

#[derive(Debug, Clone, Default)]
struct Now {
    /// `None` while it is away, or where it is nobody's of ours.
    pid: Option<u32>,
    /// How it ended last, or why it did not start again.
    ended: Option<String>,
}

impl State {
    /// Of a producer that runs elsewhere: nothing.
    pub fn unknown() -> Arc<Self> {
        Arc::default()
    }

    fn of(pid: u32, registry: &Registry) -> Arc<Self> {
        let help = "How often the producer was started again.";
        let restarts = registry.counter("exchange_front_producer_restarts_total", help);
        Arc::new(Self { now: Mutex::new(Now { pid: Some(pid), ended: None }), restarts })
    }

    /// For whoever asks how it is.
    pub fn told(&self) -> Value {
        let Now { pid, ended } = self.now.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut told = json!({ "restarts": self.restarts.get() });
        if let Some(pid) = pid {
            told["pid"] = json!(pid);
        }
        if let Some(ended) = ended {
            told["ended"] = json!(ended);
        }
        told
    }

    fn went(&self, why: &io::Error) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        *now = Now { pid: None, ended: Some(why.to_string()) };
    }

    fn came_back(&self, pid: u32) {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).pid = Some(pid);
        self.restarts.one();
    }
}

/// How a producer is started.
#[derive(Debug, Clone)]
pub(super) struct Recipe {
    /// A program that understands `serve exchange-producer`.
    pub program: PathBuf,
    /// The producer's settings by name.
    pub settings: BTreeMap<String, Value>,
}

impl Recipe {
    async fn start(&self, listen: SocketAddr) -> io::Result<(Running, Value)> {
        Running::serve(&self.program, producer::SYSTEM.name, listen, &self.settings).await
    }
}

/// A producer that is kept alive.
#[derive(Debug)]
pub(super) struct Keeper {
    /// What is known of it.
    pub state: Arc<State>,
    /// Where it is, also when it comes back.
    pub places: Places,
    /// The configuration in force that it told.
    pub effective: Value,
    /// The process that was started first.
    pub pid: u32,
    stopper: Stopper,
    kept: JoinHandle<()>,
    _fresh: Option<Fresh>,
}

impl Keeper {
    /// Starts a producer on loopback and waits until it answers.
    ///
    /// Errors: it does not start, or does not say where it is
    pub async fn start(mut recipe: Recipe, registry: &Registry) -> io::Result<Self> {
        let (running, ready) = recipe.start((Ipv4Addr::LOCALHOST, 0).into()).await?;
        let places = Places::told(&ready)?;
        let folder = places.unix.parent().map(Path::to_owned).unwrap_or_default();
        // One that it made for itself is not its own when it comes back.
        let fresh = match recipe.settings.insert(FOLDER.to_owned(), json!(folder)) {
            Some(_) => None,
            None => Some(Fresh::of(&places, folder)),
        };
        let (stopper, stop) = Stop::pair();
        let state = State::of(running.pid(), registry);
        Ok(Self {
            places: places.clone(),
            effective: ready["effective"].clone(),
            pid: running.pid(),
            kept: tokio::spawn(keep(running, recipe, places, Arc::clone(&state), stop)),
            state,
            stopper,
            _fresh: fresh,
        })
    }

    /// Ends the producer, and waits for that.
    pub async fn stop(self) {
        self.stopper.stop();
        // A task that panicked has dropped its process, which ends it.
        let _ = self.kept.await;
    }
}

async fn keep(
    mut running: Running,
    recipe: Recipe,
    places: Places,
    state: Arc<State>,
    mut stop: Stop,
) {
    loop {
        tokio::select! {
            () = stop.pulled() => return running.stop().await,
            error = running.died() => state.went(&error),
        }
        running = tokio::select! {
            () = stop.pulled() => return,
            back = again(&recipe, &places, &state) => back,
        };
        state.came_back(running.pid());
    }
}

/// Tries until it is back.
async fn again(recipe: &Recipe, places: &Places, state: &State) -> Running {
    let mut pause = PAUSE;
    loop {
        sleep(pause).await;
        let started = recipe.start(places.http).await;
        let same = started.and_then(|(running, ready)| match Places::told(&ready)? == *places {
            true => Ok(running),
            false => Err(io::Error::other(format!("it is elsewhere: {ready}"))),
        });
        match same {
            Ok(running) => return running,
            Err(error) => state.went(&error),
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// What a producer puts into a folder that it made for itself, gone with its keeper even if the producer was killed.
#[derive(Debug)]
struct Fresh {
    folder: PathBuf,
    files: [PathBuf; 3],
}

impl Fresh {
    fn of(places: &Places, folder: PathBuf) -> Self {
        let race = folder.join(race::NAME);
        Self { folder, files: [places.unix.clone(), places.shm.clone(), race] }
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // Mostly the producer has done so already; what somebody else has put there stays.
        for file in &self.files {
            let _ = std::fs::remove_file(file);
        }
        let _ = std::fs::remove_dir(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    /// A program that says this when it is told to serve a producer, and stays.
    struct Program(PathBuf);

    impl Program {
        fn saying(name: &str, line: &str) -> Self {
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
            Recipe { program: self.0.clone(), settings: BTreeMap::new() }
        }

        /// What it was told last.
        fn said(&self) -> String {
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
        let program = Program::saying("kept", &ready(&folder));
        let keeper = Keeper::start(program.recipe(), &Registry::default()).await.unwrap();
        assert_eq!(program.said(), "serve\nexchange-producer\n--listen\n127.0.0.1:0\n");
        assert_eq!(keeper.effective, json!({ "seed": 1 }));
        assert_eq!(keeper.state.told(), json!({ "restarts": 0, "pid": keeper.pid }));
        let pid = Pid::from_raw(i32::try_from(keeper.pid).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        let restarted = async {
            while keeper.state.restarts.get() == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), restarted)
            .await
            .expect("it is started again");
        let told = keeper.state.told();
        assert_ne!(told["pid"], json!(keeper.pid));
        assert!(told["ended"].as_str().unwrap().contains("signal: 9"), "{told}");
        let place = format!("127.0.0.1:9\n--set\nfolder={}\n", folder.display());
        assert!(program.said().ends_with(&place), "{}", program.said());
        let again = told["pid"].as_u64().unwrap();
        keeper.stop().await;
        assert!(!Path::new(&format!("/proc/{again}")).exists());
        assert!(!folder.exists());
    }

    #[tokio::test]
    async fn a_folder_that_was_given_stays() {
        let folder = std::env::temp_dir().join(format!("exchange-stays-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let program = Program::saying("given", &ready(&folder));
        let mut recipe = program.recipe();
        recipe.settings.insert(FOLDER.to_owned(), json!(folder));
        let keeper = Keeper::start(recipe, &Registry::default()).await.unwrap();
        keeper.stop().await;
        std::fs::remove_dir(&folder).unwrap();
    }

    #[tokio::test]
    async fn one_that_says_something_else_is_not_taken_for_ready() {
        for (name, line) in [("word", "hello"), ("empty", "{}")] {
            let program = Program::saying(name, line);
            assert!(Keeper::start(program.recipe(), &Registry::default()).await.is_err(), "{line}");
        }
    }
}
