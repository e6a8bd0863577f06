//! A whole visit: its operations, what they hand to each other, and its steps.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::answers::{self, Source};
use super::build;
use super::entry::Entry;
use super::redirect::Chain;
use super::timeline::{Span, Timeline};
use super::values::{Candidate, Values};
use crate::draft::{Draft, DraftJourney, DraftOperation, value_name};
use crate::text::Text;

/// Sources of a value that are tried.
const TRIED: usize = 5;
/// Operations that use a value, as far as they are named.
const USERS_NAMED: usize = 5;

/// A captured value: the place of its operation, and its name there.
type Captured = (usize, String);

/// Where a value comes from.
enum Provider<'v> {
    Captured(Captured),
    Source(usize, &'v Source),
}

struct Visit<'a, 'e> {
    entries: &'a [Entry<'e>],
    values: &'a Values,
    draft: &'a mut Draft,
    /// Operations by the entry that their answer is from.
    operations: HashMap<usize, usize>,
    /// What was captured, by operation and value.
    captured: HashMap<(usize, String), String>,
    /// The latest capture of a value.
    latest: HashMap<String, Captured>,
    /// Operations that use a captured value.
    uses: BTreeMap<Captured, Vec<usize>>,
    timeline: Timeline,
    /// Whether a source, by its address, has its value.
    checked: HashMap<*const Source, bool>,
}

/// Adds the operations and the journey of these entries.
pub fn add(entries: &[Entry<'_>], chains: &[Chain], values: &Values, draft: &mut Draft) {
    draft.credentials.guard(values.guarded.iter().cloned());
    let mut visit = Visit {
        entries,
        values,
        draft,
        operations: HashMap::new(),
        captured: HashMap::new(),
        latest: HashMap::new(),
        uses: BTreeMap::new(),
        timeline: Timeline::default(),
        checked: HashMap::new(),
    };
    for (at, chain) in chains.iter().enumerate() {
        if !visit.request(chain) {
            let left = chains.len() - at;
            let what = format!("the last {left} requests are left out: a journey has 100 steps");
            visit.draft.note(None, what);
            break;
        }
    }
    visit.end();
}

impl<'a> Visit<'a, '_> {
    /// Adds the request of a chain; whether there was room for it.
    fn request(&mut self, chain: &[usize]) -> bool {
        let (Some(first), Some(last)) = (chain.first().copied(), chain.last().copied()) else {
            return true;
        };
        let (entry, answer) = (&self.entries[first], &self.entries[last]);
        let providers = self.providers(first);
        let needs = providers.iter().map(|(_, provider)| match provider {
            Provider::Captured((operation, _)) | Provider::Source(operation, _) => *operation,
        });
        let span = Span {
            start: entry.start,
            end: chain.iter().map(|place| self.entries[*place].end).fold(answer.end, f64::max),
            is_document: entry.is_document(),
            needs: needs.collect(),
        };
        if !self.timeline.has_room(&span) {
            return false;
        }
        let mut known = HashMap::new();
        let mut used = Vec::new();
        for (candidate, provider) in providers {
            let captured = match provider {
                Provider::Captured(captured) => captured,
                Provider::Source(operation, source) => self.capture(operation, source, candidate),
            };
            let owner = &self.draft.operations[captured.0].name;
            let placeholder = Text::template(format!("{{{{{owner}.{}}}}}", captured.1));
            known.insert(candidate.value.clone(), placeholder);
            used.push(captured);
        }
        match build::operation(entry, answer, known, self.draft) {
            Ok(mut operation) => {
                operation.follow = (chain.len() - 1) as u32;
                operation.name = self.name(&operation, entry);
                let place = self.draft.add(operation);
                self.operations.insert(last, place);
                self.timeline.add(place, &span);
                for captured in used {
                    self.uses.entry(captured).or_default().push(place);
                }
            }
            Err(what) => self.draft.note(None, what),
        }
        true
    }

    /// Values of a request that come from earlier answers, each once.
    fn providers(&mut self, entry: usize) -> Vec<(&'a Candidate, Provider<'a>)> {
        let values = self.values;
        let mut found: Vec<(&Candidate, Provider<'a>)> = Vec::new();
        let mut seen = HashSet::new();
        for candidate in &values.candidates[entry] {
            if candidate.is_referer || !seen.insert(candidate.value.as_str()) {
                continue;
            }
            let is_usable = |place: usize| self.operations.contains_key(&place);
            let sources = values.sources(candidate, entry, is_usable);
            let (entries, checked) = (self.entries, &mut self.checked);
            let holds = |source: &&Source| {
                let holds = || answers::holds(source, &candidate.value, &entries[source.entry]);
                *checked.entry(std::ptr::from_ref(*source)).or_insert_with(holds)
            };
            if let Some(source) = sources.into_iter().take(TRIED).find(holds) {
                let operation = self.operations[&source.entry];
                found.push((candidate, Provider::Source(operation, source)));
            }
        }
        // A page's own address is no reason to capture a value.
        for candidate in values.candidates[entry].iter().filter(|one| one.is_referer) {
            let latest = self.latest.get(&candidate.value);
            if let Some(latest) = latest.filter(|_| seen.insert(candidate.value.as_str())) {
                found.push((candidate, Provider::Captured(latest.clone())));
            }
        }
        found
    }

    /// The capture of a value, which is added if there is none.
    fn capture(&mut self, place: usize, source: &Source, candidate: &Candidate) -> Captured {
        let key = (place, candidate.value.clone());
        if let Some(name) = self.captured.get(&key) {
            return (place, name.clone());
        }
        let captures = &mut self.draft.operations[place].captures;
        let base = capture_name(&source.key);
        let is_free = |name: &String| captures.iter().all(|(other, _)| other != name);
        let numbered = (2_u32..).map(|number| format!("{base}_{number}"));
        let name = std::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or(base);
        captures.push((name.clone(), source.capture.clone()));
        self.captured.insert(key, name.clone());
        self.latest.insert(candidate.value.clone(), (place, name.clone()));
        (place, name)
    }

    /// A name that says more than the path where several requests have it.
    fn name(&self, operation: &DraftOperation, entry: &Entry<'_>) -> String {
        let name = &operation.name;
        let is_posted =
            |other: &Entry<'_>| other.method == "POST" && other.url.path() == entry.url.path();
        match entry.method.as_str() {
            "GET" if entry.is_document() && self.entries.iter().any(is_posted) => {
                format!("{name}_page")
            }
            "GET" | "POST" => name.clone(),
            method => format!("{}_{name}", method.to_ascii_lowercase()),
        }
    }

    fn end(self) {
        let draft = self.draft;
        for ((place, name), users) in &self.uses {
            let named = users.iter().take(USERS_NAMED);
            let named: Vec<&str> =
                named.map(|user| draft.operations[*user].name.as_str()).collect();
            let more = match users.len() - named.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let line = format!("captured: {name}, used by {}{more}", named.join(", "));
            draft.operations[*place].comments.push(line);
        }
        if self.timeline.cut > 0 {
            let what = format!("{} pauses of more than 60 s are cut to 60 s", self.timeline.cut);
            draft.note(None, what);
        }
        let steps = self.timeline.steps();
        if !steps.is_empty() {
            let name = "visit".to_owned();
            draft.add_journey(DraftJourney { name, steps, ..DraftJourney::default() });
        }
    }
}

/// A name of small letters from the name that a value has in its answer.
fn capture_name(key: &str) -> String {
    let lower = key.to_ascii_lowercase();
    if lower.contains("csrf") || lower.contains("xsrf") {
        return "csrf".to_owned();
    }
    value_name(key)
}
