//! Ctrl-C, SIGTERM and the closing of the terminal become a wish to stop; the record stays whole.

use std::io;
use std::thread;

use engine::StopSignal;
use signals::Signals;

use crate::problem::Problem;

/// Turns each of these signals from now on into one request of the one returned.
///
/// Errors: the handlers cannot be installed
pub fn listen() -> Result<StopSignal, Problem> {
    install().map_err(|error| Problem::environment(format!("cannot listen for signals: {error}")))
}

fn install() -> io::Result<StopSignal> {
    let stop = StopSignal::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let mut signals = {
        let _inside = runtime.enter();
        Signals::listen()?
    };
    let wish = stop.clone();
    thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(async move {
            loop {
                signals.next().await;
                wish.request();
            }
        });
    })?;
    Ok(stop)
}
