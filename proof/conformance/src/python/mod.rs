//! The assertions between `%{` and `}%`: the part of Python that scripts use
//! on `tcp_info`.
//!
//! `assert`, `print`, assignments, and expressions of numbers, strings, lists
//! and tuples with Python's precedence, chained comparisons, `in`, `and`,
//! `or`, `not`, `x if y else z`, `%` formatting, and the calls `abs`, `min`,
//! `max`, `len`, `int`, `float`, `round`, `str`, `sum`.
//!
//! Out of scope: compound statements (`if`, `for`, `def`), modules, attributes and comprehensions.
//! No known script uses them on `tcp_info`; one that does gets an error with its location. Integers
//! have 128 bits; an overflow is an error.

mod evaluate;
mod lexer;
mod parser;
mod value;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::source::Span;

pub use evaluate::{Failed, Variables};
pub(crate) use parser::parse;
pub use value::Value;

/// Statements in order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// The statements.
    pub statements: Vec<Statement>,
}

/// One statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// Location of the statement.
    pub span: Span,
    /// Kind of the statement.
    pub kind: Kind,
}

/// Kind of a statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    /// `assert test, message`.
    Assert(Expression, Option<Expression>),
    /// `print(a, b)`, `print a, b`.
    Print(Vec<Expression>),
    /// `name = value`.
    Assign(String, Expression),
    /// An expression whose value is not used.
    Bare(Expression),
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Expression {
    /// Location of the expression.
    pub span: Span,
    /// Root of the expression's tree.
    pub node: Box<Node>,
}

/// Kind of an expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Node {
    /// A number, string, `True`, `False`, `None`.
    Constant(Value),
    /// A variable.
    Name(String),
    /// `[a, b]`, `(a, b)`.
    List(Vec<Expression>),
    /// `-a`, `~a`, `not a`, `+a`.
    Unary(&'static str, Expression),
    /// `a + b`.
    Binary(&'static str, Expression, Expression),
    /// `a < b <= c`: the first operand, then operators and operands.
    Compare(Expression, Vec<(&'static str, Expression)>),
    /// `a and b`, `a or b`.
    Logic(&'static str, Expression, Expression),
    /// `a if test else b`: test, a, b.
    Choice(Expression, Expression, Expression),
    /// `f(a, b)`.
    Call(String, Vec<Expression>),
    /// `a[i]`.
    Index(Expression, Expression),
}
