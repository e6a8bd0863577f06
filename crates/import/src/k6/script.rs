//! What a script declares: its modules, functions, constants, options and metrics.

use std::collections::{BTreeSet, HashMap};

use super::constant::{Constant, Globals};
use super::tree::{self, Expr, Function, Import, Kind, Pattern, Stmt, StmtKind};

/// A script of k6.
pub(super) struct Script<'t> {
    pub text: &'t str,
    pub tree: &'t [Stmt],
    /// Local names of what modules give.
    pub imports: HashMap<&'t str, &'t Import>,
    pub functions: HashMap<&'t str, &'t Function>,
    pub globals: Globals<'t>,
    /// What each user performs, unless a scenario names another function.
    pub default: Option<&'t Function>,
    pub options: Option<Constant>,
}

/// A metric that the script makes.
pub(super) struct Metric<'t> {
    /// Its name, if that is known.
    pub name: Option<String>,
    /// The variable that holds it.
    pub variable: &'t str,
    pub at: tree::At,
}

/// Classes of metrics.
const METRICS: [&str; 4] = ["Counter", "Gauge", "Rate", "Trend"];

impl<'t> Script<'t> {
    /// Reads the declarations.
    pub fn new(text: &'t str, tree: &'t [Stmt]) -> Self {
        let mut script = Self {
            text,
            tree,
            imports: HashMap::new(),
            functions: HashMap::new(),
            globals: Globals::default(),
            default: None,
            options: None,
        };
        let mut exported = Vec::new();
        for statement in tree {
            script.declare(statement, &mut exported);
        }
        for (local, name) in exported {
            let function = script.functions.get(local).copied();
            match name {
                "default" => script.default = function,
                "options" => {
                    let value = script.globals.names.get(local).copied();
                    if let Some(value) = value {
                        script.globals.names.insert("options", value);
                    }
                }
                _ => {
                    if let Some(function) = function {
                        script.functions.insert(name, function);
                    }
                }
            }
        }
        script.options =
            script.globals.names.get("options").map(|one| Constant::of(one, &script.globals));
        script
    }

    fn declare(&mut self, statement: &'t Stmt, exported: &mut Vec<(&'t str, &'t str)>) {
        match &statement.kind {
            StmtKind::Import(imports) => {
                self.imports.extend(imports.iter().map(|one| (one.local.as_str(), one)));
            }
            StmtKind::Let(bindings) => {
                for (pattern, value) in bindings {
                    let (Pattern::Name(name), Some(value)) = (pattern, value) else { continue };
                    if let Some(function) = value.function() {
                        self.functions.insert(name, function);
                    }
                    self.globals.names.insert(name, value);
                }
            }
            StmtKind::Function(name, function) => {
                self.functions.insert(name, function);
            }
            StmtKind::Default(function) => self.default = Some(function),
            StmtKind::Export(names) => {
                exported.extend(names.iter().map(|(local, name)| (local.as_str(), name.as_str())));
            }
            _ => {}
        }
    }

    /// What a path such as `http.get` is called in its module: `("k6/http", "get")`.
    pub fn imported(&self, path: &[&'t str]) -> Option<(&'t str, &'t str)> {
        let import = *self.imports.get(path.first()?)?;
        let module = import.module.as_str();
        match (import.imported.as_str(), path) {
            ("default" | "*", [_, name]) => Some((module, name)),
            ("default" | "*", [_]) => Some((module, "default")),
            (name, [_]) => Some((module, name)),
            _ => None,
        }
    }

    /// Whether the call is of this function of a module.
    pub fn is_call(&self, one: &'t Expr, module: &str, name: &str) -> bool {
        let Kind::Call(callee, _) = &one.kind else { return false };
        callee.path().and_then(|path| self.imported(&path)) == Some((module, name))
    }

    /// The function that a scenario performs.
    pub fn performed(&self, name: &str) -> Option<&'t Function> {
        match name {
            "default" => self.default,
            name => self.functions.get(name).copied(),
        }
    }

    /// The metrics that it makes.
    pub fn metrics(&self) -> Vec<Metric<'t>> {
        let made = self.globals.names.iter().filter_map(|(variable, value)| {
            let Kind::New(class, arguments) = &value.kind else { return None };
            let path = class.path()?;
            let (module, class) = self.imported(&path)?;
            let name = arguments.first().map(|one| Constant::of(one, &self.globals));
            let name = name.and_then(|name| name.text().map(str::to_owned));
            (module == "k6/metrics" && METRICS.contains(&class)).then_some(Metric {
                name,
                variable,
                at: value.at.clone(),
            })
        });
        let mut made: Vec<Metric<'t>> = made.collect();
        made.sort_by_key(|metric| metric.at.start);
        made
    }

    /// Whether parts of it may be in files that are not read.
    pub fn has_own_modules(&self) -> bool {
        let is_own = |import: &&Import| {
            !(import.module == "k6" || import.module.starts_with("k6/"))
                || import.module.starts_with("k6/x/")
        };
        self.imports
            .values()
            .copied()
            .any(|import| is_own(&import) && !import.module.contains("jslib.k6.io"))
    }

    /// The functions that are performed when this one is, with itself.
    pub fn reached(&self, first: &'t Function) -> Vec<&'t Function> {
        let mut reached = vec![first];
        let mut seen: BTreeSet<usize> = BTreeSet::from([first.at.start]);
        let mut next = 0;
        while let Some(function) = reached.get(next).copied() {
            let mut called = Vec::new();
            tree::walk(&function.body, &mut |one| {
                if let Kind::Call(callee, _) = &one.kind
                    && let Kind::Name(name) = &callee.kind
                {
                    called.extend(self.functions.get(name.as_str()).copied());
                }
            });
            reached.extend(called.into_iter().filter(|one| seen.insert(one.at.start)));
            next += 1;
        }
        reached
    }
}
