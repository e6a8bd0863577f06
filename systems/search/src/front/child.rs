//! A front as a child process: found or named, started, and waited for.
//!
//! Not here: how a child is kept ([`serving::child`]), what a front does ([`super`]), and the choice of upstream.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use serving::child::Running as Child;
use serving::error::{BadOption, ServeError};
use serving::settings::Settings;
use tokio::net::TcpStream;
use tokio::time::sleep;

/// Pause between two looks at whether a command's port accepts.
const LOOK: Duration = Duration::from_millis(10);

/// Settings with this prefix are those of the bundled front, without it.
const PREFIX: &str = "front_";
/// Those that it has (see [`super::settings`]), prefixed.
const PASSED: &[&str] = &[
    "front_threads",
    "front_connections",
    "front_queue",
    "front_queue_wait",
    "front_upstream_idle",
    "front_connect",
    "front_first_byte",
    "front_whole",
    "front_max_connections",
    "front_max_head",
    "front_idle",
    "front_drain",
    "front_trust_forwarded",
    "front_serial",
    "front_cost",
    "front_slow_share",
    "front_slow_cost",
    "front_seed",
];

/// Beside which front those are not idle.
const OF_OURS: &str = "it is a setting of the bundled front; use it with front = front";

/// What can be done about a program that is not there.
const INSTALL: &str = "install it (`node` comes with Node.js, https://nodejs.org, and in most systems as the package `nodejs`), or give another command as `front`";

/// Which front stands before a service.
#[derive(Debug, Clone, PartialEq)]
pub enum Front {
    /// None: clients speak to the service itself.
    Direct,
    /// The bundled one: a program that serves `search-front`, and that front's settings.
    Ours {
        /// The program; this executable unless told otherwise.
        program: PathBuf,
        /// Its settings by name, the upstream left out.
        settings: BTreeMap<String, Value>,
    },
    /// Somebody else's: a command in words, with `{front_port}` and `{upstream}` (`HOST:PORT`) still in them.
    Command(Vec<String>),
}

impl Front {
    /// Reads the settings `front` (`direct`, `front` or a command line), `front_program`, and those of the
    /// bundled front with `front_` before their names, such as `front_serial`.
    pub fn read(settings: &Settings<'_>) -> Self {
        let text = settings.text("front", "direct");
        let program = settings.text("front_program", "");
        let given = PASSED.iter().filter_map(|key| Some((*key, settings.value(key)?)));
        let given: BTreeMap<String, Value> = given
            .map(|(key, value)| (key.trim_start_matches(PREFIX).to_owned(), value.clone()))
            .collect();
        if text != "front" {
            let keys = PASSED.iter().chain(&["front_program"]).copied();
            keys.filter(|key| settings.has(key)).for_each(|key| settings.idle(key, OF_OURS));
        }
        for problem in super::settings::problems(&given) {
            let key = format!("{PREFIX}{}", problem.key);
            settings.refuse(BadOption { key, ..problem });
        }
        match text.as_str() {
            "direct" => Self::Direct,
            "front" => match program.as_str() {
                "" => match std::env::current_exe() {
                    Ok(program) => Self::Ours { program, settings: given },
                    Err(error) => {
                        settings.wrong("front", format!("this program cannot be found: {error}"));
                        Self::Direct
                    }
                },
                program => Self::Ours { program: program.into(), settings: given },
            },
            line => command(line).map(Self::Command).unwrap_or_else(|problem| {
                settings.wrong("front", problem);
                Self::Direct
            }),
        }
    }

    /// As it was asked for.
    pub fn name(&self) -> String {
        match self {
            Self::Direct => "direct".to_owned(),
            Self::Ours { .. } => "front".to_owned(),
            Self::Command(words) => words.join(" "),
        }
    }

    /// Starts it before `upstream` and waits until it accepts; `None` for [`Front::Direct`].
    ///
    /// Shape:  `listen` where clients find it; with port 0 one is chosen, and a command gets the port alone
    /// Errors: it cannot be started, dies, says what it should not, or does not accept in time
    pub async fn start(
        &self,
        listen: SocketAddr,
        upstream: SocketAddr,
    ) -> Result<Option<Running>, ServeError> {
        let started = match self {
            Self::Direct => return Ok(None),
            Self::Ours { program, settings } => ours(program, settings, listen, upstream).await,
            Self::Command(words) => {
                is_there(&words[0])?;
                theirs(words, listen, upstream).await
            }
        };
        started.map(Some).map_err(ServeError::while_doing("start the front"))
    }
}

/// Whether the program of a command line can be found, as a shell would look for it.
///
/// Errors: it cannot
fn is_there(program: &str) -> Result<(), ServeError> {
    let (is_found, place) = if program.contains('/') {
        (Path::new(program).is_file(), "seen from the folder in which this was started")
    } else {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let mut folders = std::env::split_paths(&folders);
        (folders.any(|folder| folder.join(program).is_file()), "in any folder of PATH")
    };
    if is_found {
        return Ok(());
    }
    let why = format!("there is no program `{program}` {place}");
    Err(ServeError::Stopped { doing: "start the front", why, hint: INSTALL })
}

/// Splits a command line like a shell does, and sees to it that both places are in it.
fn command(line: &str) -> Result<Vec<String>, String> {
    let expected = "expected direct, front, or a command line with {front_port} and {upstream}";
    let words = shlex::split(line).ok_or(format!("a quote is never closed; {expected}"))?;
    match ["{front_port}", "{upstream}"].iter().all(|place| line.contains(place)) {
        true if !words.is_empty() => Ok(words),
        _ => Err(format!("{expected}, got \"{line}\"")),
    }
}

/// A front that accepts, and the end of it when dropped.
#[derive(Debug)]
pub struct Running {
    process: Child,
    address: SocketAddr,
    effective: Value,
}

impl Running {
    /// Where clients find it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process id; the command itself, no shell around it.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The configuration in force that it told; null for somebody else's.
    pub fn effective(&self) -> &Value {
        &self.effective
    }

    /// Resolves when it has died, with an error that says how. Cancel-safe.
    pub async fn died(&mut self) -> ServeError {
        ServeError::while_doing("serve behind the front")(self.process.died().await)
    }

    /// Asks it to end, and kills what is left of it after a while.
    pub async fn stop(self) {
        self.process.stop().await;
    }
}

/// Ours says where it listens.
async fn ours(
    program: &Path,
    settings: &BTreeMap<String, Value>,
    listen: SocketAddr,
    upstream: SocketAddr,
) -> io::Result<Running> {
    let mut settings = settings.clone();
    settings.insert("upstream".to_owned(), Value::String(format!("http://{upstream}")));
    let (process, ready) = Child::serve(program, super::SYSTEM.name, listen, &settings).await?;
    let address = ready["listening"]["http"].as_str().and_then(|text| text.parse().ok());
    let address = address.ok_or_else(|| io::Error::other(format!("no address in {ready}")))?;
    Ok(Running { process, address, effective: ready["effective"].clone() })
}

/// Another front gets a port, and accepts on it some time later. What it prints goes to standard error.
async fn theirs(words: &[String], listen: SocketAddr, upstream: SocketAddr) -> io::Result<Running> {
    let address = match listen.port() {
        0 => TcpListener::bind(listen)?.local_addr()?,
        _ => listen,
    };
    let (port, upstream) = (address.port().to_string(), upstream.to_string());
    let fill = |word: &String| word.replace("{front_port}", &port).replace("{upstream}", &upstream);
    let words: Vec<String> = words.iter().map(fill).collect();
    let stdout = io::stderr().as_fd().try_clone_to_owned()?;
    let mut process = Child::spawn(&words, stdout.into())?;
    let accepts = async {
        while TcpStream::connect(address).await.is_err() {
            sleep(LOOK).await;
        }
        Ok(())
    };
    process.within(accepts).await?;
    Ok(Running { process, address, effective: Value::Null })
}

#[cfg(test)]
mod tests;
