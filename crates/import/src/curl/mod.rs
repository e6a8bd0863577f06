//! Command lines of curl, as people type them and browsers copy them ("Copy as cURL (bash)").
//!
//! Each command is an operation. Nothing of the shell is performed: a variable or a command in the line is noted.
//!
//! Source: curl's manual (curl.se/docs/manpage.html); bash's manual, sections "Quoting" and "ANSI-C Quoting"

mod options;
mod table;
#[cfg(test)]
mod tests;
mod words;

use plan::target::without_credentials;

use crate::draft::Draft;
use crate::format::{Options, Unreadable};

/// Whether a text seems to hold command lines of curl.
pub fn seems(text: &str) -> bool {
    let command = |line: &str| {
        let line = line.trim_start().trim_start_matches(['$', '>', '#']).trim_start();
        line == "curl" || line.starts_with("curl ") || line.starts_with("curl.exe ")
    };
    text.lines().any(command)
}

/// Reads every command line of curl.
///
/// Errors: a quote that is not closed
pub fn read(text: &str, wanted: &Options) -> Result<Draft, Unreadable> {
    let mut draft = Draft::default();
    for command in words::commands(text)? {
        let is_curl = |word: &str| word == "curl" || word == "curl.exe" || word.ends_with("/curl");
        let Some(at) = command.words.iter().position(|word| is_curl(&word.text)) else {
            if let Some(first) = command.words.first() {
                draft.note(command.line, format!("{} is no command of curl", first.text));
            }
            continue;
        };
        for word in command.words.iter().filter(|word| word.is_expanded) {
            let shown = without_credentials(&word.text);
            let what = format!("the shell would replace a part of {shown:?}; write its value");
            draft.note(word.line, what);
        }
        options::read(&command.words[at + 1..], command.line, wanted, &mut draft);
    }
    Ok(draft)
}
