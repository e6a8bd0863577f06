//! Which captured values the templates of an operation may refer to: those that it finds in every journey.

use crate::journey::{Action, Repeat, Step, Test};
use crate::template::{HiddenCapture, VisibleCapture};

/// A capture of the file.
#[derive(Debug, Clone)]
pub(super) struct NamedCapture {
    /// As placeholders have it: `login.token`.
    pub(super) name: String,
    /// Place of its operation.
    pub(super) operation: usize,
    /// Place among all captures.
    pub(super) place: usize,
    pub(super) is_list: bool,
}

/// Whether earlier steps have performed an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Provision {
    Always,
    /// Only by a step that some journeys skip, since it has this key.
    Perhaps(&'static str),
    Never,
}

/// Whether these steps perform the operation.
pub(super) fn provision(before: &[Step], operation: usize) -> Provision {
    let mut found = Provision::Never;
    for step in before.iter().filter(|step| step.operations().contains(&operation)) {
        match skipped_by(step) {
            None => return Provision::Always,
            Some(key) => found = Provision::Perhaps(key),
        }
    }
    found
}

/// The key by which a journey may go past a step.
fn skipped_by(step: &Step) -> Option<&'static str> {
    let Step::Do(action) = step else { return None };
    let of_repeat = matches!(action.repeat, Repeat::Each { .. }).then_some("each");
    let of_share = action.share.filter(|share| *share < 1.0).map(|_| "share");
    of_share.or(action.when.as_ref().map(|_| "when")).or(of_repeat)
}

/// One order of steps: of a journey or of a preparation.
#[derive(Debug)]
pub(super) struct Sequence {
    /// What messages call it.
    pub(super) title: String,
    pub(super) steps: Vec<Step>,
}

/// The captures of an arm with what its operations are called.
pub(super) struct Captures<'a> {
    pub(super) all: &'a [NamedCapture],
    pub(super) operations: &'a [String],
}

impl Captures<'_> {
    /// What the operation at this place may refer to, and what it may not.
    pub(super) fn of(
        &self,
        operation: usize,
        sequences: &[&Sequence],
    ) -> (Vec<VisibleCapture>, Vec<HiddenCapture>) {
        let (mut visible, mut hidden) = (Vec::new(), Vec::new());
        for capture in self.all {
            match self.obstacle(operation, capture, sequences) {
                None => visible.push(VisibleCapture {
                    name: capture.name.clone(),
                    place: capture.place,
                    is_list: capture.is_list,
                }),
                Some((why, hint)) => {
                    hidden.push(HiddenCapture { name: capture.name.clone(), why, hint });
                }
            }
        }
        (visible, hidden)
    }

    /// Why a capture may have no value where the operation is performed, and what to do.
    fn obstacle(
        &self,
        operation: usize,
        capture: &NamedCapture,
        sequences: &[&Sequence],
    ) -> Option<(String, String)> {
        if sequences.is_empty() {
            let why = format!("`{}` is a step of no journey", self.operations[operation]);
            return Some((why, "name it in the `steps` of a [[journey]]".to_owned()));
        }
        sequences.iter().find_map(|sequence| {
            let performs = |step: &Step| step.operations().contains(&operation);
            let places = (0..sequence.steps.len()).filter(|at| performs(&sequence.steps[*at]));
            let mut obstacles = places.filter_map(|at| self.at(sequence, at, operation, capture));
            obstacles.next()
        })
    }

    /// The same at one step.
    fn at(
        &self,
        sequence: &Sequence,
        at: usize,
        operation: usize,
        capture: &NamedCapture,
    ) -> Option<(String, String)> {
        let (before, step) = (&sequence.steps[..at], &sequence.steps[at]);
        let (title, own) = (&sequence.title, &self.operations[operation]);
        let other = &self.operations[capture.operation];
        let provision = provision(before, capture.operation);
        if provision == Provision::Always || self.needs(step, capture.operation) {
            return None;
        }
        if let Provision::Perhaps(key) = provision {
            let why = format!("{title} may skip `{other}`, since its step has `{key}`");
            let hint =
                format!("skip this one as well: {{ do = \"{own}\", when = \"{}\" }}", capture.name);
            return Some((why, hint));
        }
        let move_it = format!("let {title} perform `{other}` before `{own}`");
        if operation == capture.operation {
            let why = format!("`{own}` is what captures it");
            return Some((why, "refer to what an earlier step captured".to_owned()));
        }
        if step.operations().contains(&capture.operation) {
            return Some((format!("{title} performs `{other}` at the same time"), move_it));
        }
        let is_later =
            sequence.steps[at..].iter().any(|step| step.operations().contains(&capture.operation));
        let why = if is_later {
            format!("{title} performs `{other}` later")
        } else {
            format!("{title} does not perform `{other}`")
        };
        Some((why, move_it))
    }

    /// Whether a step is performed only where this operation has been.
    fn needs(&self, step: &Step, operation: usize) -> bool {
        let Step::Do(Action { repeat, when, .. }) = step else { return false };
        let is_of_it = |place: usize| {
            self.all.iter().any(|one| one.place == place && one.operation == operation)
        };
        let condition = when.as_ref().filter(|when| !matches!(when.test, Test::IsNot(_)));
        let list = match repeat {
            Repeat::Each { capture, .. } => Some(*capture),
            _ => None,
        };
        condition.is_some_and(|when| is_of_it(when.capture)) || list.is_some_and(is_of_it)
    }
}
