//! Whether what is written is a plan, without the checks of a driver.

use std::path::Path;

use plan::diagnostic::Colour;
use plan::experiment::{ExperimentContext, Inputs, KnownNames, Options, load};

use crate::draft::Draft;

struct Fixture;

impl Inputs for Fixture {
    fn env(&self, _name: &str) -> Option<String> {
        Some("s3cret-value".to_owned())
    }

    fn read(&self, _path: &Path) -> std::io::Result<Vec<u8>> {
        Ok(b"content".to_vec())
    }
}

impl KnownNames for Fixture {
    fn protocols(&self) -> &[&str] {
        &["http", "http2"]
    }
}

/// Fails with every problem of the written experiment.
#[track_caller]
pub fn assert_plan(draft: &Draft) {
    let written = crate::write(draft, "x.har");
    let world = ExperimentContext { inputs: &Fixture, known: &Fixture };
    if let Err(problems) = load("x.toml", &written, world, &Options::default()) {
        panic!("{}\n{written}", problems.render(Colour::Off));
    }
}
