//! Statements: what is performed, in which order, and under which condition.

use super::{
    Converter, DEEPEST_CALL, Expr, Flow, Function, HashMap, Kind, Pattern, Stmt, StmtKind, Value,
};

/// Rounds of a loop that are written one after the other.
const MOST_ROUNDS: usize = 100;

impl<'t> Converter<'t, '_> {
    /// Performs a function with these arguments; what it returns.
    pub(super) fn call(&mut self, function: &'t Function, arguments: Vec<Value<'t>>) -> Value<'t> {
        if self.calls >= DEEPEST_CALL {
            self.note(&function.at, "calls within calls are not followed further");
            return Value::Unknown;
        }
        self.calls += 1;
        self.frames.push(HashMap::new());
        let mut arguments = arguments.into_iter();
        for parameter in &function.parameters {
            let value = arguments.next().unwrap_or(Value::Nothing);
            self.destructure(parameter, value);
        }
        let flow = self.statements(&function.body);
        self.frames.pop();
        self.calls -= 1;
        match flow {
            Flow::Returned(value) => value,
            Flow::On => Value::Nothing,
        }
    }

    pub(super) fn statements(&mut self, body: &'t [Stmt]) -> Flow<'t> {
        for statement in body {
            if let Flow::Returned(value) = self.statement(statement) {
                return Flow::Returned(value);
            }
        }
        Flow::On
    }

    fn block(&mut self, body: &'t [Stmt]) -> Flow<'t> {
        self.frames.push(HashMap::new());
        let flow = self.statements(body);
        self.frames.pop();
        flow
    }

    pub(super) fn statement(&mut self, statement: &'t Stmt) -> Flow<'t> {
        match &statement.kind {
            StmtKind::Let(bindings) => {
                for (pattern, value) in bindings {
                    let value = value.as_ref().map_or(Value::Nothing, |value| self.value(value));
                    self.destructure(pattern, value);
                }
            }
            StmtKind::Expr(one) => {
                self.value(one);
            }
            StmtKind::Function(name, function) => self.bind(name, Value::Function(function)),
            StmtKind::Block(body) => return self.block(body),
            StmtKind::Return(value) => {
                let value = value.as_ref().map_or(Value::Nothing, |value| self.value(value));
                return Flow::Returned(value);
            }
            StmtKind::Throw => return Flow::Returned(Value::Nothing),
            StmtKind::If(test, then, otherwise) => return self.branch(test, then, otherwise),
            StmtKind::For(..) => return self.counted(statement),
            StmtKind::ForOf(pattern, list, body) => {
                let list = self.value(list);
                return self.each(statement, pattern, list, body);
            }
            StmtKind::Loop(_, body) if self.performs(body) => {
                let what = "a loop or a switch is left out: when it ends is not known";
                self.note(&statement.at, what);
            }
            _ => {}
        }
        Flow::On
    }

    fn branch(&mut self, test: &'t Expr, then: &'t [Stmt], otherwise: &'t [Stmt]) -> Flow<'t> {
        if let Kind::Binary("<" | "<=", left, right) = &test.kind
            && let (Value::Drawn(low, high), Some(bound)) =
                (self.value(left), self.value(right).number())
        {
            return self.drawn(test, (bound - low) / (high - low), then, otherwise);
        }
        let value = self.value(test);
        if let Some(is) = value.truth() {
            return self.block(if is { then } else { otherwise });
        }
        match (self.performs(then), self.performs(otherwise)) {
            (false, false) => {}
            // What the answer must be for this is what it must be to succeed.
            (true, false) if self.expect(test) => return self.block(then),
            (false, true) if matches!(&test.kind, Kind::Unary("!", inner) if self.expect(inner)) => {
                return self.block(otherwise);
            }
            (performs, _) => {
                let (which, performed) = match performs {
                    true => ("what it guards", then),
                    false => ("what comes after `else`", otherwise),
                };
                let what = format!(
                    "the condition {} is left out: {which} is always performed",
                    self.quoted(&test.at)
                );
                self.note(&test.at, what);
                return self.unless_returned(performed);
            }
        }
        Flow::On
    }

    /// What may be performed does not end the function.
    fn unless_returned(&mut self, body: &'t [Stmt]) -> Flow<'t> {
        self.block(body);
        Flow::On
    }

    /// A branch that a part of the journeys takes.
    fn drawn(
        &mut self,
        test: &'t Expr,
        share: f64,
        then: &'t [Stmt],
        otherwise: &'t [Stmt],
    ) -> Flow<'t> {
        let before = (self.steps.len(), self.share);
        let outer = before.1.unwrap_or(1.0);
        let share = share.clamp(0.0, 1.0);
        for (body, share) in [(then, share), (otherwise, 1.0 - share)] {
            if share > 0.0 {
                self.share = Some(outer * share);
                self.block(body);
            }
        }
        self.share = before.1;
        let added = self.steps.get(before.0..).unwrap_or_default();
        if added.len() > 1 {
            self.note(&test.at, "each step behind a draw is drawn on its own");
        }
        Flow::On
    }

    fn counted(&mut self, statement: &'t Stmt) -> Flow<'t> {
        let StmtKind::For(first, test, update, body) = &statement.kind else { return Flow::On };
        if !self.performs(body) {
            return Flow::On;
        }
        self.frames.push(HashMap::new());
        self.statements(first);
        let mut flow = Flow::On;
        for round in 0..=MOST_ROUNDS {
            let goes_on = test.as_ref().map_or(Value::Unknown, |test| self.value(test)).truth();
            match goes_on {
                Some(false) => break,
                Some(true) if round < MOST_ROUNDS => {}
                _ => {
                    self.note(
                        &statement.at,
                        "a loop is left out from here on: when it ends is not known",
                    );
                    break;
                }
            }
            if let Flow::Returned(value) = self.block(body) {
                flow = Flow::Returned(value);
                break;
            }
            update.iter().for_each(|update| drop(self.value(update)));
        }
        self.frames.pop();
        flow
    }

    fn each(
        &mut self,
        statement: &'t Stmt,
        pattern: &'t Pattern,
        list: Value<'t>,
        body: &'t [Stmt],
    ) -> Flow<'t> {
        let Value::List(items) = list else {
            if self.performs(body) {
                self.note(&statement.at, "a loop is left out: its list is not known");
            }
            return Flow::On;
        };
        for item in items.into_iter().take(MOST_ROUNDS) {
            self.frames.push(HashMap::new());
            self.destructure(pattern, item);
            let flow = self.statements(body);
            self.frames.pop();
            if let Flow::Returned(value) = flow {
                return Flow::Returned(value);
            }
        }
        Flow::On
    }

    /// Whether something is performed there that an experiment can have.
    fn performs(&self, body: &'t [Stmt]) -> bool {
        let mut performs = false;
        super::super::tree::walk(body, &mut |one| {
            let Kind::Call(callee, _) = &one.kind else { return };
            let path = callee.path().unwrap_or_default();
            performs |= match self.script.imported(&path) {
                Some(("k6/http", _)) => true,
                Some(_) => false,
                None => {
                    matches!(path.as_slice(), [name] if self.script.functions.contains_key(name))
                }
            };
        });
        performs
    }

    pub(super) fn destructure(&mut self, pattern: &'t Pattern, value: Value<'t>) {
        match pattern {
            Pattern::Name(name) => self.bind(name, value),
            Pattern::Object(names) => {
                for (name, inner) in names {
                    let part = self.member(value.clone(), name);
                    self.destructure(inner, part);
                }
            }
            Pattern::List(patterns) => {
                for (at, inner) in patterns.iter().enumerate() {
                    let Some(inner) = inner else { continue };
                    let part = self.member(value.clone(), &at.to_string());
                    self.destructure(inner, part);
                }
            }
            Pattern::Default(inner, otherwise) => {
                let value = match value {
                    Value::Nothing => self.value(otherwise),
                    value => value,
                };
                self.destructure(inner, value);
            }
            Pattern::Other => {}
        }
    }
}
