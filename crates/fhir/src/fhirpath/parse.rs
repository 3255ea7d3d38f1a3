//! From text to terms: a lexer and a parser by precedence.

use std::fmt;
use std::iter::Peekable;

use crate::codes;
use crate::element;
use crate::primitive::Primitive;

/// One step of an expression. A missing `on` is the input of the step.
#[derive(Debug)]
pub(super) enum ExpressionStep {
    Text(String),
    Number(f64),
    Boolean(bool),
    /// `{}`
    Nothing,
    /// `$this`
    This,
    Variable(Variable),
    Member {
        on: Option<Box<ExpressionStep>>,
        name: String,
    },
    Call {
        on: Option<Box<ExpressionStep>>,
        call: Call,
    },
    Index {
        on: Box<ExpressionStep>,
        at: Box<ExpressionStep>,
    },
    TypeTest {
        on: Box<ExpressionStep>,
        name: String,
        keeps: bool,
    },
    Binary {
        operator: Operator,
        left: Box<ExpressionStep>,
        right: Box<ExpressionStep>,
    },
    Negative(Box<ExpressionStep>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    Context,
    Resource,
    RootResource,
    Ucum,
}

/// A function with its arguments.
#[derive(Debug)]
pub(super) enum Call {
    All(Box<ExpressionStep>),
    AllFalse,
    AllTrue,
    Children,
    Combine(Box<ExpressionStep>),
    /// Of a text; the operator `contains` is another thing.
    Contains(Box<ExpressionStep>),
    Count,
    Descendants,
    Distinct,
    Empty,
    EndsWith(Box<ExpressionStep>),
    Exists(Option<Box<ExpressionStep>>),
    First,
    HasValue,
    Iif(Box<ExpressionStep>, Box<ExpressionStep>, Option<Box<ExpressionStep>>),
    Intersect(Box<ExpressionStep>),
    IsDistinct,
    Length,
    Matches(Pattern),
    MemberOf(String),
    Not,
    OfType(String),
    Repeat(Box<ExpressionStep>),
    ReplaceMatches(Pattern, Box<ExpressionStep>),
    Resolve,
    Select(Box<ExpressionStep>),
    StartsWith(Box<ExpressionStep>),
    Substring(Box<ExpressionStep>, Option<Box<ExpressionStep>>),
    Tail,
    ToInteger,
    ToString,
    Trace,
    Where(Box<ExpressionStep>),
}

/// A regular expression, compiled with the expression that holds it.
#[derive(Debug)]
pub(super) struct Pattern(pub regex::Regex);

#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Implies, Or, Xor, And, In, Contains, Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual, Union, Add, Subtract, Join,
}

impl Operator {
    /// Whether it joins truths.
    pub(super) fn is_logical(self) -> bool {
        matches!(self, Operator::And | Operator::Or | Operator::Xor | Operator::Implies)
    }

    /// How tightly it binds; `is` and `as` stand at 8.
    fn precedence(self) -> u8 {
        use Operator::*;
        match self {
            Implies => 1,
            Or | Xor => 2,
            And => 3,
            In | Contains => 4,
            Equal | NotEqual => 5,
            Less | LessOrEqual | Greater | GreaterOrEqual => 6,
            Union => 7,
            Add | Subtract | Join => 9,
        }
    }

    fn of(token: &ExpressionToken) -> Option<Operator> {
        use Operator::*;
        Some(match token {
            ExpressionToken::Name(name) => match name.as_str() {
                "implies" => Implies,
                "or" => Or,
                "xor" => Xor,
                "and" => And,
                "in" => In,
                "contains" => Contains,
                _ => return None,
            },
            ExpressionToken::Sign(sign) => match *sign {
                "=" => Equal,
                "!=" => NotEqual,
                "<" => Less,
                "<=" => LessOrEqual,
                ">" => Greater,
                ">=" => GreaterOrEqual,
                "|" => Union,
                "+" => Add,
                "-" => Subtract,
                "&" => Join,
                _ => return None,
            },
            _ => return None,
        })
    }
}

const TYPE_TEST_PRECEDENCE: u8 = 8;

/// Terms inside terms; a limit, since the parser calls itself.
const DEPTH_MAX: usize = 64;

#[derive(Clone, Debug, PartialEq)]
enum ExpressionToken {
    Name(String),
    Text(String),
    Number(f64),
    /// `$this`, `%resource`
    Special(String),
    Sign(&'static str),
}

/// Longer ones first.
const SIGNS: [&str; 20] =
    ["<=", ">=", "!=", "(", ")", "[", "]", "{", "}", ".", ",", "=", "<", ">", "|", "+", "-", "&", "*", "/"];

pub(super) fn parse(text: &str) -> Result<ExpressionStep, ExpressionError> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), end: text.len(), depth: 0 };
    let term = parser.expression(0)?;
    match parser.tokens.next() {
        None => Ok(term),
        Some((token, at)) => Err(ExpressionError { problem: format!("{token:?} stands behind the end"), at }),
    }
}

fn tokens(text: &str) -> Result<Vec<(ExpressionToken, usize)>, ExpressionError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (token, length) = match first {
            ' ' | '\t' | '\r' | '\n' => {
                at += 1;
                continue;
            }
            // R5's own invariants write a text between double quotation marks too.
            '\'' | '"' | '`' => {
                let (quoted, length) = quoted(rest, first).map_err(|problem| ExpressionError { problem, at })?;
                (if first == '`' { ExpressionToken::Name(quoted) } else { ExpressionToken::Text(quoted) }, length)
            }
            '$' | '%' => {
                let length = 1 + word(&rest[1..]);
                (ExpressionToken::Special(rest[..length].to_owned()), length)
            }
            '0'..='9' => {
                let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
                let mut length = digits(rest);
                if rest[length..].starts_with('.') && digits(&rest[length + 1..]) > 0 {
                    length += 1 + digits(&rest[length + 1..]);
                }
                (ExpressionToken::Number(rest[..length].parse().expect("digits are a number")), length)
            }
            _ if first.is_ascii_alphabetic() || first == '_' => {
                let length = word(rest);
                (ExpressionToken::Name(rest[..length].to_owned()), length)
            }
            _ => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => (ExpressionToken::Sign(sign), sign.len()),
                None => return Err(ExpressionError { problem: format!("'{first}' is not known"), at }),
            },
        };
        tokens.push((token, at));
        at += length;
    }
    Ok(tokens)
}

fn word(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}

/// The text between quotation marks, and the bytes it takes with them.
fn quoted(text: &str, mark: char) -> Result<(String, usize), String> {
    let mut out = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            _ if character == mark => return Ok((out, at + 1)),
            '\\' => match characters.next().map(|(_, escaped)| escaped) {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some(escaped @ ('\\' | '\'' | '"' | '`' | '/')) => out.push(escaped),
                // R5's own patterns escape more than the language knows (`'\*'`), and mean the pattern's escape.
                Some(escaped) => out.extend(['\\', escaped]),
                None => break,
            },
            _ => out.push(character),
        }
    }
    Err("a text has no end".to_owned())
}

struct Parser<I: Iterator<Item = (ExpressionToken, usize)>> {
    tokens: Peekable<I>,
    end: usize,
    depth: usize,
}

impl<I: Iterator<Item = (ExpressionToken, usize)>> Parser<I> {
    fn expression(&mut self, least: u8) -> Result<ExpressionStep, ExpressionError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error("the expression nests too deep"));
        }
        let mut left = self.path()?;
        while let Some((token, _)) = self.tokens.peek() {
            let keeps = *token == ExpressionToken::Name("as".into());
            if (keeps || *token == ExpressionToken::Name("is".into())) && TYPE_TEST_PRECEDENCE >= least {
                self.tokens.next();
                let name = self.type_name()?;
                left = ExpressionStep::TypeTest { on: Box::new(left), name, keeps };
                continue;
            }
            let Some(operator) = Operator::of(token).filter(|operator| operator.precedence() >= least) else { break };
            self.tokens.next();
            let right = self.expression(operator.precedence() + 1)?;
            left = ExpressionStep::Binary { operator, left: Box::new(left), right: Box::new(right) };
        }
        self.depth -= 1;
        Ok(left)
    }

    fn path(&mut self) -> Result<ExpressionStep, ExpressionError> {
        let mut term = self.first()?;
        loop {
            if self.takes(".") {
                let (token, at) = self.next()?;
                let ExpressionToken::Name(name) = token else {
                    return Err(ExpressionError { problem: "a name is missing behind the dot".to_owned(), at });
                };
                term = self.step(Some(Box::new(term)), name, at)?;
            } else if self.takes("[") {
                let index = self.expression(0)?;
                self.expect("]")?;
                term = ExpressionStep::Index { on: Box::new(term), at: Box::new(index) };
            } else {
                return Ok(term);
            }
        }
    }

    fn first(&mut self) -> Result<ExpressionStep, ExpressionError> {
        let (token, at) = self.next()?;
        Ok(match token {
            ExpressionToken::Text(text) => ExpressionStep::Text(text),
            ExpressionToken::Number(number) => ExpressionStep::Number(number),
            ExpressionToken::Name(name) if name == "true" => ExpressionStep::Boolean(true),
            ExpressionToken::Name(name) if name == "false" => ExpressionStep::Boolean(false),
            ExpressionToken::Name(name) => self.step(None, name, at)?,
            ExpressionToken::Special(name) => match name.as_str() {
                "$this" => ExpressionStep::This,
                "%context" => ExpressionStep::Variable(Variable::Context),
                "%resource" => ExpressionStep::Variable(Variable::Resource),
                "%rootResource" => ExpressionStep::Variable(Variable::RootResource),
                "%ucum" => ExpressionStep::Variable(Variable::Ucum),
                _ => return Err(ExpressionError { problem: format!("the variable {name} is not known"), at }),
            },
            ExpressionToken::Sign("(") => {
                let inner = self.expression(0)?;
                self.expect(")")?;
                inner
            }
            ExpressionToken::Sign("{") => {
                self.expect("}")?;
                ExpressionStep::Nothing
            }
            ExpressionToken::Sign("-") => ExpressionStep::Negative(Box::new(self.path()?)),
            ExpressionToken::Sign(sign) => {
                return Err(ExpressionError { problem: format!("'{sign}' stands first"), at });
            }
        })
    }

    /// A member, or a function where a parenthesis follows.
    fn step(
        &mut self,
        on: Option<Box<ExpressionStep>>,
        name: String,
        at: usize,
    ) -> Result<ExpressionStep, ExpressionError> {
        if !self.takes("(") {
            return Ok(ExpressionStep::Member { on, name });
        }
        if matches!(name.as_str(), "ofType" | "is" | "as") {
            let type_name = self.type_name()?;
            self.expect(")")?;
            let call = Call::OfType(type_name.clone());
            return Ok(match name.as_str() {
                "is" => ExpressionStep::TypeTest {
                    on: Box::new(on.map_or(ExpressionStep::This, |on| *on)),
                    name: type_name,
                    keeps: false,
                },
                _ => ExpressionStep::Call { on, call },
            });
        }
        let mut arguments = Vec::new();
        if !self.takes(")") {
            loop {
                arguments.push(self.expression(0)?);
                if self.takes(")") {
                    break;
                }
                self.expect(",")?;
            }
        }
        let count = arguments.len();
        let call = call(&name, arguments).map_err(|problem| ExpressionError { problem, at })?;
        let call = call.ok_or_else(|| ExpressionError {
            problem: format!("the function {name} with {count} arguments is not known"),
            at,
        })?;
        Ok(ExpressionStep::Call { on, call })
    }

    /// `Observation`, `FHIR.Observation`, `System.String`
    fn type_name(&mut self) -> Result<String, ExpressionError> {
        let (token, at) = self.next()?;
        let ExpressionToken::Name(mut name) = token else {
            return Err(ExpressionError { problem: "a type is missing".to_owned(), at });
        };
        if matches!(name.as_str(), "FHIR" | "System") && self.takes(".") {
            let (token, at) = self.next()?;
            let ExpressionToken::Name(inner) = token else {
                return Err(ExpressionError { problem: "a type is missing".to_owned(), at });
            };
            name = inner;
        }
        let known = element::of(&name).is_some() || Primitive::of(&name).is_some();
        if known { Ok(name) } else { Err(ExpressionError { problem: format!("the type {name} is not known"), at }) }
    }

    fn next(&mut self) -> Result<(ExpressionToken, usize), ExpressionError> {
        self.tokens
            .next()
            .ok_or_else(|| ExpressionError { problem: "the expression ends too early".into(), at: self.end })
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.tokens.next_if(|(token, _)| matches!(token, ExpressionToken::Sign(found) if *found == sign)).is_some()
    }

    fn expect(&mut self, sign: &str) -> Result<(), ExpressionError> {
        if self.takes(sign) { Ok(()) } else { Err(self.error(&format!("'{sign}' is missing"))) }
    }

    fn error(&mut self, problem: &str) -> ExpressionError {
        let at = self.tokens.peek().map_or(self.end, |(_, at)| *at);
        ExpressionError { problem: problem.to_owned(), at }
    }
}

/// The function of a name and its arguments; nothing when there is no such one.
///
/// # Errors
/// A pattern or a value set that the function cannot work with.
fn call(name: &str, arguments: Vec<ExpressionStep>) -> Result<Option<Call>, String> {
    let mut arguments = arguments.into_iter().map(Box::new);
    let given = (arguments.next(), arguments.next(), arguments.next());
    if arguments.next().is_some() {
        return Ok(None);
    }
    Ok(Some(match (name, given) {
        ("all", (Some(test), None, None)) => Call::All(test),
        ("allFalse", (None, ..)) => Call::AllFalse,
        ("allTrue", (None, ..)) => Call::AllTrue,
        ("children", (None, ..)) => Call::Children,
        ("combine", (Some(other), None, None)) => Call::Combine(other),
        ("contains", (Some(part), None, None)) => Call::Contains(part),
        ("count", (None, ..)) => Call::Count,
        ("descendants", (None, ..)) => Call::Descendants,
        ("distinct", (None, ..)) => Call::Distinct,
        ("empty", (None, ..)) => Call::Empty,
        ("endsWith", (Some(part), None, None)) => Call::EndsWith(part),
        ("exists", (test, None, None)) => Call::Exists(test),
        ("first", (None, ..)) => Call::First,
        ("hasValue", (None, ..)) => Call::HasValue,
        ("iif", (Some(test), Some(then), otherwise)) => Call::Iif(test, then, otherwise),
        ("intersect", (Some(other), None, None)) => Call::Intersect(other),
        ("isDistinct", (None, ..)) => Call::IsDistinct,
        ("length", (None, ..)) => Call::Length,
        ("matches", (Some(pattern), None, None)) => Call::Matches(compile(&pattern)?),
        ("memberOf", (Some(value_set), None, None)) => match *value_set {
            ExpressionStep::Text(address) if codes::of(&address).is_some() => Call::MemberOf(address),
            _ => return Err("memberOf knows the value sets of R5's required bindings only".to_owned()),
        },
        ("not", (None, ..)) => Call::Not,
        ("repeat", (Some(step), None, None)) => Call::Repeat(step),
        ("replaceMatches", (Some(pattern), Some(by), None)) => Call::ReplaceMatches(compile(&pattern)?, by),
        ("resolve", (None, ..)) => Call::Resolve,
        ("select", (Some(of), None, None)) => Call::Select(of),
        ("startsWith", (Some(part), None, None)) => Call::StartsWith(part),
        ("substring", (Some(start), length, None)) => Call::Substring(start, length),
        ("tail", (None, ..)) => Call::Tail,
        ("toInteger", (None, ..)) => Call::ToInteger,
        ("toString", (None, ..)) => Call::ToString,
        ("trace", (Some(_), _, None)) => Call::Trace,
        ("where", (Some(test), None, None)) => Call::Where(test),
        _ => return Ok(None),
    }))
}

fn compile(pattern: &ExpressionStep) -> Result<Pattern, String> {
    let ExpressionStep::Text(pattern) = pattern else { return Err("a pattern must be a plain text".to_owned()) };
    regex::Regex::new(pattern).map(Pattern).map_err(|error| format!("the pattern {pattern} cannot be used: {error}"))
}

/// Why an expression cannot be used: what was found, and where it stands (byte from 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// What was found, in English.
    pub problem: String,
    /// Where it stands in the expression, in bytes from 0.
    pub at: usize,
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{} at byte {}", self.problem, self.at)
    }
}
