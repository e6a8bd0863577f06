//! Every file of `samples/` becomes the experiment beside it.
//!
//! `PROOFLOAD_REGENERATE=1` writes them anew; read the difference before it is committed. Whether `check` accepts them
//! is a test of the binary.

use std::fs;
use std::path::{Path, PathBuf};

use import::{Format, Options};
use plan::randomness::{RandomStream, below, draw};

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

/// A text with so many of its letters changed, taken out or doubled.
fn mutated(text: &str, seed: u64) -> String {
    const HOSTILE: [&str; 12] =
        ["{", "}", "{{", "\"", "'", "\\", "\n", "[", ":", "\u{0}", "é", "$"];
    let drawn = |index: u64| draw(seed, RandomStream::Content, index);
    let mut letters: Vec<String> = text.chars().map(String::from).collect();
    for change in 0..1 + seed % 8 {
        let at = below(drawn(3 * change), letters.len() as u64) as usize;
        let hostile = HOSTILE[below(drawn(3 * change + 1), HOSTILE.len() as u64) as usize];
        match below(drawn(3 * change + 2), 4) {
            0 => letters[at].clear(),
            1 => letters[at].push_str(hostile),
            2 => letters[at] = hostile.to_owned(),
            _ => letters.truncate(at + 1),
        }
    }
    letters.concat()
}

#[test]
fn no_text_makes_an_import_fail_but_with_an_error() {
    for sample in samples() {
        let name = sample.file_name().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&sample).expect("a text");
        let format = Format::guess(&name, &text).expect("a format");
        for seed in 0..400 {
            let text = mutated(&text, seed);
            if let Ok(draft) = import::read(format, &name, &text, &Options::default()) {
                import::write(&draft, &name);
            }
        }
    }
}
