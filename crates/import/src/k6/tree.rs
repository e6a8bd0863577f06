//! A script as a tree that owns its texts: what a reader of k6 scripts needs of JavaScript, without types and parentheses.
//!
//! Not here: what it means.

use std::ops::Range;

/// Where something stands, in bytes of the script.
pub(super) type At = Range<usize>;

/// An expression.
#[derive(Debug)]
pub(super) struct Expr {
    pub at: At,
    pub kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Regex(String),
    /// Texts, and what stands between them.
    Template(Vec<String>, Vec<Expr>),
    Name(String),
    List(Vec<Expr>),
    Object(Vec<Entry>),
    Spread(Box<Expr>),
    Member(Box<Expr>, String),
    Index(Box<Expr>, Box<Expr>),
    Call(Box<Expr>, Vec<Expr>),
    New(Box<Expr>, Vec<Expr>),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A name, an operator, and a value.
    Assign(String, &'static str, Box<Expr>),
    Function(Box<Function>),
    /// Anything else, with what it is made of.
    Other(Vec<Expr>),
}

/// An entry of an object.
#[derive(Debug)]
pub(super) struct Entry {
    /// `None` for `...value`.
    pub name: Option<Name>,
    pub value: Expr,
}

/// The name of an entry.
#[derive(Debug)]
pub(super) struct Name {
    pub at: At,
    /// A computed one is an expression.
    pub text: Result<String, Box<Expr>>,
}

/// What a declaration or a parameter binds.
#[derive(Debug)]
pub(super) enum Pattern {
    Name(String),
    /// Names of entries, and what they are bound to.
    Object(Vec<(String, Pattern)>),
    List(Vec<Option<Pattern>>),
    Default(Box<Pattern>, Box<Expr>),
    Other,
}

/// A function, an arrow function or a method.
#[derive(Debug)]
pub(super) struct Function {
    pub at: At,
    pub parameters: Vec<Pattern>,
    pub body: Vec<Stmt>,
}

/// A statement.
#[derive(Debug)]
pub(super) struct Stmt {
    pub at: At,
    pub kind: StmtKind,
}

#[derive(Debug)]
pub(super) enum StmtKind {
    Let(Vec<(Pattern, Option<Expr>)>),
    Expr(Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `for (init; test; update) body`
    For(Vec<Stmt>, Option<Expr>, Option<Expr>, Vec<Stmt>),
    ForOf(Pattern, Expr, Vec<Stmt>),
    /// Any other loop, and branches of `switch`.
    Loop(Option<Expr>, Vec<Stmt>),
    Block(Vec<Stmt>),
    Return(Option<Expr>),
    Throw,
    Function(String, Box<Function>),
    Import(Vec<Import>),
    /// `export default`
    Default(Box<Function>),
    /// `export { local as exported }`
    Export(Vec<(String, String)>),
    Other,
}

/// A name that comes from a module.
#[derive(Debug)]
pub(super) struct Import {
    pub local: String,
    /// `default`, `*`, or what the module calls it.
    pub imported: String,
    pub module: String,
}

impl Expr {
    /// The text, if it is one without anything computed.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            Kind::Template(texts, between) if between.is_empty() => {
                texts.first().map(String::as_str)
            }
            _ => None,
        }
    }

    /// The names of `a.b.c`.
    pub fn path(&self) -> Option<Vec<&str>> {
        match &self.kind {
            Kind::Name(name) => Some(vec![name]),
            Kind::Member(of, name) => {
                let mut path = of.path()?;
                path.push(name);
                Some(path)
            }
            _ => None,
        }
    }

    /// The function, if it is one.
    pub fn function(&self) -> Option<&Function> {
        match &self.kind {
            Kind::Function(function) => Some(function),
            _ => None,
        }
    }

    /// The expressions that it is made of; what is within functions is not among them.
    pub fn parts(&self) -> Vec<&Expr> {
        match &self.kind {
            Kind::Template(_, parts) | Kind::List(parts) | Kind::Other(parts) => {
                parts.iter().collect()
            }
            Kind::Object(entries) => entries.iter().map(|entry| &entry.value).collect(),
            Kind::Spread(one)
            | Kind::Member(one, _)
            | Kind::Unary(_, one)
            | Kind::Assign(_, _, one) => vec![one],
            Kind::Index(first, second) | Kind::Binary(_, first, second) => vec![first, second],
            Kind::Conditional(first, second, third) => vec![first, second, third],
            Kind::Call(callee, arguments) | Kind::New(callee, arguments) => {
                std::iter::once(&**callee).chain(arguments).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// A part of a tree.
#[derive(Clone, Copy)]
pub(super) enum Node<'t> {
    Stmt(&'t Stmt),
    Expr(&'t Expr),
}

/// Shows every expression of the statements to `see`, those within functions as well.
pub(super) fn walk<'t>(body: &'t [Stmt], see: &mut dyn FnMut(&'t Expr)) {
    walk_nodes(body, &mut |node| {
        if let Node::Expr(one) = node {
            see(one);
        }
    });
}

/// Shows every statement and expression to `see`, those within functions as well.
pub(super) fn walk_nodes<'t>(body: &'t [Stmt], see: &mut dyn FnMut(Node<'t>)) {
    for statement in body {
        see(Node::Stmt(statement));
        walk_statement(statement, see);
    }
}

fn walk_statement<'t>(statement: &'t Stmt, see: &mut dyn FnMut(Node<'t>)) {
    match &statement.kind {
        StmtKind::Let(bindings) => {
            let values = bindings.iter().filter_map(|(_, value)| value.as_ref());
            values.for_each(|one| within(one, see));
        }
        StmtKind::Expr(one) => within(one, see),
        StmtKind::If(test, then, otherwise) => {
            within(test, see);
            walk_nodes(then, see);
            walk_nodes(otherwise, see);
        }
        StmtKind::For(first, test, update, body) => {
            walk_nodes(first, see);
            test.iter().chain(update).for_each(|one| within(one, see));
            walk_nodes(body, see);
        }
        StmtKind::ForOf(_, list, body) => {
            within(list, see);
            walk_nodes(body, see);
        }
        StmtKind::Loop(test, body) => {
            test.iter().for_each(|one| within(one, see));
            walk_nodes(body, see);
        }
        StmtKind::Block(body) => walk_nodes(body, see),
        StmtKind::Return(value) => value.iter().for_each(|one| within(one, see)),
        StmtKind::Function(_, function) | StmtKind::Default(function) => {
            walk_nodes(&function.body, see);
        }
        StmtKind::Throw | StmtKind::Import(_) | StmtKind::Export(_) | StmtKind::Other => {}
    }
}

fn within<'t>(one: &'t Expr, see: &mut dyn FnMut(Node<'t>)) {
    see(Node::Expr(one));
    if let Kind::Function(function) = &one.kind {
        walk_nodes(&function.body, see);
    }
    one.parts().into_iter().for_each(|part| within(part, see));
}
