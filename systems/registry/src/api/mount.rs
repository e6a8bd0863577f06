//! What the HTTP API takes from a bus beside sending: subscribing and acknowledging over HTTP.

use hyper::Request;
use hyper::body::Bytes;
use serving::http::Answer;

use crate::bus::embedded::{Embedded, entrance};
use crate::bus::nats::Nats;
use crate::fault::{Code, Fault};
use crate::message::Acknowledgement;
use crate::subscription::Pattern;

/// Subscriptions over HTTP.
pub trait Mount {
    /// Whether [`Mount::subscribe`] would take a request: looked at before anything is changed.
    ///
    /// Errors: as there
    fn admits(&self, name: Option<&str>, request: &Request<Bytes>) -> Result<(), Fault>;

    /// Turns a request into a subscription: a WebSocket, or server-sent events.
    ///
    /// Shape:  `name` under which a receiver that comes back is known again
    /// Errors: `NOT_ON_THIS_BUS`; a request that asks for neither form
    fn subscribe(
        &self,
        namespace: &str,
        pattern: Pattern,
        name: Option<&str>,
        request: Request<Bytes>,
    ) -> Result<Answer, Fault>;

    /// Ends the subscription of a name for good, with what waits for it; `false` if there is none.
    ///
    /// Errors: `NOT_ON_THIS_BUS`
    fn unsubscribe(&self, namespace: &str, name: &str) -> Result<bool, Fault>;

    /// Takes acknowledgements of deliveries that came as events; tells how many were waited for.
    ///
    /// Errors: `NOT_ON_THIS_BUS`
    fn acknowledge(&self, namespace: &str, words: &Acknowledgement) -> Result<usize, Fault>;
}

impl Mount for Embedded {
    fn admits(&self, name: Option<&str>, request: &Request<Bytes>) -> Result<(), Fault> {
        entrance::check(name, request).map(drop)
    }

    fn subscribe(
        &self,
        namespace: &str,
        pattern: Pattern,
        name: Option<&str>,
        request: Request<Bytes>,
    ) -> Result<Answer, Fault> {
        self.subscribe(namespace, pattern, name, request)
    }

    fn unsubscribe(&self, namespace: &str, name: &str) -> Result<bool, Fault> {
        Ok(self.unsubscribe(namespace, name))
    }

    fn acknowledge(&self, namespace: &str, words: &Acknowledgement) -> Result<usize, Fault> {
        Ok(self.acknowledge(namespace, words))
    }
}

impl Mount for Nats {
    fn admits(&self, _: Option<&str>, _: &Request<Bytes>) -> Result<(), Fault> {
        Err(elsewhere("subscriptions"))
    }

    fn subscribe(
        &self,
        _: &str,
        _: Pattern,
        _: Option<&str>,
        _: Request<Bytes>,
    ) -> Result<Answer, Fault> {
        Err(elsewhere("subscriptions"))
    }

    fn unsubscribe(&self, _: &str, _: &str) -> Result<bool, Fault> {
        Err(elsewhere("subscriptions"))
    }

    fn acknowledge(&self, _: &str, _: &Acknowledgement) -> Result<usize, Fault> {
        Err(elsewhere("acknowledgements"))
    }
}

fn elsewhere(what: &str) -> Fault {
    let what = format!("the bus of this registry is NATS: {what} go there, see SUBSCRIBING.md");
    Fault::new(Code::NotOnThisBus, what)
}
