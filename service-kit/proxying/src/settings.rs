//! The settings that every proxy of the systems has, by the same names: its upstream and its bounds.

use serving::settings::Settings;

use crate::bounds::Bounds;
use crate::upstream::Upstream;

/// Reads `upstream`, which is `http://HOST:PORT` and nothing behind it; `via` is the proxy's name in `Via`.
pub fn upstream(settings: &Settings<'_>, via: &str) -> Option<Upstream> {
    let text = settings.text("upstream", "");
    let upstream = Upstream::at(&text, via);
    if upstream.is_none() {
        let expected = "expected where requests go, such as http://127.0.0.1:8080";
        settings.wrong("upstream", format!("{expected}, got \"{text}\""));
    }
    upstream
}

/// Reads `connections`, `queue`, `queue_wait`, `upstream_idle`, `connect`, `first_byte` and `whole`.
pub fn bounds(settings: &Settings<'_>) -> Bounds {
    let default = Bounds::default();
    let count =
        |key, default: usize, least| settings.count(key, default as u64, least..=1 << 20) as usize;
    Bounds {
        connections: count("connections", default.connections, 1),
        queue: count("queue", default.queue, 0),
        queue_wait: settings.positive_duration("queue_wait", default.queue_wait),
        idle: settings.positive_duration("upstream_idle", default.idle),
        connect: settings.positive_duration("connect", default.connect),
        first_byte: settings.positive_duration("first_byte", default.first_byte),
        whole: settings.positive_duration("whole", default.whole),
        ..default
    }
}
