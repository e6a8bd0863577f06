//! Every file of `samples/` becomes the experiment beside it.
//!
//! `PROOFLOAD_REGENERATE=1` writes them anew; read the difference before it is committed. Whether `check` accepts them
//! is a test of the binary.

use std::fs;
use std::path::{Path, PathBuf};

use import::{Format, Options};

fn samples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let entries =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut samples: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending != "toml")).collect();
    samples.sort();
    samples
}

#[test]
fn every_sample_becomes_the_experiment_beside_it() {
    let samples = samples();
    assert!(!samples.is_empty());
    for sample in samples {
        let name = sample.file_name().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&sample).expect("a text");
        let format =
            Format::guess(&name, &text).unwrap_or_else(|| panic!("{name} is of no format"));
        let draft = import::read(format, &name, &text, &Options::default());
        let written =
            import::write(&draft.unwrap_or_else(|error| panic!("{name}: {error:?}")), &name);
        let beside = sample.with_file_name(format!("{name}.toml"));
        if std::env::var_os("PROOFLOAD_REGENERATE").is_some() {
            fs::write(&beside, &written).expect("written");
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        assert!(written == expected, "{name} became\n{written}");
    }
}
