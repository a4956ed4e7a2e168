//! Parser from tokens to statements, with Python's precedence.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::lexer::{Token, tokens};
use super::{Expression, Kind, Node, Program, Statement, Value};
use crate::source::{Mistake, Span};

/// Maximum nesting of brackets and operators; hostile text must not exhaust the stack.
const MAX_DEPTH: u32 = 60;

/// Maximum number of operators in one statement. The tree of a chain is as deep as the chain is
/// long.
const MAX_OPERATORS: u32 = 1000;

/// Binary operators by precedence, lowest first; all are left-associative.
const LEVELS: [&[&str]; 6] = [
    &["|"],
    &["^"],
    &["&"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "//", "/", "%"],
];

/// Parses the statements of `text`, which begins at byte `base` of the script.
pub fn parse(text: &str, base: usize) -> Result<Program, Mistake> {
    let mut parser = Parser {
        tokens: tokens(text, base)?,
        at: 0,
        end: base + text.len(),
        depth: 0,
        operators: 0,
    };
    let mut statements = Vec::new();
    loop {
        while parser.peek() == Some(&Token::End) {
            parser.at += 1;
        }
        if parser.peek().is_none() {
            return Ok(Program { statements });
        }
        statements.push(parser.statement()?);
        if !matches!(parser.peek(), None | Some(Token::End)) {
            return Err(parser.mistake("the end of the statement"));
        }
    }
}

struct Parser {
    tokens: Vec<(Token, Span)>,
    at: usize,
    end: usize,
    depth: u32,
    operators: u32,
}

type Parsed<T> = Result<T, Mistake>;

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn span(&self) -> Span {
        match self.tokens.get(self.at) {
            Some((_, span)) => span.clone(),
            None => self.end..self.end,
        }
    }

    fn mistake(&self, expected: &str) -> Mistake {
        Mistake::new(self.span(), expected)
    }

    fn is_operator(&self, wanted: &str) -> bool {
        matches!(self.peek(), Some(Token::Operator(op)) if *op == wanted)
    }

    fn is_word(&self, wanted: &str) -> bool {
        matches!(self.peek(), Some(Token::Name(name)) if name == wanted)
    }

    fn take_operator(&mut self, wanted: &str) -> bool {
        let found = self.is_operator(wanted);
        self.at += usize::from(found);
        found
    }

    fn take_word(&mut self, wanted: &str) -> bool {
        let found = self.is_word(wanted);
        self.at += usize::from(found);
        found
    }

    /// Consumes one of `operators`, if it is next.
    fn take_one_of(&mut self, operators: &[&'static str]) -> Option<&'static str> {
        operators.iter().copied().find(|op| self.take_operator(op))
    }

    fn expression_of(&self, start: usize, node: Node) -> Expression {
        let end = self.tokens[..self.at]
            .last()
            .map_or(start, |(_, span)| span.end);
        Expression {
            span: start..end.max(start),
            node: Box::new(node),
        }
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let start = self.span().start;
        self.operators = 0;
        let kind = if self.take_word("assert") {
            let test = self.expression()?;
            let message = match self.take_operator(",") {
                true => Some(self.expression()?),
                false => None,
            };
            Kind::Assert(test, message)
        } else if self.take_word("print") {
            Kind::Print(self.print_arguments()?)
        } else {
            self.assignment()?
        };
        let end = self.tokens[..self.at]
            .last()
            .map_or(start, |(_, span)| span.end);
        Ok(Statement {
            span: start..end,
            kind,
        })
    }

    fn print_arguments(&mut self) -> Parsed<Vec<Expression>> {
        if matches!(self.peek(), None | Some(Token::End)) {
            return Ok(Vec::new());
        }
        let first = self.expression()?;
        let mut all = match *first.node {
            // `print(a, b)` is parsed as a tuple, `print()` as an empty one.
            Node::List(parts) => parts,
            _ => Vec::from([first]),
        };
        while self.take_operator(",") {
            all.push(self.expression()?);
        }
        Ok(all)
    }

    fn assignment(&mut self) -> Parsed<Kind> {
        let is_name = matches!(self.peek(), Some(Token::Name(_)));
        let follows = self.tokens.get(self.at + 1).map(|(token, _)| token.clone());
        if let (true, Some(Token::Operator(op))) = (is_name, follows) {
            let operator = match op {
                "=" => Some(None),
                "+=" | "-=" | "*=" | "|=" | "&=" => Some(op.get(..1)),
                _ => None,
            };
            if let Some(operator) = operator {
                return self.assign(operator);
            }
        }
        Ok(Kind::Bare(self.expression()?))
    }

    fn assign(&mut self, operator: Option<&'static str>) -> Parsed<Kind> {
        let start = self.span().start;
        let name = self.name()?;
        let old = self.expression_of(start, Node::Name(name.clone()));
        self.at += 1;
        let value = self.expression()?;
        let value = match operator {
            None => value,
            Some(op) => self.expression_of(start, Node::Binary(op, old, value)),
        };
        Ok(Kind::Assign(name, value))
    }

    fn name(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(Token::Name(name)) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.mistake("a name")),
        }
    }

    /// Parses `a if test else b`, or an expression of higher precedence.
    fn expression(&mut self) -> Parsed<Expression> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.mistake("fewer brackets inside one another"));
        }
        let start = self.span().start;
        let mut found = self.logic("or")?;
        if self.take_word("if") {
            let test = self.logic("or")?;
            if !self.take_word("else") {
                return Err(self.mistake("`else`"));
            }
            let other = self.expression()?;
            found = self.expression_of(start, Node::Choice(test, found, other));
        }
        self.depth -= 1;
        Ok(found)
    }

    fn logic(&mut self, word: &'static str) -> Parsed<Expression> {
        let start = self.span().start;
        let tighter = |parser: &mut Self| match word {
            "or" => parser.logic("and"),
            _ => parser.negation(),
        };
        let mut left = tighter(self)?;
        while self.take_word(word) {
            self.count_operator()?;
            let right = tighter(self)?;
            left = self.expression_of(start, Node::Logic(word, left, right));
        }
        Ok(left)
    }

    fn count_operator(&mut self) -> Parsed<()> {
        self.operators += 1;
        match self.operators > MAX_OPERATORS {
            true => Err(self.mistake("fewer operators in one statement")),
            false => Ok(()),
        }
    }

    fn negation(&mut self) -> Parsed<Expression> {
        let start = self.span().start;
        let mut negated = None;
        while self.take_word("not") {
            negated = Some(!negated.unwrap_or(false));
        }
        let mut found = self.comparison()?;
        // `not not a` is the truth value of a, as is any even number of negations.
        let times = negated.map_or(0, |odd| if odd { 1 } else { 2 });
        for _ in 0..times {
            found = self.expression_of(start, Node::Unary("not", found));
        }
        Ok(found)
    }

    fn comparison(&mut self) -> Parsed<Expression> {
        let start = self.span().start;
        let first = self.level(0)?;
        let mut rest = Vec::new();
        while let Some(op) = self.comparator()? {
            rest.push((op, self.level(0)?));
        }
        Ok(match rest.is_empty() {
            true => first,
            false => self.expression_of(start, Node::Compare(first, rest)),
        })
    }

    fn comparator(&mut self) -> Parsed<Option<&'static str>> {
        if let Some(op) = self.take_one_of(&["==", "!=", "<=", ">=", "<", ">"]) {
            return Ok(Some(op));
        }
        if self.take_word("in") {
            return Ok(Some("in"));
        }
        if self.take_word("is") {
            return Ok(Some(if self.take_word("not") { "!=" } else { "==" }));
        }
        if self.take_word("not") {
            return match self.take_word("in") {
                true => Ok(Some("not in")),
                false => Err(self.mistake("`in`")),
            };
        }
        Ok(None)
    }

    fn level(&mut self, level: usize) -> Parsed<Expression> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let start = self.span().start;
        let mut left = self.level(level + 1)?;
        while let Some(op) = self.take_one_of(operators) {
            self.count_operator()?;
            let right = self.level(level + 1)?;
            left = self.expression_of(start, Node::Binary(op, left, right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expression> {
        let start = self.span().start;
        if let Some(op) = self.take_one_of(&["-", "+", "~"]) {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(self.mistake("fewer signs in a row"));
            }
            let operand = self.unary()?;
            self.depth -= 1;
            return Ok(self.expression_of(start, Node::Unary(op, operand)));
        }
        let base = self.postfix()?;
        if self.take_operator("**") {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(self.mistake("fewer powers in a row"));
            }
            let exponent = self.unary()?;
            self.depth -= 1;
            return Ok(self.expression_of(start, Node::Binary("**", base, exponent)));
        }
        Ok(base)
    }

    fn postfix(&mut self) -> Parsed<Expression> {
        let start = self.span().start;
        let mut found = self.primary()?;
        while self.take_operator("[") {
            self.count_operator()?;
            let index = self.expression()?;
            self.close("]")?;
            found = self.expression_of(start, Node::Index(found, index));
        }
        Ok(found)
    }

    fn close(&mut self, bracket: &str) -> Parsed<()> {
        match self.take_operator(bracket) {
            true => Ok(()),
            false => Err(self.mistake(match bracket {
                ")" => "`)` or `,`",
                _ => "`]` or `,`",
            })),
        }
    }

    fn primary(&mut self) -> Parsed<Expression> {
        let start = self.span().start;
        let Some(token) = self.peek().cloned() else {
            return Err(self.mistake("an expression"));
        };
        self.at += 1;
        let node = match token {
            Token::Int(n) => Node::Constant(Value::Int(n)),
            Token::Float(x) => Node::Constant(Value::Float(x)),
            Token::Text(text) => Node::Constant(Value::Text(text)),
            Token::Name(name) => self.named(name)?,
            Token::Operator("(") => return self.parenthesised(start),
            Token::Operator("[") => Node::List(self.list("]")?.0),
            _ => {
                self.at -= 1;
                return Err(self.mistake("an expression"));
            }
        };
        Ok(self.expression_of(start, node))
    }

    fn named(&mut self, name: String) -> Parsed<Node> {
        Ok(match name.as_str() {
            "True" => Node::Constant(Value::Bool(true)),
            "False" => Node::Constant(Value::Bool(false)),
            "None" => Node::Constant(Value::None),
            _ if self.take_operator("(") => Node::Call(name, self.list(")")?.0),
            _ => Node::Name(name),
        })
    }

    fn parenthesised(&mut self, start: usize) -> Parsed<Expression> {
        let (mut parts, has_comma) = self.list(")")?;
        if parts.len() == 1 && !has_comma {
            return Ok(parts.remove(0));
        }
        Ok(self.expression_of(start, Node::List(parts)))
    }

    /// Parses expressions up to `bracket`; returns them and whether there was a comma.
    fn list(&mut self, bracket: &str) -> Parsed<(Vec<Expression>, bool)> {
        let mut all = Vec::new();
        let mut has_comma = false;
        while !self.take_operator(bracket) {
            all.push(self.expression()?);
            if !self.take_operator(",") {
                self.close(bracket)?;
                break;
            }
            has_comma = true;
        }
        Ok((all, has_comma))
    }
}
