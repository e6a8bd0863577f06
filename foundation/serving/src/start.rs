//! How a system begins: files to open, threads to run on, and the wish to stop.

use tokio::runtime::{Builder, Runtime};

use crate::error::ServeError;
use crate::limits;
use crate::stop::Stop;

/// Runs a system until its work is done, which is told when to stop: by this, or else by SIGTERM or SIGINT.
///
/// `prepare` is done before there is a runtime: it reads the settings and binds the listeners, and says how many threads
/// the work wants. One thread does all of it by itself, and hands nothing to another.
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
    runtime.block_on(async {
        let stop = stop.map_or_else(Stop::on_signals, Ok);
        let stop = stop.map_err(ServeError::while_doing("handle signals"))?;
        work(prepared, stop).await
    })
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
    use crate::error::BadOptions;

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
