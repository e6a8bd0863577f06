//! The registry over HTTP and JSON, under `/v1/{namespace}/`.
//!
//! | request | does |
//! |---|---|
//! | `POST register` | registers an identity |
//! | `POST enumerate` | lists the identities that match a filter |
//! | `POST multicast` | sends them a message |
//! | `POST unregister` | removes an identity |
//! | `GET identities/{identity}` | one identity |
//! | `PUT schema`, `GET schema` | the schema of metadata |
//! | `GET subscribe/{pattern}` | WebSocket or server-sent events, on the embedded bus |
//! | `POST unsubscribe` | removes a named subscription with its stored deliveries |
//! | `POST ack` | acknowledges deliveries that came as events |
//!
//! Errors are `{"error":{"code":…,"message":…,"at":…}}` with the status of their code.

mod bodies;
mod route;
mod subscriptions;

use std::sync::Arc;

use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Request, StatusCode};
use serde::Serialize;
use serving::http::{self, Answer, Handler};

use crate::access::{Access, check_namespace};
use crate::api_error::ApiError;
use crate::bus::Bus;
use crate::service::Service;
use crate::store::Store;
use route::Route;

pub use subscriptions::HttpSubscriptions;

/// Answers requests.
#[derive(Debug)]
pub struct Api<S, B> {
    service: Arc<Service<S, B>>,
    bus: Arc<B>,
    access: Access,
}

impl<S: Store, B: Bus + HttpSubscriptions> Api<S, B> {
    /// An API over a service and its bus.
    pub fn new(service: Arc<Service<S, B>>, bus: Arc<B>, access: Access) -> Self {
        Self { service, bus, access }
    }

    async fn try_answer(&self, request: Request<Bytes>) -> Result<Answer, ApiError> {
        let route = Route::of(request.method(), request.uri().path())?;
        check_namespace(&route.namespace)?;
        let header = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        self.access.check(&route.namespace, header)?;
        self.run_operation(&route, request).await
    }

    async fn run_operation(
        &self,
        route: &Route,
        request: Request<Bytes>,
    ) -> Result<Answer, ApiError> {
        use route::Operation as On;
        let (namespace, service) = (route.namespace.as_str(), &self.service);
        match &route.operation {
            On::Register => {
                let asked = bodies::register(request.body())?;
                Ok(ok(&bodies::RegisterAnswer::of(&*service.register(namespace, asked).await?)))
            }
            On::ParsedEnumerate => {
                let asked = bodies::enumerate(request.body(), service.quotas())?;
                let page = service.enumerate(namespace, &asked.query).await?;
                let most = service.quotas().max_page_bytes;
                Ok(http::json(StatusCode::OK, bodies::listed(page, &asked, most)?))
            }
            On::Multicast => {
                let asked = bodies::multicast(request.body(), service.quotas())?;
                let result = service.multicast(namespace, asked.multicast).await?;
                Ok(ok(&bodies::MulticastAnswer::of(&result, asked.has_statuses)))
            }
            On::Unregister => {
                let name = bodies::unregister(request.body())?;
                let was_there = service.unregister(namespace, &name).await?;
                Ok(ok(&serde_json::json!({ "unregistered": was_there })))
            }
            On::Identity(name) => Ok(ok(&*service.get(namespace, name).await?)),
            On::PutSchema => {
                service.put_schema(namespace, bodies::document(request.body())?).await?;
                Ok(ok(&serde_json::json!({ "stored": true })))
            }
            On::Schema => Ok(ok(&*service.schema(namespace).await?)),
            On::Subscribe(pattern) => {
                let pattern = pattern.parse()?;
                let name = route::query(request.uri().query(), "name")?;
                self.bus.check_subscription(name.as_deref(), &request)?;
                service.open(namespace).await?;
                self.bus.subscribe(namespace, pattern, name.as_deref(), request)
            }
            On::Unsubscribe => {
                let name = bodies::unsubscribe(request.body())?;
                let was_there = self.bus.unsubscribe(namespace, &name)?;
                Ok(ok(&serde_json::json!({ "unsubscribed": was_there })))
            }
            On::Acknowledge => {
                let known = self.bus.acknowledge(namespace, &bodies::read(request.body())?)?;
                Ok(ok(&serde_json::json!({ "acknowledged": known })))
            }
        }
    }
}

impl<S: Store, B: Bus + HttpSubscriptions> Handler for Api<S, B> {
    async fn handle(&self, request: Request<Bytes>) -> Answer {
        match self.try_answer(request).await {
            Ok(answer) => answer,
            Err(error) => refusal(error),
        }
    }

    fn refuse(&self, status: StatusCode, reason: &str) -> Answer {
        ApiError::unread(status, reason)
    }
}

fn ok(body: &impl Serialize) -> Answer {
    let mut json = Vec::with_capacity(128);
    bodies::write(&mut json, body);
    http::json(StatusCode::OK, json)
}

fn refusal(error: ApiError) -> Answer {
    let mut answer = error.answer();
    if answer.status() == StatusCode::UNAUTHORIZED {
        answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    answer
}
