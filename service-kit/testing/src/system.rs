//! A system on a thread of the test.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use serde_json::Value;
use serving::error::ServeError;
use serving::options::Options;
use serving::start::System;
use serving::stop::{Stop, Stopper};

use crate::PATIENCE;

/// A system on a thread; stopped and joined when dropped.
pub struct TestSystem {
    /// Its ready line.
    pub ready: Value,
    stopper: Option<Stopper>,
    served: Option<JoinHandle<Result<(), ServeError>>>,
}

impl TestSystem {
    /// Starts it and waits until it is ready.
    pub fn start(system: &'static System, options: Options) -> Self {
        let (stopper, stop) = Stop::pair();
        let (sender, ready) = mpsc::channel();
        let served = thread::spawn(move || {
            system.serve_until(&options, stop, |ready| {
                sender.send(serde_json::to_value(ready).unwrap()).unwrap();
            })
        });
        let ready = ready.recv_timeout(PATIENCE).expect("it gets ready");
        Self { ready, stopper: Some(stopper), served: Some(served) }
    }

    /// One of its addresses, as the ready line has it.
    pub fn listening(&self, kind: &str) -> &str {
        self.ready["listening"][kind].as_str().unwrap()
    }

    /// One of its TCP addresses.
    pub fn address(&self, kind: &str) -> SocketAddr {
        self.listening(kind).parse().unwrap()
    }

    /// Tells it to stop, and does not wait.
    pub fn stop(&mut self) {
        self.stopper = None;
    }

    /// Waits until it has stopped.
    pub fn stopped(mut self) {
        self.stop();
        self.served.take().unwrap().join().unwrap().unwrap();
    }
}

impl Drop for TestSystem {
    fn drop(&mut self) {
        self.stop();
        if let Some(served) = self.served.take() {
            let ended = served.join();
            assert!(thread::panicking() || matches!(ended, Ok(Ok(()))), "{ended:?}");
        }
    }
}
