//! The run in a browser: one page, which gets the state of the run as server-sent events and becomes the report at the end.
//!
//! A server on a thread of its own. A viewer who is slow skips frames, since each frame is made from the newest state when
//! the one before it has been taken; nothing waits for viewers, and they cannot change anything.

mod access;
mod frame;
mod history;
mod page;
mod peers;
mod server;
mod state;
mod viewer;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plan::plan::Plan;
use tokio::sync::oneshot;

use crate::audience::Audience;
use crate::metrics::Metrics;
use crate::view::RunView;
use access::Access;

/// Viewers have so long to take the report before the command ends.
const LAST_FRAME_WITHIN: Duration = Duration::from_secs(3);

/// The page of a run.
#[derive(Debug)]
pub struct Browser {
    /// What it gets.
    pub audience: Audience,
    /// Where it is.
    pub link: String,
    #[cfg(test)]
    port: u16,
    report: oneshot::Sender<String>,
    gone: mpsc::Receiver<()>,
}

impl Browser {
    /// Serves at this address.
    ///
    /// Errors: the address cannot be used, or the system gives neither thread nor random bytes
    pub fn start(address: SocketAddr, plan: &Arc<Plan>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let access = Access::of(address)?;
        let link = link(address, &access);
        let (audience, queue) = Audience::new();
        let (report, reported) = oneshot::channel();
        let (done, gone) = mpsc::channel();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let metrics = Metrics::new(since, audience.count_of_missed());
        let view = RunView::new(plan);
        thread::Builder::new().name("browser".to_owned()).spawn(move || {
            // Without a runtime there is no page, and the run goes on.
            let _ = server::run(listener, access, (view, metrics), queue, reported);
            let _ = done.send(());
        })?;
        Ok(Self {
            audience,
            link,
            #[cfg(test)]
            port: address.port(),
            report,
            gone,
        })
    }

    /// Shows the report to all who watch, and ends.
    pub fn end(self, report: String) {
        let Self { audience, report: page, gone, .. } = self;
        let _ = page.send(report);
        drop(audience);
        let _ = gone.recv_timeout(LAST_FRAME_WITHIN);
    }
}

/// Of a server that listens at all addresses, by the name of this machine.
fn link(address: SocketAddr, access: &Access) -> String {
    let query = access.query();
    match address.ip().is_unspecified() {
        false => format!("http://{address}/{query}"),
        true => {
            let system = rustix::system::uname();
            let name = system.nodename().to_string_lossy();
            format!("http://{name}:{}/{query}", address.port())
        }
    }
}

#[cfg(test)]
mod tests;
