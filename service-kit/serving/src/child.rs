//! A part of a system as a child process: started, waited for, noticed when it dies, and never left behind.
//!
//! Whatever happens to this process, the child goes: in order ([`Running::stop`]), by dropping, and even by `kill -9`
//! of this process. For that it is started by a few lines of shell that leave a watcher behind in its process group: it
//! waits on a pipe whose other end only this process has, and ends the group once that is gone.
//!
//! Not here: which part that is, whether it is started again, and what it started that left its group (see `orphans`).

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, waitid, waitpgid,
};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::timeout;

/// A child that does not accept within this time counts as broken.
const START: Duration = Duration::from_secs(10);
/// What a child gets to end by itself before it is killed.
const STOP: Duration = Duration::from_secs(6);
/// Bytes of a ready line.
const LINE_LIMIT: u64 = 64 << 10;

/// Leaves a watcher of fd 0 behind and becomes the command. The watcher is no child of the command,
/// ignores SIGTERM so that it can follow it with SIGKILL, and ends the whole process group.
const GUARD: &str = r#"
exec 3<&0
( { trap '' TERM; cat <&3 >/dev/null; kill -TERM 0; sleep 5; kill -KILL 0; } >/dev/null 2>&1 & )
exec 3<&-
exec "$@" </dev/null
"#;

/// A child that runs, and the end of it when dropped.
#[derive(Debug)]
pub struct Running {
    /// `None` once it was collected.
    child: Option<Child>,
    group: Pid,
    /// Whether the process has ended.
    ended: watch::Receiver<bool>,
}

impl Running {
    /// Starts a command, its program first.
    ///
    /// Errors: it cannot be started; that the program is not there shows as its early end
    pub fn spawn(words: &[String], stdout: Stdio) -> io::Result<Self> {
        let mut child = Command::new("/bin/sh")
            .args(["-c", GUARD, "guard"])
            .args(words)
            .stdin(Stdio::piped())
            .stdout(stdout)
            .process_group(0)
            .spawn()?;
        let group = Pid::from_child(&child);
        match watch_end(group) {
            Ok(ended) => Ok(Self { child: Some(child), group, ended }),
            Err(error) => {
                let _ = kill_process_group(group, Signal::KILL);
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Starts a system by a program that serves it (see [`crate::program`]), and reads its ready line.
    ///
    /// Errors: it cannot be started, dies, says something else, or does not speak in time
    pub async fn serve(
        program: &Path,
        system: &str,
        listen: SocketAddr,
        settings: &BTreeMap<String, Value>,
    ) -> io::Result<(Self, Value)> {
        let program = program.to_str().ok_or(io::Error::other("its path is no UTF-8"))?;
        let mut words: Vec<String> = [program, system, "--listen"].map(str::to_owned).into();
        words.push(listen.to_string());
        for (key, value) in settings {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            words.extend(["--set".to_owned(), format!("{key}={text}")]);
        }
        let mut running = Self::spawn(&words, Stdio::piped())?;
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
        Ok((running, serde_json::from_str(&line)?))
    }

    /// Its process id; the command itself, no shell around it.
    pub fn pid(&self) -> u32 {
        self.group.as_raw_nonzero().get().unsigned_abs()
    }

    /// Resolves when it has died, with an error that says how. Cancel-safe.
    pub async fn died(&mut self) -> io::Error {
        has_ended(&mut self.ended).await;
        io::Error::other(match self.collect() {
            Some(status) => format!("it ended by itself: {status}"),
            None => "it has ended".to_owned(),
        })
    }

    /// Asks it to end, and kills what is left of it after a while.
    pub async fn stop(mut self) {
        let _ = kill_process_group(self.group, Signal::TERM);
        let _ = timeout(STOP, has_ended(&mut self.ended)).await;
        self.collect();
    }

    /// Waits for something that the process does, unless it dies first or takes too long.
    ///
    /// Errors: those of what is waited for; that it died, and how; that it took too long
    pub async fn within<T>(&mut self, what: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        let waited = timeout(START, async {
            tokio::select! {
                done = what => done,
                () = has_ended(&mut self.ended) => Err(io::ErrorKind::BrokenPipe.into()),
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

    /// Ends what is left of the group, and reaps the process; after that its number may be reused.
    fn collect(&mut self) -> Option<ExitStatus> {
        let mut child = self.child.take()?;
        let _ = kill_process_group(self.group, Signal::KILL);
        let status = child.wait().ok();
        // Its watcher, where orphans come to this process (see `orphans`).
        while matches!(waitpgid(self.group, WaitOptions::empty()), Ok(Some(_))) {}
        status
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.collect();
    }
}

async fn has_ended(ended: &mut watch::Receiver<bool>) {
    // An error is the end of the thread that waits.
    let _ = ended.wait_for(|ended| *ended).await;
}

/// Waits on a thread for the end of a child, and leaves it to be collected: Linux 4.18 has no other way to look at a
/// child without that.
fn watch_end(child: Pid) -> io::Result<watch::Receiver<bool>> {
    let (sender, ended) = watch::channel(false);
    let seen = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    thread::Builder::new().name("child".to_owned()).spawn(move || {
        let _ = retry_on_intr(|| waitid(WaitId::Pid(child), seen));
        let _ = sender.send(true);
    })?;
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// What `kill -9` of this process does to the pipe: its other end is gone.
    #[tokio::test]
    async fn it_ends_when_this_process_is_gone() {
        let mut running = Running::spawn(&words(&["sleep", "1000"]), Stdio::null()).unwrap();
        drop(running.child.as_mut().unwrap().stdin.take());
        let told = running.died().await.to_string();
        assert!(told.contains("signal: 15"), "{told}");
    }

    #[tokio::test]
    async fn its_death_is_noticed_once_and_told() {
        let mut running = Running::spawn(&words(&["sh", "-c", "exit 7"]), Stdio::null()).unwrap();
        assert_eq!(running.died().await.to_string(), "it ended by itself: exit status: 7");
        assert_eq!(running.died().await.to_string(), "it has ended");
    }
}
