//! Test plans of JMeter (JMX), as far as they declare what is sent: a thread group is a journey, its samplers are steps.
//!
//! Scripts are not performed. What has no counterpart is a note with its line; what is disabled is skipped.
//!
//! Source: JMeter's user manual, "Component Reference"; the files that JMeter writes

mod element;
mod response;
mod sampler;
#[cfg(test)]
mod tests;
mod variables;

use roxmltree::{Document, ParsingOptions};

use self::element::{Element, elements};
use self::variables::Variables;
use crate::draft::{Draft, DraftJourney, DraftStep, Rows};
use crate::format::{Options, Unreadable};
use crate::masks::Masks;
use crate::request;

/// Elements within elements, as deep as this.
const DEEPEST: usize = 100;
/// Parts of a document, at most.
const MOST_NODES: u32 = 2_000_000;
/// Requests of a plan, at most.
const MOST_REQUESTS: usize = 2_000;
/// Elements that show results or keep what an experiment keeps by itself.
const NEEDLESS: [&str; 5] =
    ["ResultCollector", "Summariser", "CacheManager", "DNSCacheManager", "DebugSampler"];

/// Whether a text seems to be a test plan.
pub fn seems(text: &str) -> bool {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    start.starts_with('<') && text.contains("<jmeterTestPlan")
}

/// Reads every request of a plan.
///
/// Errors: no XML, or no test plan
pub fn read(text: &str, wanted: &Options) -> Result<Draft, Unreadable> {
    let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let row = usize::try_from(error.pos().row).ok();
        Unreadable::new(row, format!("this cannot be read as XML: {error}"))
    })?;
    let mut lines = vec![0];
    lines.extend(text.match_indices('\n').map(|(at, _)| at + 1));
    let root = document.root_element();
    let tree = root.children().find(|node| node.has_tag_name("hashTree"));
    let tree = tree.filter(|_| root.has_tag_name("jmeterTestPlan"));
    let tree = tree.ok_or_else(|| Unreadable::new(1, "this is no test plan of JMeter"))?;
    let mut reader = Reader {
        draft: Draft::default(),
        variables: Variables::default(),
        rows: None,
        wanted,
        steps: Vec::new(),
        groups: Vec::new(),
    };
    let plan: Vec<Element<'_>> = elements(tree, &lines).collect();
    reader.level(&plan, &Scope::default(), 0);
    reader.end();
    Ok(reader.draft)
}

/// What holds for the requests below an element.
#[derive(Clone, Default)]
struct Scope<'d> {
    /// "HTTP Request Defaults", the nearest first.
    defaults: Vec<Element<'d>>,
    headers: Vec<(&'d str, &'d str, Option<usize>)>,
    /// Pauses before each request, in seconds: the least and the most.
    think: (f64, f64),
    /// Assertions and extractors.
    answers: Vec<Element<'d>>,
}

/// Users of a thread group.
struct Group {
    users: Option<u32>,
    ramp: Option<f64>,
    seconds: Option<f64>,
    loops: Option<u64>,
}

struct Reader<'w> {
    draft: Draft,
    variables: Variables,
    rows: Option<Rows>,
    wanted: &'w Options,
    /// Of the thread group that is being read.
    steps: Vec<DraftStep>,
    groups: Vec<Group>,
}

impl Reader<'_> {
    /// Reads elements beside each other: first what holds for all of them, then the requests in their order.
    fn level<'d>(&mut self, level: &[Element<'d>], above: &Scope<'d>, depth: usize) {
        if depth > DEEPEST {
            let line = level.first().and_then(Element::line);
            return self.draft.note(line, format!("elements deeper than {DEEPEST} are left out"));
        }
        let mut scope = above.clone();
        let others: Vec<&Element<'d>> =
            level.iter().filter(|element| !self.configures(element, &mut scope)).collect();
        for element in others {
            self.perform(element, &scope, depth);
        }
    }

    /// Whether the element holds for its neighbours, and is taken over.
    fn configures<'d>(&mut self, element: &Element<'d>, scope: &mut Scope<'d>) -> bool {
        match element.kind() {
            "ConfigTestElement" if element.attribute("guiclass").ends_with("HttpDefaultsGui") => {
                scope.defaults.insert(0, *element);
            }
            "HeaderManager" => {
                for header in element.entries("HeaderManager.headers") {
                    let (name, value) = (header.text("Header.name"), header.text("Header.value"));
                    // A nearer manager's field takes the place of the same one.
                    scope.headers.retain(|(known, ..)| !known.eq_ignore_ascii_case(name));
                    scope.headers.push((name, value, header.line()));
                }
            }
            "Arguments" => self.set(&element.entries("Arguments.arguments")),
            "CSVDataSet" => self.data(element),
            "CookieManager" => {
                for cookie in element.entries("CookieManager.cookies") {
                    let what = "a cookie of the plan is left out: write it as a header field";
                    self.draft.note(cookie.line(), what);
                }
            }
            "ConstantTimer" | "UniformRandomTimer" | "GaussianRandomTimer" => {
                self.timer(element, scope);
            }
            "ConstantThroughputTimer" => {
                let rate = element.text("throughput");
                let rate = if rate.is_empty() { "some".to_owned() } else { rate.to_owned() };
                let what = format!(
                    "a timer asks for {rate} requests a minute: say so with `rate` in [load]"
                );
                self.draft.note(element.line(), what);
            }
            "RegexExtractor" | "JSONPostProcessor" | "BoundaryExtractor" | "ResponseAssertion" => {
                scope.answers.push(*element);
            }
            kind if NEEDLESS.contains(&kind) => {}
            _ => return false,
        }
        true
    }

    fn perform<'d>(&mut self, element: &Element<'d>, scope: &Scope<'d>, depth: usize) {
        let children = element.children();
        match element.kind() {
            "TestPlan" => {
                self.draft.title = element.title().to_owned();
                let own = element.inner("TestPlan.user_defined_variables");
                let own = own.map(|own| own.entries("Arguments.arguments")).unwrap_or_default();
                self.set(&own);
                self.level(&children, scope, depth + 1);
            }
            "ThreadGroup" => self.group(element, scope, depth),
            "HTTPSamplerProxy" | "HTTPSampler" => {
                let mut own = scope.clone();
                let others: Vec<_> =
                    children.iter().filter(|child| !self.configures(child, &mut own)).collect();
                for other in others {
                    self.left_out(other);
                }
                self.request(element, &own);
            }
            "GenericController" | "TransactionController" | "RecordingController" => {
                self.level(&children, scope, depth + 1);
            }
            kind if (kind.ends_with("Controller") && kind != "TestFragmentController")
                || matches!(kind, "InterleaveControl" | "RunTime") =>
            {
                let what = format!(
                    "what {kind} {:?} decides is left out: its requests are sent once",
                    element.title()
                );
                self.draft.note(element.line(), what);
                self.level(&children, scope, depth + 1);
            }
            _ => self.left_out(element),
        }
    }

    fn left_out(&mut self, element: &Element<'_>) {
        let what = format!("{} {:?} is left out", element.kind(), element.title());
        self.draft.note(element.line(), what);
    }

    fn set(&mut self, arguments: &[Element<'_>]) {
        for one in arguments {
            let (name, value) = (one.text("Argument.name"), one.text("Argument.value"));
            self.variables.set.insert(name.to_owned(), value.to_owned());
        }
    }

    /// The rows of a file; of several files, those of the first.
    fn data(&mut self, element: &Element<'_>) {
        let file = self.variables.filled(element.text("filename"));
        let line = element.line();
        if let Some(first) = &self.rows {
            let what = format!(
                "the data of {file:?} are left out: a journey has those of one file, here {:?}",
                first.file
            );
            return self.draft.note(line, what);
        }
        if file.contains("${") || !request::is_within(&file) {
            let what =
                format!("the data of {file:?} are left out: name a file beside the experiment");
            return self.draft.note(line, what);
        }
        let names = element.text("variableNames");
        let columns = names.split(',').map(|name| name.trim().to_owned());
        self.variables.columns.extend(columns.filter(|name| !name.is_empty()));
        if names.trim().is_empty() {
            let what = format!("the names of {file} are not in the plan: write {{{{row.NAME}}}}");
            self.draft.note(line, what);
        } else if !element.is("ignoreFirstLine") {
            let what = format!("{file} needs a first line with the names: {names}");
            self.draft.note(line, what);
        }
        if !matches!(element.text("delimiter"), "" | ",") {
            self.draft.note(line, format!("the cells of {file} must be apart by commas"));
        }
        let order = if element.text("recycle") == "false" { "once" } else { "round_robin" };
        self.rows = Some(Rows { file, order });
    }

    /// Adds a pause; in milliseconds.
    fn timer(&mut self, element: &Element<'_>, scope: &mut Scope<'_>) {
        let number = |name: &str| {
            let text = self.variables.filled(element.text(name));
            let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            number.map(|number| (number / 1e3).clamp(0.0, 3_600.0))
        };
        let (delay, range) = (number("ConstantTimer.delay"), number("RandomTimer.range"));
        let Some(delay) = delay else { return self.left_out(element) };
        let (least, most) = match (element.kind(), range) {
            ("UniformRandomTimer", Some(range)) => (delay, delay + range),
            // Most of what the timer draws is this near.
            ("GaussianRandomTimer", Some(range)) => ((delay - range).max(0.0), delay + range),
            _ => (delay, delay),
        };
        scope.think = (scope.think.0 + least, scope.think.1 + most);
    }

    /// A thread group is a journey of its own.
    fn group<'d>(&mut self, element: &Element<'d>, scope: &Scope<'d>, depth: usize) {
        let number = |element: &Element<'_>, name: &str| {
            let text = self.variables.filled(element.text(name));
            text.trim().parse::<f64>().ok().filter(|number| (0.0..1e9).contains(number))
        };
        let users = number(element, "ThreadGroup.num_threads").map(|users| users as u32);
        let is_timed = element.is("ThreadGroup.scheduler");
        let seconds = number(element, "ThreadGroup.duration").filter(|_| is_timed);
        let ramp = number(element, "ThreadGroup.ramp_time");
        self.steps.clear();
        let outside = (self.rows.clone(), self.variables.columns.clone());
        let repeat = element.inner("ThreadGroup.main_controller");
        let loops = repeat.and_then(|one| number(&one, "LoopController.loops"));
        self.level(&element.children(), scope, depth + 1);
        let steps = std::mem::take(&mut self.steps);
        // Each user has variables of its own, and each group its data.
        self.variables.captured.clear();
        let rows = std::mem::replace(&mut self.rows, outside.0);
        self.variables.columns = outside.1;
        if !steps.iter().any(|step| matches!(step, DraftStep::Do(_))) {
            return;
        }
        let loops = loops.map(|loops| loops as u64);
        self.groups.push(Group { users, ramp, seconds, loops });
        self.draft.add_journey(DraftJourney {
            name: element.title().to_owned(),
            steps,
            weight: users.map(f64::from).filter(|users| *users > 0.0),
            rows,
            ..DraftJourney::default()
        });
    }

    /// Adds the operation of a sampler, and the pause before it.
    fn request<'d>(&mut self, element: &Element<'d>, scope: &Scope<'d>) {
        if self.draft.operations.len() >= MOST_REQUESTS {
            return self.left_out(element);
        }
        let mut masks = Masks::default();
        let Some(mut operation) = self.sampler(element, scope, &mut masks) else { return };
        if !self.wanted.wants(&operation.origin) {
            return;
        }
        let captures = self.answers(&scope.answers, &mut operation, &mut masks);
        if let Some(host) = masks.lift(&mut operation) {
            let what = format!("the host {host}: {} stands in its place", crate::masks::UNKNOWN);
            self.draft.note(element.line(), what);
        }
        let place = self.draft.add(operation);
        for (variable, value) in captures {
            self.variables.captured.insert(variable, (place, value));
        }
        let (least, most) = scope.think;
        if most > 0.0 {
            let is_fixed = most - least < 1e-3;
            let between = DraftStep::ThinkBetween(least, most);
            self.steps.push(if is_fixed { DraftStep::Think(most) } else { between });
        }
        self.steps.push(DraftStep::Do(vec![place]));
    }

    /// The load of all groups together.
    fn end(&mut self) {
        let users: u32 =
            self.groups.iter().filter_map(|group| group.users).fold(0, u32::saturating_add);
        if self.groups.len() == 1 {
            self.draft.journeys.iter_mut().for_each(|journey| journey.weight = None);
        }
        if users == 0 {
            return;
        }
        let longest =
            |of: fn(&Group) -> Option<f64>| self.groups.iter().filter_map(of).fold(0.0, f64::max);
        let (ramp, seconds) = (longest(|group| group.ramp), longest(|group| group.seconds));
        let pace = &mut self.draft.pace;
        if ramp >= 1.0 && seconds > ramp {
            let hold = seconds - ramp;
            let stages =
                format!("[{{ users = {users}, over = \"{ramp}s\" }}, {{ hold = \"{hold}s\" }}]");
            pace.push(("stages", stages));
            return;
        }
        pace.push(("users", users.to_string()));
        if seconds > 0.0 {
            pace.push(("duration", format!("\"{seconds}s\"")));
        } else {
            // Loops without an end stay without one.
            let mut counts = self.groups.iter().map(|group| {
                let users = group.users.map(u64::from)?;
                Some(group.loops?.saturating_mul(users))
            });
            let count = counts.try_fold(0_u64, |sum, one| Some(sum.saturating_add(one?)));
            let count = count.filter(|count| *count > 0);
            pace.extend(count.map(|count| ("operations", count.to_string())));
        }
        if ramp >= 1.0 {
            let what = format!("the ramp-up of {ramp} seconds is left out: use stages of users");
            self.draft.note(None, what);
        }
    }
}
