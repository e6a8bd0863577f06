//! The command line of a program that serves systems.

use crate::error::BadOptions;
use crate::options::Options;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Serve,
    Describe,
    Help,
    Version,
}

/// A command line that makes sense.
#[derive(Debug, PartialEq)]
pub(super) struct Arguments {
    pub wish: Wish,
    /// Which system, as it was given.
    pub system: Option<String>,
    pub options: Options,
}

impl Arguments {
    /// Reads the words after the program's own name.
    ///
    /// Errors: a word that means nothing here, a flag without its value; what [`Options::parse`] refuses
    pub fn read(mut words: impl Iterator<Item = String>) -> Result<Self, BadOptions> {
        let (mut wish, mut system, mut listen, mut sets) = (Wish::Serve, None, None, Vec::new());
        while let Some(word) = words.next() {
            let (flag, joined) = match word.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            let mut value = || {
                let missing = || BadOptions::one(format!("{flag} needs a value"));
                joined.clone().or_else(|| words.next()).ok_or_else(missing)
            };
            match flag {
                "--listen" => listen = Some(value()?),
                "--set" => sets.push(value()?),
                "--describe" => wish = Wish::Describe,
                "--help" | "-h" => wish = Wish::Help,
                "--version" | "-V" => wish = Wish::Version,
                _ if !flag.starts_with('-') && system.is_none() => system = Some(word),
                _ => return Err(BadOptions::one(format!("unexpected \"{word}\"; see --help"))),
            }
        }
        Ok(Self { wish, system, options: Options::parse(listen.as_deref(), &sets)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        let words = line.split_whitespace().map(str::to_owned);
        Arguments::read(words).map_err(|bad| bad.to_string())
    }

    #[test]
    fn a_system_is_served_with_its_settings() {
        let read = read("mail --listen 127.0.0.1:25 --set store=memory --set=http=127.0.0.1:80");
        let Arguments { wish, system, options } = read.unwrap();
        assert_eq!((wish, system.as_deref()), (Wish::Serve, Some("mail")));
        assert_eq!(options.listen.port(), 25);
        assert_eq!(options.settings["store"], "memory");
        assert_eq!(options.settings["http"], "127.0.0.1:80");
    }

    #[test]
    fn it_is_described_with_and_without_a_name() {
        let described = read("--describe").unwrap();
        assert_eq!((described.wish, described.system), (Wish::Describe, None));
        let described = read("mail --describe --set smtps=127.0.0.1:0").unwrap();
        assert_eq!((described.wish, described.system.as_deref()), (Wish::Describe, Some("mail")));
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for (line, told) in [
            ("mail --listen", "--listen needs a value"),
            ("mail --sat a=1", "unexpected \"--sat\"; see --help"),
            ("mail more", "unexpected \"more\"; see --help"),
            ("mail --set a", "--set: expected key=value, got \"a\""),
        ] {
            assert_eq!(read(line).unwrap_err(), told);
        }
    }
}
