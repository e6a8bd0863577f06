//! Scripts of k6, in JavaScript and TypeScript: parsed and never run.
//!
//! [`check`] finds what k6 ignores and what does not measure what it seems to. Whatever is computed while a script runs
//! is not known here, so nothing is said of it.
//!
//! Source: grafana.com/docs/k6, "Using k6"; k6's `lib/options.go` and `lib/executor`

mod constant;
mod convert;
mod depth;
mod lint;
mod scenario;
mod script;
mod source;
mod translate;
mod tree;

use plan::diagnostic::Diagnostic;

use crate::draft::Draft;
use crate::format::{Options, Unreadable};
use script::Script;
pub use source::STACK;

/// Whether a text seems to be a script of k6.
pub fn seems(name: &str, text: &str) -> bool {
    let is_import = |line: &str| {
        let line = line.trim_start();
        line.starts_with("import ") && (line.contains(" 'k6") || line.contains(" \"k6"))
    };
    is_script(name) || text.lines().any(is_import)
}

/// Whether a file of this name is JavaScript or TypeScript.
pub fn is_script(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    matches!(ending, "js" | "mjs" | "cjs" | "ts" | "mts" | "cts")
}

/// What a script does that it hardly means to; nothing of it is an error to k6. Deep scripts need [`STACK`].
///
/// Errors: it cannot be parsed, each problem with its place
pub fn check(name: &str, text: &str) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let tree = source::tree(name, text)?;
    Ok(lint::all(&Script::new(text, &tree)))
}

/// Reads what a script performs, as far as it can be said. Deep scripts need [`STACK`].
///
/// Errors: it cannot be parsed
pub fn read(name: &str, text: &str, wanted: &Options) -> Result<Draft, Unreadable> {
    convert::read(name, text, wanted)
}

#[cfg(test)]
mod tests;
