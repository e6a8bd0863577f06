//! A request to stop, as a value: made by a signal in the binary, by hand in tests.

use std::io;

use rustix::process::Signal;
use signals::Signals;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Pulls the stop; dropping it pulls it too, so that nothing outlives its owner.
#[derive(Debug)]
pub struct Stopper {
    sender: watch::Sender<bool>,
}

impl Stopper {
    /// Stops every [`Stop`] made with it.
    pub fn stop(&self) {
        self.sender.send_replace(true);
    }
}

/// Waits for the request to stop. Cheap to clone; works on any runtime.
#[derive(Debug, Clone)]
pub struct Stop {
    receiver: watch::Receiver<bool>,
}

impl Stop {
    /// A stop and what pulls it.
    pub fn pair() -> (Stopper, Self) {
        let (sender, receiver) = watch::channel(false);
        (Stopper { sender }, Self { receiver })
    }

    /// A stop that one of [`Signals`] pulls; call it within a runtime that has its drivers on. From then on a file that may
    /// not grow further is an error of its write, and not the end of the process.
    ///
    /// Errors: the kernel refuses a signal handler
    pub fn on_signals() -> io::Result<Self> {
        let mut signals = Signals::listen()?;
        // The signal handler stays when its receiver is dropped.
        drop(signal(SignalKind::from_raw(Signal::XFSZ.as_raw()))?);
        let (stopper, stop) = Self::pair();
        tokio::spawn(async move {
            signals.next().await;
            stopper.stop();
        });
        Ok(stop)
    }

    /// Whether it has been pulled.
    pub fn is_pulled(&self) -> bool {
        *self.receiver.borrow() || self.receiver.has_changed().is_err()
    }

    /// Resolves once it is pulled, at once if it was. Cancel-safe.
    pub async fn pulled(&mut self) {
        // An error means that the stopper is gone, which counts as pulled.
        let _ = self.receiver.wait_for(|stopped| *stopped).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_clone_hears_the_stop_before_and_after() {
        let (stopper, mut early) = Stop::pair();
        assert!(!early.is_pulled());
        let mut late = early.clone();
        stopper.stop();
        early.pulled().await;
        late.pulled().await;
        assert!(late.is_pulled());
    }

    /// Without a handler the signal would end this process.
    #[tokio::test]
    async fn a_file_that_may_not_grow_ends_nothing() {
        let stop = Stop::on_signals().unwrap();
        rustix::process::kill_process(rustix::process::getpid(), Signal::XFSZ).unwrap();
        tokio::task::yield_now().await;
        assert!(!stop.is_pulled());
    }

    #[tokio::test]
    async fn a_dropped_stopper_stops() {
        let (stopper, mut stop) = Stop::pair();
        drop(stopper);
        stop.pulled().await;
        assert!(stop.is_pulled());
    }
}
