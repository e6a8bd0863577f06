//! Ctrl-C and SIGTERM become a wish to stop; the record stays whole.

use std::io;
use std::thread;

use engine::StopSignal;
use tokio::signal::unix::{SignalKind, signal};

use crate::message::Problem;

/// Turns every SIGINT and SIGTERM from now on into one request of the signal returned.
///
/// Errors: the handlers cannot be installed
pub fn listen() -> Result<StopSignal, Problem> {
    install().map_err(|error| Problem::environment(format!("cannot listen for signals: {error}")))
}

fn install() -> io::Result<StopSignal> {
    let stop = StopSignal::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut interrupts, mut terminations) = {
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    let wish = stop.clone();
    thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(async move {
            loop {
                tokio::select! {
                    _ = interrupts.recv() => wish.request(),
                    _ = terminations.recv() => wish.request(),
                }
            }
        });
    })?;
    Ok(stop)
}
