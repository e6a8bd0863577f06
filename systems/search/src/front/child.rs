//! A front as a child process: found or named, started, waited for, noticed when it dies, and never left behind.
//!
//! Whatever happens to this process, the front goes: in order ([`Running::stop`]), by dropping, and even by `kill -9`
//! of this process. For that the front is started by a few lines of shell that leave a watcher behind in its process
//! group: it waits on a pipe whose other end only this process has, and ends the group once that is gone.
//!
//! Not here: what a front does ([`super`]), and the choice of upstream.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use serde_json::Value;
use serving::error::{BadOption, ServeError};
use serving::settings::Settings;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{TcpStream, unix::pipe};
use tokio::time::{sleep, timeout};

/// A front that does not accept within this time counts as broken.
const START: Duration = Duration::from_secs(10);
/// Pause between two looks at whether a command's port accepts.
const LOOK: Duration = Duration::from_millis(10);
/// What a front gets to end by itself before it is killed.
const STOP: Duration = Duration::from_secs(6);
/// Bytes of a ready line.
const LINE_LIMIT: u64 = 64 << 10;

/// Settings with this prefix are those of the front of ours, without it.
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
const OF_OURS: &str = "it is of the front of ours, and without front = front nothing has it";

/// What can be done about a program that is not there.
const INSTALL: &str = "install it (`node` comes with Node.js, https://nodejs.org, and in most systems as the package `nodejs`), or give another command as `front`";

/// Leaves a watcher of fd 0 behind and becomes the command. The watcher is no child of the command,
/// ignores SIGTERM so that it can follow it with SIGKILL, and ends the whole process group.
const GUARD: &str = r#"
exec 3<&0
( { trap '' TERM; cat <&3 >/dev/null; kill -TERM 0; sleep 5; kill -KILL 0; } >/dev/null 2>&1 & )
exec 3<&-
exec "$@" </dev/null
"#;

/// Which front stands before a service.
#[derive(Debug, Clone, PartialEq)]
pub enum Front {
    /// None: clients speak to the service itself.
    Direct,
    /// The one of ours: a program that understands `serve search-front`, and that front's settings.
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
    /// front of ours with `front_` before their names, such as `front_serial`.
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
    /// `None` once it was collected.
    child: Option<Child>,
    group: Pid,
    /// Readable once the process has ended.
    ended: AsyncFd<OwnedFd>,
    address: SocketAddr,
    effective: Value,
}

impl Running {
    fn spawn(words: &[String], stdout: Stdio) -> io::Result<Self> {
        let mut child = Command::new("/bin/sh")
            .args(["-c", GUARD, "front"])
            .args(words)
            .stdin(Stdio::piped())
            .stdout(stdout)
            .process_group(0)
            .spawn()?;
        let group = Pid::from_child(&child);
        match watch(group) {
            Ok(ended) => {
                let address = SocketAddr::from(([0, 0, 0, 0], 0));
                Ok(Self { child: Some(child), group, ended, address, effective: Value::Null })
            }
            Err(error) => {
                let _ = kill_process_group(group, Signal::KILL);
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Where clients find it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process id; the command itself, no shell around it.
    pub fn pid(&self) -> u32 {
        self.group.as_raw_nonzero().get().unsigned_abs()
    }

    /// The configuration in force that it told; null for somebody else's.
    pub fn effective(&self) -> &Value {
        &self.effective
    }

    /// Resolves when it has died, with an error that says how. Cancel-safe.
    pub async fn died(&mut self) -> ServeError {
        let source = match self.ended.readable().await {
            Ok(_) => io::Error::other(match self.collect() {
                Some(status) => format!("it ended by itself: {status}"),
                None => "it has ended".to_owned(),
            }),
            Err(error) => error,
        };
        ServeError::while_doing("serve behind the front")(source)
    }

    /// Asks it to end, and kills what is left of it after a while.
    pub async fn stop(mut self) {
        let _ = kill_process_group(self.group, Signal::TERM);
        let _ = timeout(STOP, self.ended.readable()).await;
        self.collect();
    }

    /// Ends whatever is left of the group, and collects the process: after that its number may be another's.
    fn collect(&mut self) -> Option<ExitStatus> {
        let mut child = self.child.take()?;
        let _ = kill_process_group(self.group, Signal::KILL);
        child.wait().ok()
    }

    /// Waits for something that the process does, unless it dies first or takes too long.
    async fn within<T>(&mut self, what: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        let waited = timeout(START, async {
            tokio::select! {
                done = what => done,
                _ = self.ended.readable() => Err(io::ErrorKind::BrokenPipe.into()),
            }
        });
        match waited.await {
            Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                let how = self.collect().map_or_else(String::new, |status| format!(": {status}"));
                Err(io::Error::other(format!("it ended before it accepted{how}")))
            }
            Ok(done) => done,
            Err(_) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("it does not accept after {START:?}"),
            )),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.collect();
    }
}

/// Readable once the process has ended.
#[expect(deprecated, reason = "its successor needs unsafe; an `OwnedFd` keeps its promise")]
fn watch(process: Pid) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(pidfd_open(process, PidfdFlags::NONBLOCK)?)
}

/// Ours says where it listens.
async fn ours(
    program: &Path,
    settings: &BTreeMap<String, Value>,
    listen: SocketAddr,
    upstream: SocketAddr,
) -> io::Result<Running> {
    let program = program.to_str().ok_or(io::Error::other("its path is no UTF-8"))?;
    let mut words: Vec<String> =
        [program, "serve", "search-front", "--listen"].map(str::to_owned).into();
    words.push(listen.to_string());
    let upstream = ("upstream".to_owned(), Value::String(format!("http://{upstream}")));
    for (key, value) in
        settings.iter().map(|(key, value)| (key.clone(), value.clone())).chain([upstream])
    {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        words.extend(["--set".to_owned(), format!("{key}={text}")]);
    }
    let mut running = Running::spawn(&words, Stdio::piped())?;
    let stdout = running.child.as_mut().and_then(|child| child.stdout.take());
    let stdout = stdout.ok_or(io::ErrorKind::BrokenPipe)?;
    let stdout = pipe::Receiver::from_owned_fd(stdout.into())?;
    let mut line = String::new();
    let mut reader = BufReader::new(stdout.take(LINE_LIMIT));
    let read = async {
        // An end of file comes with the end of the process, which says more.
        match reader.read_line(&mut line).await? {
            0 => std::future::pending().await,
            _ => Ok(()),
        }
    };
    running.within(read).await?;
    let ready: Value = serde_json::from_str(&line)?;
    let address = ready["listening"]["http"].as_str().and_then(|text| text.parse().ok());
    running.address = address.ok_or(io::Error::other(format!("no address in {line}")))?;
    running.effective = ready["effective"].clone();
    Ok(running)
}

/// Somebody else's is told a port, and accepts on it some time later. What it prints goes where errors go.
async fn theirs(words: &[String], listen: SocketAddr, upstream: SocketAddr) -> io::Result<Running> {
    let address = match listen.port() {
        0 => TcpListener::bind(listen)?.local_addr()?,
        _ => listen,
    };
    let (port, upstream) = (address.port().to_string(), upstream.to_string());
    let fill = |word: &String| word.replace("{front_port}", &port).replace("{upstream}", &upstream);
    let words: Vec<String> = words.iter().map(fill).collect();
    let stdout = io::stderr().as_fd().try_clone_to_owned()?;
    let mut running = Running::spawn(&words, stdout.into())?;
    running.address = address;
    let accepts = async {
        while TcpStream::connect(address).await.is_err() {
            sleep(LOOK).await;
        }
        Ok(())
    };
    running.within(accepts).await?;
    Ok(running)
}

#[cfg(test)]
mod tests;
