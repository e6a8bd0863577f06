//! The interplay of store and bus, with a bus that records calls.

use std::sync::{Mutex, OnceLock, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use serving::metrics::Registry;
use serving::settings::Settings;

use super::*;
use crate::api_error::{ApiError, unavailable};
use crate::bus::Outcome;
use crate::message::{Message, Semantics};
use crate::store::embedded::Embedded;

/// A bus that is unavailable, records forgotten identities, and registers `b` again when `a` is
/// forgotten.
#[derive(Debug, Default)]
struct StubBus {
    service: OnceLock<Weak<Service<Embedded, StubBus>>>,
    forgotten: Mutex<Vec<String>>,
}

impl Bus for StubBus {
    fn serves(&self, _: &str) -> bool {
        false
    }

    async fn multicast(
        &self,
        _: Message,
        _: Vec<Arc<str>>,
        _: Semantics,
        _: Duration,
    ) -> Vec<Outcome> {
        Vec::new()
    }

    async fn forget(&self, namespace: &str, name: &str) {
        self.forgotten.lock().unwrap().push(name.to_owned());
        if name == "a" {
            let service = self.service.get().and_then(Weak::upgrade).unwrap();
            service.register(namespace, register("b", 60_000)).await.unwrap();
        }
    }

    fn check(&self) -> Result<(), ApiError> {
        Err(unavailable("away"))
    }

    fn effective(&self) -> Value {
        json!({})
    }
}

fn register(name: &str, ttl_ms: u64) -> Register {
    let metadata = serde_json::Map::new();
    Register { identity: name.into(), metadata, ttl_ms: Some(ttl_ms), replace: false }
}

#[tokio::test]
async fn who_is_there_again_keeps_the_subscription() {
    let bus = Arc::new(StubBus::default());
    let quotas = Quotas::read(&Settings::new(&std::collections::BTreeMap::default()));
    let shown = Registry::default();
    let metrics = Metrics::new(&shown, &[]);
    let store = Embedded::in_memory();
    let service = Arc::new(Service::new(store, Arc::clone(&bus), quotas, metrics, "c"));
    bus.service.set(Arc::downgrade(&service)).unwrap();
    for name in ["a", "b"] {
        service.register("n", register(name, 1)).await.unwrap();
    }
    while service.get("n", "b").await.is_ok() {
        tokio::task::yield_now().await;
    }
    service.expire().await;
    assert_eq!(*bus.forgotten.lock().unwrap(), ["a"]);
    assert!(service.get("n", "b").await.is_ok());
    let shown = shown.render();
    for line in ["registry_expired_total 2", "store_available 1", "bus_available 0"] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
}
