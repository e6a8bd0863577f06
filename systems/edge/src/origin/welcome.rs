//! What an origin serves before anybody has told it what to.

use serde_json::{Value, json};

/// The recipe of the welcome.
pub fn recipe() -> Value {
    json!({
        "body": include_str!("welcome.html"),
        "headers": {"cache-control": "public, max-age=30", "content-encoding": "gzip"},
        "stages": [{"at": 0, "status": 200, "latency": "100ms"}],
    })
}
