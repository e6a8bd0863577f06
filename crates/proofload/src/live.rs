//! What is seen of a run while it goes on. On stderr: on a terminal that is large enough a whole screen, on a smaller one a
//! line that is redrawn every second, otherwise a line every five seconds; and what the crate `live` shows elsewhere. It
//! reads events and never influences the measurement.

use std::io::{IsTerminal, stderr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::StopSignal;
use live::audience::News;
use live::browser::Browser;
use live::push::{Destination, Pace, Protocol, Push};
use live::terminal::{self, Screen};
use live::view::TrialHead;
use pages::progress::ProgressLine;
use pages::tables::Table;
use plan::load::{Model, Stop};
use plan::plan::Plan;
use plan::printable::printable_lines;
use plan::schedule::nanos;
use record::event::{Event, EventKind, Phase, Progress};
use record::summary::ListedOperation;
use record::{EndReason, Window, summary};

use crate::agenda::Agenda;
use crate::charset;
use crate::cli::{OutputFlags, WatchFlags};
use crate::console::Console;
use crate::problem::Problem;

/// Variables of the environment with the tokens of destinations.
const REMOTE_WRITE_TOKEN: &str = "PROOFLOAD_REMOTE_WRITE_TOKEN";
const OTLP_TOKEN: &str = "PROOFLOAD_OTLP_TOKEN";

/// Without a terminal, progress events per line; they come once a second.
const LINES_EVERY: u64 = 5;

/// The live view of one run.
#[derive(Debug)]
pub struct LiveView {
    style: Style,
    trial: TrialShown,
    seen: u64,
    dirty: bool,
    console: Console,
    screen: Option<Screen>,
    browser: Option<Browser>,
    /// Where metrics are sent.
    pushes: Vec<Push>,
    /// Name of the run's folder.
    run: String,
    /// The arm of a duet's second trial.
    beside: Option<usize>,
    /// The plan of the trial that runs, with its hash.
    plan: Option<(String, Arc<Plan>)>,
    /// What the user is told on the screen, and again when that is gone.
    said: Vec<String>,
}

#[derive(Debug, Clone)]
enum Style {
    /// A whole screen, on which the user can stop the run.
    Screen(StopSignal),
    Redrawn,
    Lines,
    Silent,
}

/// The part of the line about the trial itself.
#[derive(Debug)]
struct TrialShown {
    number: (u32, u32),
    block: (u32, u32),
    arm: String,
    model: summary::Model,
    measure_ns: Option<u64>,
    /// Planned length of the trials after it.
    later_ns: Option<u64>,
    phase: (Phase, i64),
    failed: u64,
}

impl LiveView {
    /// On stderr, unless `quiet`.
    pub fn new(quiet: bool) -> Self {
        let style = match (quiet, stderr().is_terminal()) {
            (true, _) => Style::Silent,
            (false, true) => Style::Redrawn,
            (false, false) => Style::Lines,
        };
        let (screen, browser, pushes, run, beside, plan, said) = Default::default();
        let (trial, seen, dirty) = (TrialShown::default(), 0, false);
        let console = Console::new();
        Self {
            style,
            trial,
            seen,
            dirty,
            console,
            screen,
            browser,
            pushes,
            run,
            beside,
            plan,
            said,
        }
    }

    /// For a run of this plan that this signal stops: see [`LiveView::open_to`].
    ///
    /// Errors: as there
    pub fn of_run(
        (flags, watch): (&OutputFlags, &WatchFlags),
        plan: &Plan,
        stop: &StopSignal,
    ) -> Result<Self, Problem> {
        let mut live = Self::new(flags.quiet);
        live.open_to((flags, watch), plan, stop)?;
        Ok(live)
    }

    /// Shows the run of this plan to all who watch: on a whole screen, if there is one, whose keys request this signal;
    /// in browsers, and by metrics that are sent elsewhere, if the flags give addresses.
    ///
    /// Errors: an address cannot be used
    pub fn open_to(
        &mut self,
        (flags, watch): (&OutputFlags, &WatchFlags),
        plan: &Plan,
        stop: &StopSignal,
    ) -> Result<(), Problem> {
        if matches!(self.style, Style::Redrawn) && !flags.plain && terminal::fits() {
            self.style = Style::Screen(stop.clone());
        }
        if let Some(address) = watch.live {
            let browser = Browser::start(address, &self.known(plan)).map_err(|error| {
                Problem::environment(format!("cannot serve the run at {address}: {error}")).hint(
                    "name another address or port with `--live`, such as 127.0.0.1:0 for any port",
                )
            })?;
            self.say(&format!("live at {}", browser.link));
            self.browser = Some(browser);
        }
        for (protocol, flag, url, token) in [
            (Protocol::RemoteWrite, "--remote-write", &watch.remote_write, REMOTE_WRITE_TOKEN),
            (Protocol::Otlp, "--otlp", &watch.otlp, OTLP_TOKEN),
        ] {
            let Some(url) = url else { continue };
            let token = std::env::var(token).ok();
            let destination = Destination::parse(protocol, url, token.as_deref());
            let destination = destination.map_err(|what| {
                Problem::usage(format!("`{flag}` cannot be used: {what}"))
                    .hint("write a whole URL, such as http://127.0.0.1:9090/api/v1/write")
            })?;
            let push = Push::start(destination, Pace::default())
                .map_err(|error| Problem::environment(format!("cannot send metrics: {error}")))?;
            self.pushes.push(push);
        }
        Ok(())
    }

    /// The run is recorded in this folder, whose name metrics have.
    pub fn recorded_in(&mut self, folder: &Path) {
        let name = folder.file_name().unwrap_or_default();
        self.run = name.to_string_lossy().into_owned();
    }

    /// The plan, as those who watch have it: the same for all of its trials.
    fn known(&mut self, plan: &Plan) -> Arc<Plan> {
        let hash = plan.hash();
        match &self.plan {
            Some((known, plan)) if *known == hash => Arc::clone(plan),
            _ => {
                let plan = Arc::new(plan.clone());
                self.plan = Some((hash, Arc::clone(&plan)));
                plan
            }
        }
    }

    /// Tells all who watch.
    fn send(&mut self, news: impl FnOnce() -> News) {
        if self.screen.is_none() && self.browser.is_none() && self.pushes.is_empty() {
            return;
        }
        let news = Arc::new(news());
        self.screen.iter_mut().for_each(|screen| screen.audience.send(&news));
        self.browser.iter_mut().for_each(|browser| browser.audience.send(&news));
        self.pushes.iter_mut().for_each(|push| push.audience.send(&news));
    }

    /// Starts the view of the agenda's next trial; of a duet, it shows the first trial.
    pub fn trial(&mut self, plan: &Plan, agenda: &Agenda) {
        let (now, later) = agenda.trials.split_at(agenda.next().len());
        let Some(next) = now.first() else { return };
        self.beside = now.get(1).map(|trial| trial.arm);
        let names: Vec<&str> = now.iter().map(|one| plan.arms[one.arm].name.as_str()).collect();
        let arm = &plan.arms[next.arm];
        let measure_ns = match arm.load.stop {
            Stop::Duration { after } => Some(nanos(after)),
            Stop::Operations { .. } => None,
        };
        let later = later.iter().filter(|trial| trial.takes_time());
        let mut times = later.map(|trial| plan.arms[trial.arm].load.wall_time());
        let later = times.try_fold(Duration::ZERO, |sum, time| Some(sum.saturating_add(time?)));
        let count = |trials: usize| u32::try_from(trials).unwrap_or(u32::MAX);
        let (planned, todo) = (plan.trials.len(), agenda.trials.len());
        let blocks = plan.trials.iter().map(|trial| trial.block).max().unwrap_or(1);
        self.trial = TrialShown {
            number: (count(planned + 1 - todo.min(planned)), count(planned)),
            block: (next.block, blocks),
            arm: plan.secrets.redact(&names.join(" beside ")),
            model: model(&arm.load.model),
            measure_ns,
            later_ns: later.map(nanos),
            ..TrialShown::default()
        };
        let known = self.known(plan);
        self.start_screen(&known);
        let names = arm.names();
        let (operations, journeys) = names.split_at(arm.operations.len());
        let head = TrialHead {
            run: plan.secrets.redact(&self.run),
            trial: next.clone(),
            number: self.trial.number,
            block: self.trial.block,
            arm: self.trial.arm.clone(),
            model: self.trial.model,
            window_ns: nanos(arm.load.window()),
            measure_ns,
            later_ns: self.trial.later_ns,
            operations: operations.iter().map(|name| plan.secrets.redact(name)).collect(),
            journeys: journeys.iter().map(|name| plan.secrets.redact(name)).collect(),
        };
        self.send(|| News::Begin(Box::new(head), known));
    }

    fn start_screen(&mut self, plan: &Arc<Plan>) {
        if let Style::Screen(stop) = &self.style
            && self.screen.is_none()
        {
            self.console.flush();
            let stop = stop.clone();
            let link = self.browser.as_ref().map(|browser| browser.link.clone());
            // It draws with blocks and dots.
            let screen = charset::is_unicode()
                .then(|| Screen::start(plan, link, move || stop.request()).ok());
            match screen.flatten() {
                Some(screen) => self.screen = Some(screen),
                // What the terminal can do instead is a line.
                None => self.style = Style::Redrawn,
            }
        }
    }

    /// Counts a complete window of a duet's second trial.
    pub fn window_beside(&mut self, window: Window) {
        if let Some(arm) = self.beside {
            self.send(|| News::Beside(arm, Box::new(News::Window(window))));
        }
    }

    /// Shows a complete window; of a duet, of the first trial.
    pub fn window(&mut self, window: Window) {
        self.send(|| News::Window(window));
    }

    /// Shows windows that are not complete, as they are at this instant.
    pub fn open(&mut self, windows: Vec<Window>, until_ns: i64) {
        self.send(|| News::Open(windows, until_ns));
    }

    /// Tells which operations of a trial were slowest, when it has ended; of a duet, of the one at this place.
    pub fn slowest(&mut self, place: usize, slowest: &[ListedOperation]) {
        let news = || News::Slowest(slowest.to_vec());
        match (place, self.beside) {
            (0, _) => self.send(news),
            (_, Some(arm)) => self.send(|| News::Beside(arm, Box::new(news()))),
            (_, None) => {}
        }
    }

    /// Shows what the trials so far say.
    pub fn tables(&mut self, tables: impl FnOnce() -> Vec<Table>) {
        self.send(|| News::Tables(tables()));
    }

    /// Whether there is room for what the trials so far say.
    pub fn shows_tables(&self) -> bool {
        self.screen.is_some() || self.browser.is_some()
    }

    /// Shows the report in browsers, and sends the last metrics.
    pub fn report(&mut self, page: impl FnOnce() -> Option<String>) {
        self.end_pushes();
        if let Some(browser) = self.browser.take()
            && let Some(page) = page()
        {
            browser.end(page);
        }
    }

    fn end_pushes(&mut self) {
        // All at once: each may take a few seconds.
        let pushes = std::mem::take(&mut self.pushes).into_iter();
        for push in pushes.map(Push::close).collect::<Vec<_>>() {
            let (_, said) = push.end();
            said.iter().for_each(|text| self.say(text));
        }
    }

    /// Gives the terminal back, so that a report can follow.
    pub fn leave(&mut self) {
        self.clear();
        self.leave_screen();
        self.console.flush();
    }

    fn leave_screen(&mut self) {
        let Some(screen) = self.screen.take() else { return };
        let Some(missed) = screen.leave() else {
            self.style = Style::Silent;
            return;
        };
        for text in std::mem::take(&mut self.said) {
            self.write(&format!("{text}\n"));
        }
        if missed > 0 {
            self.write(&format!("the terminal was slow: the screen missed {missed} events\n"));
        }
    }

    /// Shows what the event changes.
    pub fn event(&mut self, event: &Event) {
        self.send(|| News::Event(event.clone()));
        match &event.kind {
            EventKind::PhaseEntered { phase } => self.trial.phase = (*phase, event.at_ns),
            EventKind::Progress(progress) => self.progress(event.at_ns, progress),
            EventKind::ProcessDied { name, status, last_words } => {
                self.say(&format!("`{name}` ended by itself: {status}"));
                last_words.iter().for_each(|line| self.say(&format!("  | {line}")));
            }
            EventKind::Fault { name, action, failed } => match failed {
                None => self.say(&format!("the plan: {action} `{name}`")),
                Some(reason) => self.say(&format!("the plan: {action} `{name}` failed: {reason}")),
            },
            EventKind::Interrupted => {
                self.say("stopping: waiting for what is in flight (Ctrl-C again to give it up)");
            }
            EventKind::EndedEarly(early) => {
                let what = match early.reason {
                    EndReason::AllFailed => "run",
                    EndReason::FailFast | EndReason::Precise => "measure phase",
                };
                self.say(&format!("ending the {what}: {}", early.why));
                early.advice.iter().for_each(|advice| self.say(&format!("  hint: {advice}")));
            }
            EventKind::FailureSeen { operation, kind, detail } => {
                let colon = if detail.is_empty() { "" } else { ": " };
                self.say(&format!("first {kind} of `{operation}`{colon}{detail}"));
            }
            _ => {}
        }
    }

    /// Shows an event of a duet's second trial, if the first has no equivalent.
    pub fn beside(&mut self, event: &Event) {
        if let Some(arm) = self.beside {
            self.send(|| News::Beside(arm, Box::new(News::Event(event.clone()))));
        }
        if let EventKind::FailureSeen { .. }
        | EventKind::ProcessDied { .. }
        | EventKind::Fault { .. } = &event.kind
        {
            self.event(event);
        }
    }

    /// Writes a permanent line.
    pub fn say(&mut self, text: &str) {
        self.clear();
        // The text may quote a target or the output of a process.
        let text = printable_lines(text);
        self.send(|| News::Note(text.clone()));
        match (&self.screen, &self.style) {
            (_, Style::Silent) => {}
            (Some(_), _) => self.said.push(text),
            (None, _) => self.write(&format!("{text}\n")),
        }
    }

    /// Clears the redrawn line, so that other output can follow.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.dirty) {
            self.write("\r\x1b[2K");
        }
    }

    fn progress(&mut self, at_ns: i64, progress: &Progress) {
        let said: Vec<String> = self.pushes.iter().flat_map(Push::said).collect();
        said.iter().for_each(|text| self.say(text));
        self.trial.failed += if self.trial.phase.0 >= Phase::Measure { progress.failed } else { 0 };
        self.seen += 1;
        let line = self.trial.line(at_ns, progress);
        match &self.style {
            Style::Redrawn => {
                self.write(&format!("\r\x1b[2K{line}"));
                self.dirty = true;
            }
            Style::Lines if self.seen.is_multiple_of(LINES_EVERY) => {
                self.write(&format!("{line}\n"));
            }
            Style::Screen(_) | Style::Lines | Style::Silent => {}
        }
    }

    fn write(&self, text: &str) {
        self.console.write(text.to_owned());
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        self.leave();
        self.end_pushes();
    }
}

impl TrialShown {
    fn line(&self, at_ns: i64, progress: &Progress) -> String {
        let (phase, since) = self.phase;
        let elapsed = u64::try_from(at_ns - since).unwrap_or(0);
        let whole = self.measure_ns.filter(|_| phase == Phase::Measure);
        // Instants count from the start of the measure phase.
        let here = self.measure_ns.map(|whole| whole.saturating_add_signed(-at_ns));
        let line = ProgressLine {
            trial: self.number,
            block: self.block,
            left_ns: here.zip(self.later_ns).map(|(here, later)| here.saturating_add(later)),
            arm: &self.arm,
            model: self.model,
            phase_ns: (elapsed, whole),
            progress,
            failed: self.failed,
        };
        line.render()
    }
}

impl Default for TrialShown {
    fn default() -> Self {
        Self {
            number: (1, 1),
            block: (1, 1),
            arm: String::new(),
            model: summary::Model::Open,
            measure_ns: None,
            later_ns: None,
            phase: (Phase::Launch, 0),
            failed: 0,
        }
    }
}

fn model(model: &Model) -> summary::Model {
    match model {
        Model::Open { .. } => summary::Model::Open,
        Model::Closed => summary::Model::Closed,
        Model::Users { .. } => summary::Model::Users,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_short_trials_show_lines_as_one_long_one_does() {
        let text = "[target]\nurl = \"http://127.0.0.1:1\"\n[load]\nrate = \"10/s\"\n\
                    duration = \"1s\"\n[[operation]]\nhttp = { path = \"/\" }\n";
        let plan =
            crate::loading::load_text("one trial", text).expect("it is whole").experiment.plan;
        let agenda = Agenda::of(&plan, &Default::default());
        let mut live = LiveView::new(true);
        for _ in 0..LINES_EVERY {
            live.trial(&plan, &agenda);
            live.progress(0, &Progress::default());
        }
        assert!(live.seen.is_multiple_of(LINES_EVERY), "{live:?}");
    }
}
