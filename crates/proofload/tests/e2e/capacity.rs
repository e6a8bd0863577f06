//! The search for capacity: it returns an interval around the theoretical capacity, clear errors if it cannot begin,
//! and a complete record if it is stopped early.
//!
//! The short form searches a queue with evenly spaced arrivals, which a busy machine hardly changes.
//! `PROOFLOAD_PROOF=1` searches queues with random arrivals; its trials are long enough for the interval to contain
//! the exact solution, which takes minutes on an idle machine.

use record::summary::{Capacity, CapacityEnding, StepResult, Summary};
use serde_json::Value;

use crate::lab::{Lab, assert_accounting, finding};

mod cut_short;

/// An experiment against the truth system in this mode.
fn experiment(mode: &str, rate: u32, criterion: &str) -> String {
    format!(
        "title = \"capacity of {mode}\"\nseed = 7\ncriteria = [\"{criterion}\"]\n\
         [system]\nserve = \"truth\"\nset = {{ mode = \"{mode}\", rate = \"{rate}/s\" }}\n\
         [load]\nrate = \"100/s\"\nwarm_up = \"500ms\"\ntimeout = \"2s\"\n\
         [[operation]]\nname = \"ask\"\nhttp = {{ path = \"/\" }}\n"
    )
}

/// Searches in the folder `run`; returns the answer, and whether the machine allowed the search to finish.
fn search(lab: &Lab, file: &str, flags: &[&str]) -> (Summary, Capacity, bool) {
    lab.write("own.toml", file);
    let fixed = ["capacity", "own.toml", "--out", "run", "--quiet"];
    let ran = lab.proofload(&[&fixed, flags].concat());
    assert_eq!(ran.stderr, "", "--quiet talks");
    let summary = lab.summary("run").unwrap_or_else(|| panic!("no summary: {ran:?}"));
    assert_eq!(ran.code, judge::verdict::exit(&summary) as i32, "{ran:?}");
    assert!(finding(&summary, "audit-contradiction").is_none(), "{:?}", summary.findings);
    let capacity = summary.capacity.clone().expect("an answer");
    let bracketed = capacity.ending == CapacityEnding::Bracketed;
    assert_eq!(ran.code, if bracketed { 0 } else { 3 }, "{ran:?}");
    let spoiled = capacity.steps.iter().any(|step| step.result == StepResult::Invalid);
    assert_ne!(capacity.ending, CapacityEnding::Stopped, "nobody stopped it: {ran:?}");
    assert!(bracketed || spoiled, "only a busy machine keeps it from an answer: {ran:?}");
    (summary, capacity, bracketed)
}

fn assert_record(lab: &Lab, summary: &Summary, capacity: &Capacity) {
    assert!(!capacity.steps.is_empty());
    let plan: Value = serde_json::from_str(&lab.read("run/plan.json")).expect("a plan in JSON");
    let planned = plan["trials"].as_array().expect("trials");
    assert_eq!(planned.len(), capacity.steps.len(), "a trial a step");
    assert_eq!(plan["arms"].as_array().map(Vec::len), Some(summary.arms.len()), "an arm a rate");
    for (step, number) in capacity.steps.iter().zip(1_u32..) {
        assert_eq!(step.trial, number);
        assert!(lab.path(&format!("run/trials/{number:03}/windows.hlog")).is_file());
        let arm =
            summary.arms.iter().find(|arm| arm.trials.iter().any(|trial| trial.index == number));
        let arm = arm.expect("every trial is in an arm");
        assert_eq!(arm.name, format!("rate={}/s", step.rate));
        // On a busy machine, all of a step's operations may fail far above the capacity.
        let nothing = step.achieved == 0.0;
        assert!(step.achieved >= 0.0 && (0.0..=1.0).contains(&step.failed_ratio), "{step:?}");
        assert_eq!(nothing, (step.failed_ratio - 1.0).abs() < 1e-9, "{step:?}");
    }
    summary.arms.iter().flat_map(|arm| &arm.trials).for_each(assert_accounting);
    for format in ["text", "markdown", "html"] {
        let page = lab.proofload(&["report", "run", "--format", format]);
        assert_eq!(page.code, 0, "{format}: {}", page.stderr);
        assert!(page.stdout.contains("Steps of the search"), "{format}");
    }
}

/// Share of operations slower than the bound at this rate, by Lindley's recursion with fixed service times.
fn share_beyond(rate: f64, service: f64, bound: f64) -> f64 {
    const OPERATIONS: u32 = 400_000;
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let (mut arrival, mut free, mut beyond) = (0.0, 0.0_f64, 0_u32);
    for _ in 0..OPERATIONS {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let bits = state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        arrival -= (1.0 - bits as f64 / (1_u64 << 53) as f64).ln() / rate;
        free = free.max(arrival) + service;
        beyond += u32::from(free - arrival > bound);
    }
    f64::from(beyond) / f64::from(OPERATIONS)
}

/// The rate at which this share of an M/D/1 queue's operations is slower than the bound.
fn md1(served: f64, bound: f64, share: f64) -> f64 {
    let (mut low, mut high) = (0.1 * served, served);
    while high / low > 1.002 {
        let middle = f64::midpoint(low, high);
        let too_many = share_beyond(middle, 1.0 / served, bound) > share;
        (low, high) = if too_many { (low, middle) } else { (middle, high) };
    }
    low
}

/// A search with a known answer: mode and rate of the truth system, spacing of arrivals, criterion, and the resulting
/// capacity.
pub struct Case {
    pub mode: &'static str,
    served: u32,
    arrivals: &'static str,
    criterion: &'static str,
    truth: f64,
}

/// Most attempts at a search that this machine disturbs.
const ATTEMPTS: usize = 3;

/// The short form has one queue with evenly spaced arrivals. Up to its rate no operation waits, and each takes a tenth
/// of the bound; just above it, most take several times the bound. To move an end, a busy machine would have to delay
/// a fifth of all operations by nine tenths of the bound. The long form has random arrivals. Both intervals must
/// contain the true capacity.
#[test]
fn the_search_brackets_a_known_capacity() {
    let is_proof = is_proof();
    let flags = flags(is_proof);
    for case in cases(is_proof) {
        assert_some_search_holds(&case, || {
            let lab = if is_proof { Lab::undisturbed() } else { Lab::new() };
            search_for(&lab, &case, &flags)
        });
    }
}

/// What a search found of its [`Case`].
pub enum Found {
    /// The interval that contains the true capacity.
    Truth { low: f64, high: f64 },
    /// An interval that does not, in words. A busy machine delays operations of the target, too, which look slow.
    Elsewhere(String),
    /// The machine did not allow it to find one.
    Nothing,
}

/// Searches until one finds the truth. The long form is never wrong; the short form may be disturbed each time, but
/// must not be wrong each time.
pub fn assert_some_search_holds(case: &Case, mut search: impl FnMut() -> Found) {
    let mut wrong = Vec::new();
    for attempt in 1..=ATTEMPTS {
        match search() {
            Found::Truth { .. } => return,
            Found::Elsewhere(interval) if is_proof() => panic!("{}: {interval}", case.mode),
            Found::Elsewhere(interval) => wrong.push(interval),
            Found::Nothing => println!("{}: attempt {attempt} was spoiled", case.mode),
        }
    }
    let is_short = !is_proof() && wrong.len() < ATTEMPTS;
    assert!(is_short, "{}: none of {ATTEMPTS} attempts held: {wrong:?}", case.mode);
}

/// Whether the long form is asked for.
pub fn is_proof() -> bool {
    std::env::var_os("PROOFLOAD_PROOF").is_some()
}

/// Flags of a search for the answers of [`cases`].
pub fn flags(is_proof: bool) -> Vec<&'static str> {
    let short: &[&str] =
        &["--from", "22/s", "--trial", "1500ms", "--longest", "1500ms", "--confirm", "1"];
    let long: &[&str] = &["--trial", "5s", "--longest", "20s", "--max", "400/s"];
    let precision = ["--precision", if is_proof { "10%" } else { "25%" }];
    [if is_proof { long } else { short }, &precision].concat()
}

/// Searches for the capacity of this case, in the folder `run`.
pub fn search_for(lab: &Lab, case: &Case, flags: &[&str]) -> Found {
    let spacing = format!("[load]\narrivals = \"{}\"\n", case.arrivals);
    let file = experiment(case.mode, case.served, case.criterion).replace("[load]\n", &spacing);
    let (summary, capacity, bracketed) = search(lab, &file, flags);
    assert_record(lab, &summary, &capacity);
    let (mode, truth) = (case.mode, case.truth);
    println!("{mode}: {:?} – {:?}, truth {truth:.1}", capacity.low, capacity.high);
    if !bracketed {
        return Found::Nothing;
    }
    let low = capacity.low.expect("a low end");
    let high = capacity.high.expect("a high end");
    let confirmation = capacity.confirmation.as_ref().expect("confirmed");
    assert!(confirmation.passed >= 1, "{confirmation:?}");
    if !(low..=high).contains(&truth) {
        return Found::Elsewhere(format!("{low} – {high}, {truth}, {:?}", capacity.steps));
    }
    assert_eq!(capacity.limited_by.as_deref(), Some(case.criterion));
    assert!(capacity.achieved.expect("achieved") > 0.7 * low);
    Found::Truth { low, high }
}

/// What is searched.
pub fn cases(is_proof: bool) -> Vec<Case> {
    if is_proof {
        let case = |mode, criterion, truth| Case {
            mode,
            served: 200,
            arrivals: "poisson",
            criterion,
            truth,
        };
        let mm1 = 200.0 - 10_f64.ln() / 0.050;
        let md1 = md1(200.0, 0.025, 0.1);
        return vec![case("mm1", "p90 < 50ms", mm1), case("md1", "p90 < 25ms", md1)];
    }
    let truth = evenly_spaced(50.0, 0.200, 0.8);
    let (mode, arrivals, criterion) = ("md1", "constant", "p80 < 200ms");
    vec![Case { mode, served: 50, arrivals, criterion, truth }]
}

/// The rate of evenly spaced arrivals at which this quantile equals the bound. Above the service rate the wait grows
/// by the surplus from the start of the warm-up (half a second) to the end of the measure phase (one and a half).
fn evenly_spaced(served: f64, bound: f64, quantile: f64) -> f64 {
    let until = 0.5 + quantile * 1.5;
    served * (1.0 + (bound - 1.0 / served) / until)
}

#[test]
fn what_cannot_be_searched_is_said_before_anything_is_sent() {
    let lab = Lab::new();
    let bare = experiment("md1", 200, "p90 < 15ms");
    lab.write("own.toml", &bare);
    lab.write("open.toml", &bare.replace("criteria = [\"p90 < 15ms\"]\n", ""));
    lab.write(
        "arms.toml",
        &bare
            .replace("[load]", "[factors]\nserved = [200, 300]\n[load]")
            .replace("\"200/s\"", "\"{{factor.served}}/s\""),
    );
    let fault = "[[fault]]\nprocess = \"system\"\nat = \"10s\"\naction = \"kill\"\nfor = \"1s\"\n";
    lab.write("hurt.toml", &format!("{bare}{fault}"));
    let tables =
        "[factors]\npool = { low = { connections = 2 }, high = { connections = 4 } }\n[load]";
    lab.write("tables.toml", &bare.replace("[load]", tables));
    let closed = "connections = \"{{factor.size}}\"\nduration = \"1s\"";
    let closed = bare.replace("rate = \"100/s\"", closed);
    lab.write("closed.toml", &closed.replace("[load]", "[factors]\nsize = [1, 2]\n[load]"));
    let cases: [(&[&str], &str); 10] = [
        (&["tables.toml", "--json", "-"], "but in the file where levels are tables"),
        // One search at a time: `--json` works with a single search only.
        (&["closed.toml", "--json", "-", "--max", "x"], "--max: expected a rate"),
        (&["hurt.toml", "--trial", "10s"], "is not before the end of a trial of 10 s"),
        (&["open.toml"], "needs a criterion"),
        (&["arms.toml", "--json", "-"], "choose an arm: --set 'factors.served=[200]'"),
        (&["own.toml", "--quick"], "a rehearsal passes nothing"),
        (&["own.toml", "--precision", "0%"], "--precision: expected a percentage"),
        (&["own.toml", "--from", "5", "--max", "x"], "--max: expected a rate"),
        (&["own.toml", "--trial", "2m"], "--trial is longer than --longest"),
        (
            &["own.toml", "--trial", "1s", "--longest", "5s", "--max", "5/s"],
            "29 operations are the",
        ),
    ];
    for (arguments, said) in cases {
        let ran = lab.proofload(&[&["capacity"], arguments, &["--out", "run"]].concat());
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said) && ran.stderr.contains("hint: "), "{}", ran.stderr);
        assert!(!lab.path("run").exists(), "{arguments:?} left a folder");
    }
    let both = lab.proofload(&["capacity", "own.toml", "--from", "5", "--max", "x"]);
    assert!(both.stderr.contains("--from: expected a rate"), "all at once: {}", both.stderr);
}

/// Passes at 200/s and fails at 400/s with any target, because only the plan matters.
const DECIDED: &str = "planned < 300";
/// A target so slow that no lag of a busy machine spoils a trial.
const SLOW: [&str; 2] = ["mode=constant", "service=400ms"];
/// Two trials bracket it.
const TWO_TRIALS: [&str; 13] = [
    "capacity",
    "own.toml",
    "--from",
    "200/s",
    "--precision",
    "100%",
    "--trial",
    "1s",
    "--longest",
    "1s",
    "--confirm",
    "0",
    "--out=run",
];

/// A file with that criterion and this system, or none.
fn decided(system: &str) -> String {
    let file = experiment("none", 1, DECIDED).replace(", rate = \"1/s\"", "");
    let (head, rest) = file.split_once("[system]\n").expect("a system");
    let (_, load) = rest.split_once("[load]\n").expect("a load");
    format!("{head}{system}\n[load]\narrivals = \"constant\"\n{load}").replace("500ms", "0s")
}

fn served() -> String {
    let [mode, service] = SLOW.map(|set| set.replace('=', " = \"") + "\"");
    decided(&format!("[system]\nserve = \"truth\"\nset = {{ {mode}, {service} }}"))
}

#[test]
fn arms_are_searched_in_turn_and_their_intervals_stand_side_by_side() {
    let lab = Lab::new();
    let comparison =
        "[[comparison]]\nfactor = \"service\"\nbaseline = \"400ms\"\nmetrics = [\"p50\"]\n";
    let levels = "service = [\"400ms\", { name = \"longer\", value = \"401ms\" }]\nway = [1, 2]\n";
    let file = served()
        .replace("\"400ms\"", "\"{{factor.service}}\"")
        .replace("[system]", &format!("[factors]\n{levels}[design]\nblocks = 10\naa = 2\n[system]"))
        .replace("arrivals = \"constant\"\n", "")
        .replace("rate = \"100/s\"", "connections = \"{{factor.way}}\"\nduration = \"1s\"");
    lab.write("own.toml", &(file + comparison));
    let ran = lab.proofload(&TWO_TRIALS);
    assert!(
        ran.stderr.contains("2 of 4 arms searched in turn"),
        "closed loads are replaced: {ran:?}"
    );
    for folder in ["1-service-400ms-way-1", "2-service-longer-way-1"] {
        let summary = lab.summary(&format!("run/{folder}")).expect("a summary of its own");
        assert!(!summary.capacity.expect("an answer").steps.is_empty(), "{folder}");
    }
    let (_, table) = ran.stdout.split_once("Capacity by arm").expect("a table at the end");
    let named = "The intervals of service=400ms,way=1 and service=longer,way=1 overlap";
    let words: Vec<&str> = table.split_whitespace().collect();
    assert!(words.join(" ").contains(named), "{table}");
    let stored = lab.read("run/capacity.md");
    assert!(stored.starts_with("# Capacity by arm\n") && stored.contains(named), "{stored}");
}

#[test]
fn a_target_that_refuses_everything_holds_no_rate_and_the_search_does_not_go_down_for_ever() {
    let lab = Lab::new();
    let file = experiment("refuse", 1, "p50 < 1s").replace(", rate = \"1/s\"", "");
    let file = file.replace("warm_up = \"500ms\"", "warm_up = \"0s\"\narrivals = \"constant\"");
    lab.write("own.toml", &file);
    let flags = ["--from", "40/s", "--trial", "1s", "--longest", "1s", "--out", "run"];
    let ran = lab.proofload(&[&["capacity", "own.toml", "--keep-going"], &flags[..]].concat());
    let summary = lab.summary("run").unwrap_or_else(|| panic!("no summary: {ran:?}"));
    let capacity = summary.capacity.as_ref().expect("an answer");
    // Five operations are the fewest that can show a median. A busy machine may repeat a step, may halve the first
    // rate because it spoils the trial, and may make the search give up; the rates stay the same.
    let mut rates: Vec<_> = capacity.steps.iter().map(|step| step.rate).collect();
    rates.dedup();
    assert_eq!(rates, [40.0, 20.0, 10.0, 5.0][..rates.len().min(4)], "{ran:?}");
    let judged = capacity.steps.iter().filter(|step| step.result != StepResult::Invalid);
    let judged: Vec<_> = judged.map(|step| (step.rate, step.result)).collect();
    assert!(judged.iter().all(|(_, result)| *result == StepResult::Fail), "{ran:?}");
    let is_whole = capacity.ending == CapacityEnding::NothingPasses;
    assert!(is_whole || capacity.ending == CapacityEnding::Spoiled, "{ran:?}");
    let to_the_end = judged.last() == Some(&(5.0, StepResult::Fail));
    assert_eq!((ran.code, is_whole), (3, to_the_end), "{ran:?}");
    let is_spoiled = capacity.steps.iter().any(|step| step.result == StepResult::Invalid);
    assert!(is_spoiled || judged.len() == 4, "{ran:?}");
    assert_eq!(capacity.power_point, None, "what fails at once has no throughput");
    if !judged.is_empty() {
        let seen = capacity.symptom.as_deref().expect("what is seen");
        assert!(seen.starts_with("100 % of operations failed"), "{seen}");
    }
}
