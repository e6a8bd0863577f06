//! Turns Ctrl-C, SIGTERM and a closed terminal into a request to stop, so that the record stays
//! complete.

use std::io;
use std::thread;

use engine::StopSignal;
use signals::Signals;

use crate::problem::Problem;

/// From now on, each of these signals becomes one request of the returned signal.
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
