//! What an origin is started with.

use std::fs;

use serde_json::{Value, json};
use serving::error::BadOptions;
use serving::limits::Limits;
use serving::options::Options;
use serving::settings::Settings;

use super::fetch::Loader;
use super::recipe::{self, Recipe};
use super::routes::Bounds;
use super::trust::Trust;
use super::welcome;
use crate::tls::Tls;

/// The settings of `origin`.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// What there is before anything is added.
    pub recipes: Vec<Recipe>,
    /// How it was named.
    pub named: String,
    /// What payloads are made with.
    pub loader: Loader,
    /// How much the route table may hold.
    pub bounds: Bounds,
    /// Of connections and times.
    pub limits: Limits,
    /// None where clients speak in the clear.
    pub tls: Option<Tls>,
    /// Workers.
    pub threads: usize,
}

/// Reads the settings, and the recipes that they name.
///
/// Errors: every problem at once
pub fn read(options: &Options) -> Result<Configuration, BadOptions> {
    let settings = Settings::new(&options.settings);
    let named = settings.text("recipe", "default");
    let most_payload = settings.size("max_payload", 64 << 20);
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let most_together = settings.size("max_payloads", 1 << 30);
    let configuration = Configuration {
        recipes: recipes(&settings, named.trim(), most_payload),
        named,
        loader: Loader {
            seed: settings.count("seed", 1, 0..=u64::MAX),
            most_payload,
            most_together,
            trust: trust(&settings),
        },
        bounds: Bounds {
            routes: settings.count("max_routes", 10_000, 1..=1_000_000) as usize,
            payloads: most_together,
        },
        limits: Limits::read(&settings),
        tls: Tls::read(&settings),
        threads: settings.count("threads", processors, 1..=1_024) as usize,
    };
    settings.finish("the origin")?;
    Ok(configuration)
}

/// Authorities beside those of the system, if a file of them is named.
fn trust(settings: &Settings<'_>) -> Trust {
    let file = settings.text("ca", "");
    let trust = if file.is_empty() { Ok(Trust::default()) } else { Trust::beside(file.as_ref()) };
    trust.unwrap_or_else(|why| {
        settings.wrong("ca", why);
        Trust::default()
    })
}

/// The recipes of the name `default`, of none, of a text in JSON, or of a file.
fn recipes(settings: &Settings<'_>, named: &str, most_payload: u64) -> Vec<Recipe> {
    let text = match named {
        "none" => return Vec::new(),
        "default" => welcome::recipe().to_string().into_bytes(),
        text if text.starts_with(['{', '[']) => text.as_bytes().to_vec(),
        path => match fs::read(path) {
            Ok(text) => text,
            Err(error) => {
                settings.wrong("recipe", format!("cannot read {path}: {error}"));
                return Vec::new();
            }
        },
    };
    recipe::read(&text, most_payload).unwrap_or_else(|problems| {
        problems.iter().for_each(|problem| settings.wrong("recipe", problem.to_string()));
        Vec::new()
    })
}

impl Configuration {
    /// What stands in the ready line.
    pub fn effective(&self) -> Value {
        json!({
            "recipe": self.named,
            "seed": self.loader.seed,
            "max_payload_bytes": self.loader.most_payload,
            "max_payloads_bytes": self.bounds.payloads,
            "max_routes": self.bounds.routes,
            "limits": self.limits,
            "cert": self.tls.as_ref().map(Tls::certificate),
            "threads": self.threads,
            "version": env!("CARGO_PKG_VERSION"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(options: &Options) -> Vec<String> {
        read(options).unwrap_err().sentences()
    }

    #[test]
    fn it_begins_with_the_welcome_unless_told_otherwise() {
        let plain = read(&Options::default()).unwrap();
        assert_eq!((plain.recipes.len(), plain.loader.seed), (1, 1));
        assert_eq!(plain.effective()["recipe"], "default");
        let none = read(&Options::default().with("recipe", "none")).unwrap();
        assert!(none.recipes.is_empty());
        let text = r#"[{"body": "a"}, {"body": "b", "route": "/b"}]"#;
        assert_eq!(read(&Options::default().with("recipe", text)).unwrap().recipes.len(), 2);
    }

    #[test]
    fn problems_of_the_recipes_are_told_with_those_of_the_settings() {
        let bad = Options::default()
            .with("recipe", r#"[{"body": 1}, {"random_content": "1gb"}]"#)
            .with("threads", 0)
            .with("recipes", "x");
        assert_eq!(
            sentences(&bad),
            [
                "recipe: $[0].body: expected a string, got 1",
                "recipe: $[1].random_content: Invalid size, please define size in b, kb or mb",
                "threads: expected a whole number from 1 to 1024, got \"0\"",
                "recipes: no setting of the origin; did you mean recipe?",
            ]
        );
        let told = sentences(&Options::default().with("ca", "/no/such/file.pem"));
        assert!(told[0].starts_with("ca: /no/such/file.pem: "), "{told:?}");
        let told = sentences(&Options::default().with("cert", "/no/such/file.pem"));
        assert!(told[0].starts_with("cert: /no/such/file.pem: "), "{told:?}");
        let told = sentences(&Options::default().with("recipe", "/no/such/file.json"));
        assert!(told[0].starts_with("recipe: cannot read /no/such/file.json: "), "{told:?}");
    }

    #[test]
    fn the_examples_are_recipes() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/recipes");
        let mut read_ones = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read(&path).unwrap();
            let recipes = recipe::read(&text, 64 << 20).unwrap();
            let ignored: Vec<&String> = recipes.iter().flat_map(|one| &one.ignored).collect();
            assert_eq!((recipes.is_empty(), ignored.len()), (false, 0), "{}", path.display());
            read_ones += 1;
        }
        assert!(read_ones >= 12, "{read_ones}");
    }
}
