//! How long either process looks for what is to come before it sleeps: one setting, with one bound.

use std::time::Duration;

use serving::settings::Settings;

/// The longest: who looks has no processor for others.
const LONGEST: Duration = Duration::from_secs(1);

/// Reads `spin`, and refuses one beyond the bound.
pub(crate) fn read(settings: &Settings<'_>) -> Duration {
    let spin = Duration::from_nanos(settings.time("spin", 20_000));
    if spin > LONGEST {
        let what = format!("expected a time of at most {LONGEST:?} such as 20us, got {spin:?}");
        settings.wrong("spin", what);
    }
    spin
}

#[cfg(test)]
mod tests {
    use serving::options::Options;

    use super::*;

    #[test]
    fn nobody_spins_for_longer_than_a_second() {
        for (given, text) in [
            ("20us", ""),
            ("1s", ""),
            ("1001ms", "spin: expected a time of at most 1s such as 20us, got 1.001s"),
            ("1h", "spin: expected a time of at most 1s such as 20us, got 3600s"),
        ] {
            let options = Options::default().with("spin", given);
            let settings = Settings::new(&options.settings);
            read(&settings);
            let problems = settings.finish("the test").err().unwrap_or_default();
            assert_eq!(problems.to_string(), text, "{given}");
        }
    }
}
