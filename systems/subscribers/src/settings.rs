//! The settings of subscribers.

use serving::error::BadOptions;
use serving::limits::Limits;
use serving::options::Options;
use serving::settings::Settings;

/// Most sockets of one process: each takes a file descriptor, and a port towards one address.
const MOST_SOCKETS: u64 = 60_000;
/// What stands for the number of a socket.
const NUMBER: &str = "$number";

/// The settings of `subscribers`.
#[derive(Debug, Clone)]
pub(super) struct Configuration {
    /// The address of each socket, with `$number` for its number.
    pub url: String,
    /// How many there are.
    pub sockets: u64,
    /// What each says once it is open, with `$number`.
    pub say: Option<String>,
    /// A text of the message that confirms the subscription.
    pub confirmation: Option<String>,
    /// The token that each presents.
    pub token: Option<String>,
    /// Limits of the observer's own HTTP server.
    pub limits: Limits,
}

/// Reads the settings.
///
/// Errors: every problem at once
pub(super) fn read(options: &Options) -> Result<Configuration, BadOptions> {
    let settings = Settings::new(&options.settings);
    let url = settings.text("url", "");
    if url.starts_with("wss://") {
        settings
            .wrong("url", "subscribers do not speak TLS; give an address that begins with ws://");
    } else if !url.starts_with("ws://") {
        let example = "ws://{system.http}/feed";
        settings.wrong("url", format!("expected an address such as {example}, got \"{url}\""));
    }
    let text = |key| Some(settings.text(key, "")).filter(|text| !text.is_empty());
    let configuration = Configuration {
        url,
        sockets: settings.count("sockets", 1, 1..=MOST_SOCKETS),
        say: text("say"),
        confirmation: text("confirmation"),
        token: settings.content("token").map(|text| text.trim().to_owned()),
        limits: Limits::read(&settings),
    };
    settings.finish("subscribers")?;
    Ok(configuration)
}

/// A text for the socket with this number, from 1.
pub(super) fn numbered(text: &str, number: u64) -> String {
    text.replace(NUMBER, &number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_are_told_at_once() {
        let options = Options::default()
            .with("url", "http://127.0.0.1:1")
            .with("sockets", "0")
            .with("token", "/nonexistent")
            .with("x", "1");
        assert_eq!(read(&options).unwrap_err().problems.len(), 4);
        let good = Options::default().with("url", "ws://{system.http}/feed").with("sockets", "10");
        assert_eq!(read(&good).unwrap().sockets, 10);
        let secure = read(&Options::default().with("url", "wss://a")).unwrap_err();
        assert!(secure.problems[0].to_string().contains("TLS"), "{secure:?}");
    }

    #[test]
    fn each_socket_has_its_number() {
        assert_eq!(numbered("ws://h/$number?me=u-$number", 7), "ws://h/7?me=u-7");
    }
}
