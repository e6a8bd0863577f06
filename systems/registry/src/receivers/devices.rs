//! Registers identities of the receivers' own, like devices that announce themselves.
//!
//! They never expire and have `{"status":"online","number":N}`, so that a load finds a registry of
//! known size.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;

/// Connections that register at the same time.
const ABREAST: usize = 8;

/// The identities to register, and the registry.
#[derive(Debug, Clone)]
pub(super) struct DeviceRegistration {
    /// Host and port of the registry.
    pub registry: String,
    /// The token for the namespace.
    pub token: Option<String>,
    pub namespace: String,
    /// Number of identities, named `device-0` and so on.
    pub identities: u64,
}

impl DeviceRegistration {
    /// Registers all of them.
    ///
    /// Errors: a sentence with the first refusal
    pub async fn call(&self) -> Result<(), String> {
        let mut lanes = tokio::task::JoinSet::new();
        for lane in 0..ABREAST as u64 {
            let roll = self.clone();
            lanes.spawn(async move { roll.lane(lane).await });
        }
        while let Some(ended) = lanes.join_next().await {
            ended.map_err(|error| error.to_string())??;
        }
        Ok(())
    }

    async fn lane(self, lane: u64) -> Result<(), String> {
        let error_text =
            |error: &dyn std::fmt::Display| format!("http://{}: {error}", self.registry);
        let stream =
            TcpStream::connect(&self.registry).await.map_err(|error| error_text(&error))?;
        stream.set_nodelay(true).map_err(|error| error_text(&error))?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| error_text(&error))?;
        let connection = tokio::spawn(connection);
        for number in (lane..self.identities).step_by(ABREAST) {
            self.register(&mut sender, number).await.map_err(|reason| error_text(&reason))?;
        }
        connection.abort();
        Ok(())
    }

    async fn register(
        &self,
        sender: &mut SendRequest<Full<Bytes>>,
        number: u64,
    ) -> Result<(), String> {
        let body = json!({
            "identity": format!("device-{number}"),
            "ttl_seconds": 0,
            "replace": true,
            "metadata": { "status": "online", "number": number },
        });
        let mut request = Request::post(format!("/v1/{}/register", self.namespace))
            .header(HOST, &self.registry)
            .header(CONTENT_TYPE, "application/json");
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Full::from(body.to_string()));
        let request = request.map_err(|error| error.to_string())?;
        let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let body = answer.into_body().collect().await.map_err(|error| error.to_string())?;
        if status == StatusCode::OK {
            return Ok(());
        }
        let answer = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        Err(format!("device-{number} cannot register: {status}: {answer}"))
    }
}
