//! How a system begins: what is known of it before that, files to open, threads to run on, and the wish to stop.

use serde::Serialize;
use tokio::runtime::{Builder, Runtime};

use crate::error::{BadOptions, ServeError};
use crate::limits;
use crate::options::Options;
use crate::ready::Ready;
use crate::stop::Stop;

/// Called once when a system accepts work, with its ready line.
pub type Announce<'a> = &'a mut dyn FnMut(&Ready);

/// A system, as its program (see [`crate::program`]) knows it before it serves.
#[derive(Debug, Clone, Copy)]
pub struct System {
    /// What it is called on the command line, in experiments and in its ready line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// The page of the repository that describes its settings.
    pub page: &'static str,
    /// What of it others can refer to, where it serves with these options.
    pub surface: fn(&Options) -> Surface,
    /// Whether these options would do, without serving anything.
    ///
    /// Errors: every problem at once
    pub check: fn(&Options) -> Result<(), BadOptions>,
    /// Serves until this is pulled, or else until a signal (see [`signals::Signals`]).
    ///
    /// Errors: bad settings (exit code 2); what the environment refuses (4)
    pub start: fn(&Options, Option<Stop>, Announce<'_>) -> Result<(), ServeError>,
}

/// What of a running system others can refer to by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Surface {
    /// The addresses in its ready line.
    pub listening: Vec<&'static str>,
    /// The processes in its ready line, other than the one that was started.
    pub processes: Vec<&'static str>,
    /// What it counts as an observer, other than what every observer counts.
    pub counts: Vec<&'static str>,
    /// Its parts whose times are in its answers.
    pub parts: Vec<&'static str>,
    /// Whether its answers may have times of other parts, too, such as those of a server behind it.
    pub other_parts: bool,
}

impl Default for Surface {
    /// One address, `http`, and nothing else.
    fn default() -> Self {
        Self {
            listening: vec!["http"],
            processes: Vec::new(),
            counts: Vec::new(),
            parts: Vec::new(),
            other_parts: false,
        }
    }
}

impl System {
    /// Serves until a signal; `announce` is given the ready line's contents.
    ///
    /// Errors: as [`System::start`]
    pub fn serve(
        &self,
        options: &Options,
        mut announce: impl FnMut(&Ready),
    ) -> Result<(), ServeError> {
        (self.start)(options, None, &mut announce)
    }

    /// The same until this is pulled.
    ///
    /// Errors: as [`System::start`]
    pub fn serve_until(
        &self,
        options: &Options,
        stop: Stop,
        mut announce: impl FnMut(&Ready),
    ) -> Result<(), ServeError> {
        (self.start)(options, Some(stop), &mut announce)
    }
}

/// Runs a system until its work is done; it stops by `stop`, or else by a signal.
///
/// `prepare` is done before there is a runtime: it reads the settings and binds the listeners, and returns how many threads
/// the work needs. One thread does all of it by itself, and hands nothing to another.
///
/// Errors: those of `prepare` and of the work; no runtime or no signal handler to be had
pub fn run<P>(
    stop: Option<Stop>,
    prepare: impl FnOnce() -> Result<(usize, P), ServeError>,
    work: impl AsyncFnOnce(P, Stop) -> Result<(), ServeError>,
) -> Result<(), ServeError> {
    limits::raise_open_files();
    let (threads, prepared) = prepare()?;
    let runtime = runtime(threads).map_err(ServeError::while_doing("make a runtime"))?;
    runtime.block_on(async { work(prepared, until(stop)?).await })
}

/// The stop that was given, or else the one that signals pull; call it within a runtime that has its drivers on.
///
/// Errors: the kernel refuses a signal handler
pub fn until(stop: Option<Stop>) -> Result<Stop, ServeError> {
    stop.map_or_else(Stop::on_signals, Ok).map_err(ServeError::while_doing("handle signals"))
}

fn runtime(threads: usize) -> std::io::Result<Runtime> {
    match threads {
        1 => Builder::new_current_thread().enable_all().build(),
        _ => Builder::new_multi_thread().worker_threads(threads).enable_all().build(),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_system_announces_itself_by_its_name_and_ends_with_the_stop() {
        fn start(
            _: &Options,
            stop: Option<Stop>,
            announce: Announce<'_>,
        ) -> Result<(), ServeError> {
            run(
                stop,
                || Ok((1, ())),
                async |(), mut stop: Stop| {
                    announce(&Ready::new(SYSTEM.name, serde_json::Value::Null));
                    stop.pulled().await;
                    Ok(())
                },
            )
        }
        const SYSTEM: System = System {
            name: "test",
            about: "a test",
            page: "",
            surface: |_| Surface::default(),
            check: |_| Ok(()),
            start,
        };
        let (stopper, stop) = Stop::pair();
        let mut told = Vec::new();
        let announce = |ready: &Ready| {
            told.push(ready.system.clone());
            stopper.stop();
        };
        SYSTEM.serve_until(&Options::default(), stop, announce).unwrap();
        assert_eq!(told, ["test"]);
    }

    #[test]
    fn what_was_prepared_is_worked_on_until_the_stop() {
        let (stopper, stop) = Stop::pair();
        let mut seen = None;
        let work = async |prepared, mut stop: Stop| {
            stopper.stop();
            stop.pulled().await;
            seen = Some(prepared);
            Ok(())
        };
        run(Some(stop), || Ok((2, "prepared")), work).unwrap();
        assert_eq!(seen, Some("prepared"));
    }

    #[test]
    fn one_thread_does_all_of_it_and_several_share() {
        let is_own = |threads| {
            let mut is_own = false;
            let work = async |(), _| {
                let own = thread::current().id();
                let other = tokio::spawn(async { thread::current().id() }).await;
                is_own = other.is_ok_and(|other| other == own);
                Ok(())
            };
            run(Some(Stop::pair().1), || Ok((threads, ())), work).unwrap();
            is_own
        };
        assert_eq!((is_own(1), is_own(2)), (true, false));
    }

    #[test]
    fn what_cannot_be_prepared_is_not_begun() {
        let bad = || Err::<(usize, ()), _>(BadOptions::one("no").into());
        let error = run(None, bad, async |(), _| panic!("it began")).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }
}
