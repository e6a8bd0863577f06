//! From the tree of oxc to ours.

use oxc_ast::ast;
use oxc_span::{GetSpan, Span};

use super::tree::{At, Entry, Expr, Function, Import, Kind, Name, Pattern, Stmt, StmtKind};

fn at(span: Span) -> At {
    span.start as usize..span.end as usize
}

/// The statements of a list.
pub(super) fn statements(list: &[ast::Statement<'_>]) -> Vec<Stmt> {
    list.iter().map(statement).collect()
}

fn statement(one: &ast::Statement<'_>) -> Stmt {
    use ast::Statement as S;
    let kind = match one {
        S::ExpressionStatement(one) => StmtKind::Expr(expression(&one.expression)),
        S::BlockStatement(one) => StmtKind::Block(statements(&one.body)),
        S::IfStatement(one) => {
            let otherwise = one.alternate.as_ref().map(body).unwrap_or_default();
            StmtKind::If(expression(&one.test), body(&one.consequent), otherwise)
        }
        S::ForStatement(one) => counted(one),
        S::ForOfStatement(one) => each(one),
        S::ForInStatement(one) => StmtKind::Loop(Some(expression(&one.right)), body(&one.body)),
        S::WhileStatement(one) => StmtKind::Loop(Some(expression(&one.test)), body(&one.body)),
        S::DoWhileStatement(one) => StmtKind::Loop(Some(expression(&one.test)), body(&one.body)),
        S::SwitchStatement(one) => {
            let inner = one.cases.iter().flat_map(|case| statements(&case.consequent));
            StmtKind::Loop(Some(expression(&one.discriminant)), inner.collect())
        }
        S::LabeledStatement(one) => StmtKind::Block(body(&one.body)),
        S::TryStatement(one) => {
            let mut inner = statements(&one.block.body);
            inner.extend(one.finalizer.iter().flat_map(|last| statements(&last.body)));
            StmtKind::Block(inner)
        }
        S::ReturnStatement(one) => StmtKind::Return(one.argument.as_ref().map(expression)),
        S::ThrowStatement(_) => StmtKind::Throw,
        S::VariableDeclaration(one) => bindings(one),
        S::FunctionDeclaration(one) => named(one),
        S::ImportDeclaration(one) => StmtKind::Import(imports(one)),
        S::ExportDefaultDeclaration(one) => exported_default(&one.declaration),
        S::ExportDeclaration(one) => match &one.declaration {
            ast::Declaration::VariableDeclaration(one) => bindings(one),
            ast::Declaration::FunctionDeclaration(one) => named(one),
            _ => StmtKind::Other,
        },
        S::ExportNamedDeclaration(one) => {
            let names = one.specifiers.iter();
            StmtKind::Export(
                names
                    .map(|one| (one.local.name().to_string(), one.exported.name().to_string()))
                    .collect(),
            )
        }
        _ => StmtKind::Other,
    };
    Stmt { at: at(one.span()), kind }
}

fn counted(one: &ast::ForStatement<'_>) -> StmtKind {
    let first = match &one.init {
        Some(ast::ForStatementInit::VariableDeclaration(declared)) => {
            vec![Stmt { at: at(declared.span), kind: bindings(declared) }]
        }
        _ => Vec::new(),
    };
    let (test, update) = (one.test.as_ref(), one.update.as_ref());
    StmtKind::For(first, test.map(expression), update.map(expression), body(&one.body))
}

fn each(one: &ast::ForOfStatement<'_>) -> StmtKind {
    let pattern = match &one.left {
        ast::ForStatementLeft::VariableDeclaration(declared) => {
            declared.declarations.first().map(|first| pattern(&first.id))
        }
        _ => None,
    };
    let pattern = pattern.unwrap_or(Pattern::Other);
    StmtKind::ForOf(pattern, expression(&one.right), body(&one.body))
}

/// A statement, or those of a block.
fn body(one: &ast::Statement<'_>) -> Vec<Stmt> {
    match one {
        ast::Statement::BlockStatement(block) => statements(&block.body),
        other => vec![statement(other)],
    }
}

fn bindings(one: &ast::VariableDeclaration<'_>) -> StmtKind {
    let each = one.declarations.iter();
    StmtKind::Let(each.map(|one| (pattern(&one.id), one.init.as_ref().map(expression))).collect())
}

fn named(one: &ast::Function<'_>) -> StmtKind {
    match &one.id {
        Some(id) => StmtKind::Function(id.name.to_string(), function(one)),
        None => StmtKind::Other,
    }
}

fn exported_default(one: &ast::ExportDefaultDeclarationKind<'_>) -> StmtKind {
    if let ast::ExportDefaultDeclarationKind::FunctionDeclaration(one) = one {
        return StmtKind::Default(function(one));
    }
    match one.as_expression().map(expression) {
        Some(Expr { kind: Kind::Function(function), .. }) => StmtKind::Default(function),
        Some(Expr { kind: Kind::Name(name), .. }) => {
            StmtKind::Export(vec![(name, "default".to_owned())])
        }
        _ => StmtKind::Other,
    }
}

fn imports(one: &ast::ImportDeclaration<'_>) -> Vec<Import> {
    use ast::ImportDeclarationSpecifier as I;
    let import = |specifier: &I<'_>| {
        let (local, imported) = match specifier {
            I::ImportSpecifier(one) => (&one.local, one.imported.name().to_string()),
            I::ImportDefaultSpecifier(one) => (&one.local, "default".to_owned()),
            I::ImportNamespaceSpecifier(one) => (&one.local, "*".to_owned()),
        };
        Import { local: local.name.to_string(), imported, module: one.source.value.to_string() }
    };
    one.specifiers.iter().flatten().map(import).collect()
}

fn function(one: &ast::Function<'_>) -> Box<Function> {
    let body = one.body.as_ref().map(|body| statements(&body.statements)).unwrap_or_default();
    Box::new(Function { at: at(one.span), parameters: parameters(&one.params), body })
}

fn arrow(one: &ast::ArrowFunctionExpression<'_>) -> Box<Function> {
    let body = match (&one.body, one.body.as_expression()) {
        (ast::ArrowFunctionBody::FunctionBody(body), _) => statements(&body.statements),
        (_, Some(value)) => {
            let kind = StmtKind::Return(Some(expression(value)));
            vec![Stmt { at: at(value.span()), kind }]
        }
        _ => Vec::new(),
    };
    Box::new(Function { at: at(one.span), parameters: parameters(&one.params), body })
}

fn parameters(one: &ast::FormalParameters<'_>) -> Vec<Pattern> {
    let each = one.items.iter().map(|one| match &one.initializer {
        Some(value) => {
            Pattern::Default(Box::new(pattern(&one.pattern)), Box::new(expression(value)))
        }
        None => pattern(&one.pattern),
    });
    each.collect()
}

fn pattern(one: &ast::BindingPattern<'_>) -> Pattern {
    use ast::BindingPattern as B;
    match one {
        B::BindingIdentifier(one) => Pattern::Name(one.name.to_string()),
        B::ObjectPattern(one) => {
            let each = one.properties.iter();
            let each = each
                .filter_map(|one| Some((one.key.static_name()?.into_owned(), pattern(&one.value))));
            Pattern::Object(each.collect())
        }
        B::ArrayPattern(one) => {
            Pattern::List(one.elements.iter().map(|one| one.as_ref().map(pattern)).collect())
        }
        B::AssignmentPattern(one) => {
            Pattern::Default(Box::new(pattern(&one.left)), Box::new(expression(&one.right)))
        }
    }
}

/// An expression, without parentheses and types.
pub(super) fn expression(one: &ast::Expression<'_>) -> Expr {
    let one = one.get_inner_expression();
    Expr { at: at(one.span()), kind: kind(one) }
}

fn kind(one: &ast::Expression<'_>) -> Kind {
    use ast::Expression as E;
    match one {
        E::NullLiteral(_) => Kind::Null,
        E::BooleanLiteral(one) => Kind::Bool(one.value),
        E::NumericLiteral(one) => Kind::Number(one.value),
        E::StringLiteral(one) => Kind::Text(one.value.to_string()),
        E::RegExpLiteral(one) => Kind::Regex(one.regex.pattern.text.to_string()),
        E::TemplateLiteral(one) => {
            let texts = one
                .quasis
                .iter()
                .map(|one| one.value.cooked.as_ref().unwrap_or(&one.value.raw).to_string());
            Kind::Template(texts.collect(), one.expressions.iter().map(expression).collect())
        }
        E::Identifier(one) => Kind::Name(one.name.to_string()),
        E::ArrayExpression(one) => Kind::List(one.elements.iter().filter_map(element).collect()),
        E::ObjectExpression(one) => Kind::Object(one.properties.iter().map(entry).collect()),
        E::ArrowFunctionExpression(one) => Kind::Function(arrow(one)),
        E::FunctionExpression(one) => Kind::Function(function(one)),
        E::CallExpression(one) => call(one),
        E::NewExpression(one) => {
            Kind::New(Box::new(expression(&one.callee)), arguments(&one.arguments))
        }
        E::AwaitExpression(one) => kind(one.argument.get_inner_expression()),
        E::ChainExpression(one) => match &one.expression {
            ast::ChainElement::CallExpression(one) => call(one),
            ast::ChainElement::TSNonNullExpression(one) => {
                kind(one.expression.get_inner_expression())
            }
            other => other.as_member_expression().map_or(Kind::Other(Vec::new()), member),
        },
        E::ConditionalExpression(one) => {
            let part = |one| Box::new(expression(one));
            Kind::Conditional(part(&one.test), part(&one.consequent), part(&one.alternate))
        }
        E::LogicalExpression(one) => binary(one.operator.as_str(), &one.left, &one.right),
        E::BinaryExpression(one) => binary(one.operator.as_str(), &one.left, &one.right),
        E::UnaryExpression(one) => {
            Kind::Unary(one.operator.as_str(), Box::new(expression(&one.argument)))
        }
        E::UpdateExpression(one) => update(one),
        E::AssignmentExpression(one) => match one.left.get_identifier_name() {
            Some(name) => Kind::Assign(
                name.to_owned(),
                one.operator.as_str(),
                Box::new(expression(&one.right)),
            ),
            None => Kind::Other(vec![expression(&one.right)]),
        },
        E::SequenceExpression(one) => Kind::Other(one.expressions.iter().map(expression).collect()),
        other => other.as_member_expression().map_or(Kind::Other(Vec::new()), member),
    }
}

fn binary(operator: &'static str, left: &ast::Expression<'_>, right: &ast::Expression<'_>) -> Kind {
    Kind::Binary(operator, Box::new(expression(left)), Box::new(expression(right)))
}

/// `i++` is `i += 1`.
fn update(one: &ast::UpdateExpression<'_>) -> Kind {
    let operator = if one.operator.as_str() == "++" { "+=" } else { "-=" };
    match one.argument.get_identifier_name() {
        Some(name) => {
            let step = Expr { at: at(one.span), kind: Kind::Number(1.0) };
            Kind::Assign(name.to_owned(), operator, Box::new(step))
        }
        None => Kind::Other(Vec::new()),
    }
}

fn call(one: &ast::CallExpression<'_>) -> Kind {
    Kind::Call(Box::new(expression(&one.callee)), arguments(&one.arguments))
}

fn member(one: &ast::MemberExpression<'_>) -> Kind {
    let of = Box::new(expression(one.object()));
    match one {
        ast::MemberExpression::ComputedMemberExpression(one) => {
            let name = expression(&one.expression);
            match name.text() {
                Some(text) => Kind::Member(of, text.to_owned()),
                None => Kind::Index(of, Box::new(name)),
            }
        }
        ast::MemberExpression::StaticMemberExpression(one) => {
            Kind::Member(of, one.property.name.to_string())
        }
        ast::MemberExpression::PrivateFieldExpression(_) => Kind::Other(vec![*of]),
    }
}

fn arguments(list: &[ast::Argument<'_>]) -> Vec<Expr> {
    let each = list.iter().filter_map(|one| match one {
        ast::Argument::SpreadElement(one) => Some(spread(one)),
        other => other.as_expression().map(expression),
    });
    each.collect()
}

fn element(one: &ast::ArrayExpressionElement<'_>) -> Option<Expr> {
    match one {
        ast::ArrayExpressionElement::SpreadElement(one) => Some(spread(one)),
        other => other.as_expression().map(expression),
    }
}

fn spread(one: &ast::SpreadElement<'_>) -> Expr {
    Expr { at: at(one.span), kind: Kind::Spread(Box::new(expression(&one.argument))) }
}

fn entry(one: &ast::ObjectPropertyKind<'_>) -> Entry {
    match one {
        ast::ObjectPropertyKind::SpreadProperty(one) => {
            Entry { name: None, value: expression(&one.argument) }
        }
        ast::ObjectPropertyKind::ObjectProperty(one) => {
            let text = match (one.key.static_name(), one.key.as_expression()) {
                (Some(name), _) => Ok(name.into_owned()),
                (None, Some(computed)) => Err(Box::new(expression(computed))),
                (None, None) => Ok(String::new()),
            };
            let name = Name { at: at(one.key.span()), text };
            Entry { name: Some(name), value: expression(&one.value) }
        }
    }
}
