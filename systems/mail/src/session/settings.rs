//! A session's settings: names, limits, authentication, injected faults.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::faults::Faults;

/// Whether a feature is disabled, offered or required.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Disabled.
    None,
    /// Offered.
    Optional,
    /// Required for mail.
    Required,
}

/// The settings of every session of a server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Settings {
    /// The server's name for itself.
    pub hostname: String,
    /// The text after its name in the greeting.
    pub greeting: String,
    /// `STARTTLS`.
    pub tls: Policy,
    /// `AUTH`.
    pub auth: Policy,
    /// Whether `AUTH` is also offered without TLS.
    pub auth_in_clear: bool,
    /// Passwords by name; only their number is shown.
    #[serde(serialize_with = "how_many")]
    pub users: BTreeMap<String, String>,
    /// Connections at a time; further ones get 421.
    pub max_connections: u64,
    /// Bytes of buffers of all connections together.
    pub max_memory: u64,
    /// Bytes of a message, dots unstuffed.
    pub max_message: u64,
    /// Recipients of a message; further ones get 452.
    pub max_recipients: u64,
    /// Most octets of a command line with its CRLF; some commands may have more, as their RFCs say.
    pub max_command: u64,
    /// Most octets of a line of text with its CRLF.
    pub max_line: u64,
    /// Errors since the last accepted message after which the connection is closed.
    pub max_errors: u64,
    /// Time limit for a complete command after the previous reply, and for each read of content.
    pub command_timeout_ns: u64,
    /// Time limit for a complete message.
    pub data_timeout_ns: u64,
    /// Time limit for a connection.
    pub session_timeout_ns: u64,
    /// Time limit for the client to take a reply.
    pub write_timeout_ns: u64,
    /// Time limit for messages in progress after a stop.
    pub drain_ns: u64,
    /// Injected faults.
    #[serde(rename = "knobs")]
    pub faults: Faults,
}

/// A line of a reply has at most 512 octets (RFC 5321, 4.5.3.1.5), and a name may take 255 of them.
const LONGEST_GREETING: usize = 200;
const SECOND: u64 = 1_000_000_000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            hostname: "mail.example".to_owned(),
            greeting: "ESMTP Service ready".to_owned(),
            tls: Policy::None,
            auth: Policy::None,
            auth_in_clear: false,
            users: BTreeMap::new(),
            max_connections: 1_000,
            max_memory: 256 << 20,
            max_message: 10 << 20,
            max_recipients: 100,
            max_command: 512,
            max_line: 1_000,
            max_errors: 20,
            command_timeout_ns: 60 * SECOND,
            data_timeout_ns: 120 * SECOND,
            session_timeout_ns: 300 * SECOND,
            write_timeout_ns: 30 * SECOND,
            drain_ns: 5 * SECOND,
            faults: Faults::default(),
        }
    }
}

impl Settings {
    /// Reads the settings by the names of their fields; times have names without the unit suffix.
    pub fn read(settings: &serving::settings::Settings<'_>) -> Self {
        let default = Self::default();
        let read = Self {
            hostname: settings.text("hostname", &default.hostname),
            greeting: settings.text("greeting", &default.greeting),
            tls: policy(settings, "tls", &["none", "starttls", "required"]),
            auth: policy(settings, "auth", &["none", "optional", "required"]),
            auth_in_clear: settings.flag("auth_in_clear", false),
            users: users(settings),
            max_connections: settings.count(
                "max_connections",
                default.max_connections,
                1..=u64::MAX,
            ),
            max_memory: settings.size("max_memory", default.max_memory),
            max_message: settings.size("max_message", default.max_message),
            max_recipients: settings.count("max_recipients", default.max_recipients, 1..=100_000),
            max_command: settings.size("max_command", default.max_command),
            max_line: settings.size("max_line", default.max_line),
            max_errors: settings.count("max_errors", default.max_errors, 1..=u64::MAX),
            command_timeout_ns: settings
                .positive_time("command_timeout", default.command_timeout_ns),
            data_timeout_ns: settings.positive_time("data_timeout", default.data_timeout_ns),
            session_timeout_ns: settings
                .positive_time("session_timeout", default.session_timeout_ns),
            write_timeout_ns: settings.positive_time("write_timeout", default.write_timeout_ns),
            drain_ns: settings.time("drain", default.drain_ns),
            faults: Faults::read(settings),
        };
        read.check(settings);
        read
    }

    /// Checks for values that have the right type but make no sense.
    fn check(&self, settings: &serving::settings::Settings<'_>) {
        if !crate::command::is_host(&self.hostname) {
            settings.wrong("hostname", format!("\"{}\" is not a host name", self.hostname));
        }
        let is_printed = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
        if self.greeting.len() > LONGEST_GREETING || !self.greeting.bytes().all(is_printed) {
            let what =
                format!("expected one line of at most {LONGEST_GREETING} characters of ASCII");
            settings.wrong("greeting", what);
        }
        if !(64..=4_096).contains(&self.max_command) {
            settings.wrong("max_command", "expected 64B to 4096B; RFC 5321 requires at least 512B");
        }
        if self.max_line < 64 {
            settings.wrong("max_line", "expected at least 64B; RFC 5321 requires 1000B");
        }
        if self.max_memory < 64 << 10 {
            settings.wrong("max_memory", "expected at least 64KiB, which a few connections need");
        }
        if self.auth != Policy::None && self.users.is_empty() {
            settings.wrong("auth", "no client could authenticate: set `users`");
        }
        if self.auth == Policy::None && !self.users.is_empty() {
            settings.wrong("users", "has no effect without `auth`");
        }
        let is_secured = self.tls != Policy::None || settings.has("smtps");
        if self.auth != Policy::None && !is_secured && !self.auth_in_clear {
            let what = "no client could authenticate: set `tls`, or `auth_in_clear=true`";
            settings.wrong("auth", what);
        }
    }

    /// [`Settings::write_timeout_ns`] as a `Duration`.
    pub fn write_timeout(&self) -> Duration {
        Duration::from_nanos(self.write_timeout_ns)
    }
}

fn policy(
    settings: &serving::settings::Settings<'_>,
    key: &'static str,
    names: &[&'static str; 3],
) -> Policy {
    [Policy::None, Policy::Optional, Policy::Required][settings.choice(key, names, 0)]
}

/// Names and passwords: a table, or a file with `name:password` on each line, because other users
/// can read the command line.
fn users(settings: &serving::settings::Settings<'_>) -> BTreeMap<String, String> {
    let read = match settings.value("users") {
        None => return BTreeMap::new(),
        // A table in an experiment file arrives as text, because settings are passed on the command
        // line.
        Some(Value::String(text)) if text.starts_with('{') => serde_json::from_str(text)
            .map_err(|_| "expected a table of names and passwords".to_owned()),
        Some(Value::String(path)) => from_file(path),
        Some(table @ Value::Object(_)) => serde_json::from_value(table.clone())
            .map_err(|_| "expected text as passwords".to_owned()),
        Some(_) => Err("expected a table of names and passwords, or a file".to_owned()),
    };
    read.unwrap_or_else(|problem| {
        settings.wrong("users", problem);
        BTreeMap::new()
    })
}

fn from_file(path: &str) -> Result<BTreeMap<String, String>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let entry = |(index, line): (usize, &str)| {
        let pair = line.split_once(':').map(|(name, word)| (name.to_owned(), word.to_owned()));
        pair.ok_or_else(|| format!("{path}: line {} must be name:password", index + 1))
    };
    lines.map(entry).collect()
}

fn how_many<S: Serializer>(users: &BTreeMap<String, String>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(users.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use serving::options::Options;

    fn read(options: &Options) -> Result<Settings, Vec<String>> {
        let settings = serving::settings::Settings::new(&options.settings);
        let read = Settings::read(&settings);
        settings.finish("mail").map(|()| read).map_err(|bad| bad.sentences())
    }

    #[test]
    fn everything_has_a_default_and_a_name() {
        assert_eq!(read(&Options::default()).unwrap(), Settings::default());
        let options = Options::default()
            .with("hostname", "sink.example")
            .with("tls", "required")
            .with("auth", "optional")
            .with("users", json!({"alice": "secret"}))
            .with("max_message", "1KiB")
            .with("command_timeout", "2s")
            .with("refuse_rcpt", "5%")
            .with("refuse_with", 550)
            .with("seed", 7);
        let text = Options::default()
            .with("auth", "optional")
            .with("auth_in_clear", true)
            .with("users", "{\"alice\":\"secret\"}");
        let users = read(&text).unwrap().users;
        let read = read(&options).unwrap();
        assert_eq!((read.tls, read.auth), (Policy::Required, Policy::Optional));
        assert_eq!(read.users, users);
        assert_eq!((read.max_message, read.command_timeout_ns), (1_024, 2 * SECOND));
        assert_eq!((read.faults.refuse_rcpt, read.faults.refuse_with), (0.05, 550));
        let told = serde_json::to_value(&read).unwrap();
        assert_eq!((&told["users"], &told["tls"]), (&json!(1), &json!("required")));
        assert!(!told.to_string().contains("secret"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_all_at_once() {
        let options = Options::default()
            .with("hostname", "a b")
            .with("greeting", "hello\r\n250 hello")
            .with("auth", "required")
            .with("max_command", "1B")
            .with("max_line", "1B")
            .with("max_memory", "1KiB")
            .with("users", json!({"a": 1}))
            .with("refuse_with", 250);
        assert_eq!(read(&options).unwrap_err().len(), 9);
        let broken = Options::default()
            .with("auth_in_clear", "true")
            .with("auth", "optional")
            .with("users", "{\"a\":1}");
        let problems = read(&broken).unwrap_err();
        assert!(problems[0].contains("expected a table of names and passwords"), "{problems:?}");
        let idle = Options::default().with("users", json!({"a": "b"}));
        assert_eq!(read(&idle).unwrap_err().len(), 1);
    }

    #[test]
    fn names_and_passwords_stand_in_a_file() {
        let folder = std::env::temp_dir().join(format!("mail-users-{}", std::process::id()));
        std::fs::write(&folder, "alice:se:cret\n\nbob:x\n").unwrap();
        let users = from_file(folder.to_str().unwrap()).unwrap();
        assert_eq!((users["alice"].as_str(), users["bob"].as_str()), ("se:cret", "x"));
        std::fs::write(&folder, "alice\n").unwrap();
        assert!(from_file(folder.to_str().unwrap()).unwrap_err().contains("line 1"));
        std::fs::remove_file(&folder).unwrap();
    }
}
