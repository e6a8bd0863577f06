//! The parts of a bus that the HTTP API needs in addition to sending: subscribing and acknowledging over HTTP.

use hyper::Request;
use hyper::body::Bytes;
use serving::http::Answer;

use crate::api_error::{ApiError, Code};
use crate::bus::embedded::{Embedded, handshake};
use crate::bus::nats::Nats;
use crate::message::Acknowledgement;
use crate::subscription::Pattern;

/// Subscriptions over HTTP.
pub trait HttpSubscriptions {
    /// Whether [`HttpSubscriptions::subscribe`] would accept a request; called before anything is changed.
    ///
    /// Errors: as there
    fn check_subscription(
        &self,
        name: Option<&str>,
        request: &Request<Bytes>,
    ) -> Result<(), ApiError>;

    /// Turns a request into a subscription: a WebSocket, or server-sent events.
    ///
    /// Shape:  `name` identifies a receiver that reconnects
    /// Errors: `NOT_ON_THIS_BUS`; a request that asks for neither form
    fn subscribe(
        &self,
        namespace: &str,
        pattern: Pattern,
        name: Option<&str>,
        request: Request<Bytes>,
    ) -> Result<Answer, ApiError>;

    /// Removes a named subscription and its stored deliveries; `false` if it does not exist.
    ///
    /// Errors: `NOT_ON_THIS_BUS`
    fn unsubscribe(&self, namespace: &str, name: &str) -> Result<bool, ApiError>;

    /// Accepts acknowledgements of deliveries that were sent as events; returns how many of them were pending.
    ///
    /// Errors: `NOT_ON_THIS_BUS`
    fn acknowledge(&self, namespace: &str, words: &Acknowledgement) -> Result<usize, ApiError>;
}

impl HttpSubscriptions for Embedded {
    fn check_subscription(
        &self,
        name: Option<&str>,
        request: &Request<Bytes>,
    ) -> Result<(), ApiError> {
        handshake::check(name, request).map(drop)
    }

    fn subscribe(
        &self,
        namespace: &str,
        pattern: Pattern,
        name: Option<&str>,
        request: Request<Bytes>,
    ) -> Result<Answer, ApiError> {
        self.subscribe(namespace, pattern, name, request)
    }

    fn unsubscribe(&self, namespace: &str, name: &str) -> Result<bool, ApiError> {
        Ok(self.unsubscribe(namespace, name))
    }

    fn acknowledge(&self, namespace: &str, words: &Acknowledgement) -> Result<usize, ApiError> {
        Ok(self.acknowledge(namespace, words))
    }
}

impl HttpSubscriptions for Nats {
    fn check_subscription(&self, _: Option<&str>, _: &Request<Bytes>) -> Result<(), ApiError> {
        Err(elsewhere("subscriptions"))
    }

    fn subscribe(
        &self,
        _: &str,
        _: Pattern,
        _: Option<&str>,
        _: Request<Bytes>,
    ) -> Result<Answer, ApiError> {
        Err(elsewhere("subscriptions"))
    }

    fn unsubscribe(&self, _: &str, _: &str) -> Result<bool, ApiError> {
        Err(elsewhere("subscriptions"))
    }

    fn acknowledge(&self, _: &str, _: &Acknowledgement) -> Result<usize, ApiError> {
        Err(elsewhere("acknowledgements"))
    }
}

fn elsewhere(what: &str) -> ApiError {
    let what = format!("this registry uses NATS: send {what} there (see SUBSCRIBING.md)");
    ApiError::new(Code::NotOnThisBus, what)
}
