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
    let mut samples = within(&folder, |ending| ending != "toml");
    samples.extend(within(&folder.join("k6"), is_script));
    samples.extend(within(&folder.join("jmeter"), |ending| ending == "jmx"));
    samples.sort();
    samples
}

fn is_script(ending: &str) -> bool {
    matches!(ending, "js" | "ts")
}

/// The files of a folder with an ending like these.
fn within(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let ending =
        |path: &PathBuf| path.extension().map(|ending| ending.to_string_lossy().into_owned());
    entries.filter(|path| ending(path).is_some_and(|ending| is_wanted(&ending))).collect()
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
    const HOSTILE: [&str; 15] =
        ["{", "}", "{{", "\"", "'", "\\", "\n", "[", ":", "\u{0}", "é", "$", "<", ">", "${"];
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

/// The shapes in which people write scripts of k6; the last one is of what cannot be said.
#[test]
fn nearly_all_k6_scripts_are_imported_whole() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/k6");
    let mut partly: Vec<String> = Vec::new();
    let scripts = within(&folder, is_script);
    for script in &scripts {
        let name = script.file_name().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(script).expect("a text");
        let draft = import::read(Format::K6, &name, &text, &Options::default()).expect("a draft");
        if !draft.notes.is_empty() {
            partly.push(name);
        }
    }
    partly.sort();
    assert_eq!(
        partly,
        [
            "10_json_rows.js",
            "17_random.js",
            "20_metrics.js",
            "28_exported_later.js",
            "30_report.js",
            "31_unsayable.js"
        ]
    );
    assert!(scripts.len() > 30, "{}", scripts.len());
}
