//! The scenarios of a script, also those that keys at the root of its options stand for.

use super::constant::Constant;
use super::tree::At;

/// Load that users perform one after the other, or that begins by the clock.
#[derive(Debug, Clone)]
pub(super) struct Scenario<'o> {
    pub name: String,
    pub executor: String,
    /// Where the load is said.
    pub at: At,
    /// The function that is performed.
    pub exec: String,
    /// Its keys.
    pub keys: &'o Constant,
    /// Whether it is a table of `scenarios`.
    pub is_own: bool,
}

impl Scenario<'_> {
    /// Whether iterations begin by the clock.
    pub fn is_open(&self) -> bool {
        self.executor.ends_with("-arrival-rate")
    }

    /// Whether a number of users begins iterations.
    pub fn is_closed(&self) -> bool {
        matches!(self.executor.as_str(), "constant-vus" | "ramping-vus")
    }

    /// A number among its keys.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.keys.get(name).and_then(Constant::number)
    }

    /// A duration among its keys, in seconds.
    pub fn seconds(&self, name: &str) -> Option<f64> {
        self.keys.get(name).and_then(Constant::seconds)
    }

    /// Iterations a second for so many in the unit of time.
    pub fn rate(&self, number: f64) -> f64 {
        number / self.seconds("timeUnit").filter(|unit| *unit > 0.0).unwrap_or(1.0)
    }

    /// Its stages: seconds and target.
    pub fn stages(&self) -> Option<Vec<(f64, f64)>> {
        let stages = self.keys.get("stages")?.items().iter();
        let stages = stages
            .map(|stage| Some((stage.get("duration")?.seconds()?, stage.get("target")?.number()?)));
        stages.collect()
    }

    /// The highest rate, in iterations a second.
    pub fn peak(&self) -> Option<f64> {
        let targets = self.stages().unwrap_or_default().into_iter().map(|(_, target)| target);
        let rates = targets.chain(self.number("rate")).chain(self.number("startRate"));
        rates.reduce(f64::max).map(|rate| self.rate(rate))
    }
}

/// The scenarios of these options.
pub(super) fn scenarios(options: &Constant) -> Vec<Scenario<'_>> {
    if let Some(scenarios) = options.get("scenarios") {
        let each = scenarios.fields().iter().map(|field| {
            let text = |name: &str| field.value.get(name).and_then(Constant::text);
            let executor = text("executor").unwrap_or_default().to_owned();
            let exec = text("exec").unwrap_or("default").to_owned();
            let at =
                field.value.field("executor").map_or(&field.name_at, |executor| &executor.value.at);
            Scenario {
                name: field.name.clone(),
                executor,
                at: at.clone(),
                exec,
                keys: &field.value,
                is_own: true,
            }
        });
        return each.collect();
    }
    let implied = [
        ("stages", "ramping-vus"),
        ("iterations", "shared-iterations"),
        ("duration", "constant-vus"),
    ];
    let implied =
        implied.into_iter().find_map(|(key, executor)| Some((options.field(key)?, executor)));
    let one = implied.map(|(field, executor)| Scenario {
        name: "default".to_owned(),
        executor: executor.to_owned(),
        at: field.name_at.clone(),
        exec: "default".to_owned(),
        keys: options,
        is_own: false,
    });
    one.into_iter().collect()
}
