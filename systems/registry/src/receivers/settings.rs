//! The settings of receivers.

use serving::error::BadOptions;
use serving::limits::Limits;
use serving::options::Options;
use serving::settings::Settings;

use crate::access::check_namespace;
use crate::subscription::Pattern;

/// Most bytes of a name: every bus accepts it with the number of a pattern appended.
const LONGEST_NAME: usize = 50;

/// The settings of `registry-receivers`.
#[derive(Debug, Clone)]
pub(super) struct Configuration {
    /// Host and port of the registry's HTTP API.
    pub registry: String,
    /// Address of NATS, if that is the bus.
    pub nats: Option<String>,
    /// Namespaces of the subscriptions.
    pub namespaces: Vec<String>,
    /// Patterns of identities; one connection for each namespace and pattern.
    pub patterns: Vec<Pattern>,
    /// Prefix of the receivers' names in each namespace; `-1`, `-2` … is appended for each pattern.
    pub name: String,
    /// Identities that the receivers register themselves, in each namespace.
    pub identities: u64,
    /// The token for the namespaces.
    pub token: Option<String>,
    /// Limits of the observer's own HTTP server.
    pub limits: Limits,
}

/// Reads the settings.
///
/// Errors: every problem at once
pub(super) fn read(options: &Options) -> Result<Configuration, BadOptions> {
    let settings = Settings::new(&options.settings);
    let registry = settings.text("registry", "");
    if registry.is_empty() {
        settings.wrong("registry", "expected the registry's address, such as 127.0.0.1:8080");
    }
    let bus = settings.text("bus", "embedded");
    if bus != "embedded" && !bus.starts_with("nats://") {
        settings.wrong("bus", format!("expected embedded or nats://HOST:PORT, got \"{bus}\""));
    }
    let configuration = Configuration {
        registry: registry.strip_prefix("http://").unwrap_or(&registry).to_owned(),
        nats: (bus != "embedded").then_some(bus),
        namespaces: namespaces(&settings),
        patterns: patterns(&settings),
        name: name(&settings),
        identities: settings.count("identities", 0, 0..=10_000_000),
        token: settings.content("token").map(|text| text.trim().to_owned()),
        limits: Limits::read_with_bodies(&settings),
    };
    settings.finish("the receivers")?;
    Ok(configuration)
}

fn namespaces(settings: &Settings<'_>) -> Vec<String> {
    let mut namespaces = Vec::new();
    for namespace in settings.text("namespaces", "loadtest").split(',').map(str::trim) {
        match check_namespace(namespace) {
            Ok(()) => namespaces.push(namespace.to_owned()),
            Err(error) => settings.wrong("namespaces", format!("\"{namespace}\": {error}")),
        }
    }
    namespaces
}

fn patterns(settings: &Settings<'_>) -> Vec<Pattern> {
    let mut patterns = Vec::new();
    for pattern in settings.text("patterns", "*").split(',').map(str::trim) {
        match pattern.parse() {
            Ok(pattern) => patterns.push(pattern),
            Err(error) => settings.wrong("patterns", format!("\"{pattern}\": {error}")),
        }
    }
    patterns
}

fn name(settings: &Settings<'_>) -> String {
    let name = settings.text("name", "receivers");
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
        let wanted = format!("1 to {LONGEST_NAME} letters, digits, - and _");
        settings.wrong("name", format!("expected {wanted}, got \"{name}\""));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_are_told_at_once() {
        let options = Options::default()
            .with("bus", "carrier")
            .with("patterns", "a,b c")
            .with("token", "/nonexistent")
            .with("name", "r.1")
            .with("x", "1");
        assert_eq!(read(&options).unwrap_err().problems.len(), 6);
        let good =
            Options::default().with("registry", "http://127.0.0.1:1").with("patterns", "a,b*");
        let good = read(&good).unwrap();
        assert_eq!((good.registry.as_str(), good.patterns.len()), ("127.0.0.1:1", 2));
        assert_eq!(good.namespaces, ["loadtest"]);
    }
}
