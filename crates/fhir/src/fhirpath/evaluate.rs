//! What an expression says of a place in a resource.

use std::borrow::Cow;
use std::fmt;

use smallvec::{SmallVec, smallvec};

use super::context::EvaluationContext;
use super::node::Nodes;
use super::parse::{Call, ExpressionStep, Operator, Variable};
use super::{Node, NodeKind};
use crate::codes;
use crate::json::Json;

/// The values are not what the expression asks of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvaluationError(pub &'static str);

impl fmt::Display for EvaluationError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

/// A value that came up.
#[derive(Clone, Debug)]
enum Item<'a> {
    Node(Node<'a>),
    Boolean(bool),
    Number(f64),
    Text(Cow<'a, str>),
}

/// A collection, which is what every term gives.
#[derive(Clone, Debug, Default)]
pub(super) struct Items<'a>(SmallVec<[Item<'a>; 2]>);

impl<'a> From<Node<'a>> for Items<'a> {
    fn from(node: Node<'a>) -> Self {
        Items(smallvec![Item::Node(node)])
    }
}

impl<'a> From<Item<'a>> for Items<'a> {
    fn from(item: Item<'a>) -> Self {
        Items(smallvec![item])
    }
}

impl From<Option<bool>> for Items<'_> {
    fn from(truth: Option<bool>) -> Self {
        Items(truth.map(Item::Boolean).into_iter().collect())
    }
}

type Evaluated<T> = std::result::Result<T, EvaluationError>;

const ONE_EXPECTED: EvaluationError = EvaluationError("several values where one is expected");
const TOO_MANY: EvaluationError = EvaluationError("too many values to look at");

impl EvaluationError {
    /// Whether all expressions on the resource look at more than they may.
    pub fn is_too_costly(self) -> bool {
        self == TOO_MANY
    }
}

pub(super) struct Evaluation<'a> {
    pub context: EvaluationContext<'a>,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(context: EvaluationContext<'a>) -> Evaluation<'a> {
        Evaluation { context }
    }

    /// Counts values that are looked at.
    fn spend(&self, steps: usize) -> Evaluated<()> {
        if self.context.shared.spend(steps) { Ok(()) } else { Err(TOO_MANY) }
    }

    fn spend_pairs(&self, left: &Items, right: &Items) -> Evaluated<()> {
        self.spend(left.0.len().saturating_mul(right.0.len()))
    }

    /// The same values, each once.
    fn distinct(&self, items: Items<'a>) -> Evaluated<Items<'a>> {
        self.spend_pairs(&items, &items)?;
        let mut out = Items::default();
        for item in items.0 {
            if !out.has(&item) {
                out.0.push(item);
            }
        }
        Ok(out)
    }

    /// True, false or nothing: one value that is no boolean counts as true.
    pub(super) fn truth(&self, term: &'a ExpressionStep, input: &Items<'a>) -> Evaluated<Option<bool>> {
        match term {
            ExpressionStep::Binary { operator, left, right } if operator.is_logical() => {
                self.logical(*operator, left, right, input)
            }
            ExpressionStep::Call { on: Some(on), call: Call::Exists(None) } => self.exists(on, input).map(Some),
            ExpressionStep::Call { on: Some(on), call: Call::Empty } => {
                self.exists(on, input).map(|exists| Some(!exists))
            }
            term => truth(&self.term(term, input)?),
        }
    }

    /// The elements among the values of a term.
    pub(super) fn elements(&self, term: &'a ExpressionStep, input: &Items<'a>) -> Evaluated<Vec<Node<'a>>> {
        Ok(self.term(term, input)?.0.iter().filter_map(Item::node).collect())
    }

    /// Whether a term gives anything. Most invariants ask only this of a plain member, which need not be made for it.
    fn exists(&self, term: &'a ExpressionStep, input: &Items<'a>) -> Evaluated<bool> {
        match (term, input.0.as_slice()) {
            (ExpressionStep::Member { on: None, name }, [Item::Node(node)])
                if name.starts_with(|first: char| first.is_lowercase()) =>
            {
                Ok(node.has_child(name))
            }
            _ => Ok(!self.term(term, input)?.0.is_empty()),
        }
    }

    fn term(&self, term: &'a ExpressionStep, input: &Items<'a>) -> Evaluated<Items<'a>> {
        self.spend(1 + input.0.len())?;
        Ok(match term {
            ExpressionStep::Text(text) => Item::Text(Cow::Borrowed(text)).into(),
            ExpressionStep::Number(number) => Item::Number(*number).into(),
            ExpressionStep::Boolean(truth) => Item::Boolean(*truth).into(),
            ExpressionStep::Nothing => Items::default(),
            ExpressionStep::This => input.clone(),
            ExpressionStep::Variable(variable) => match variable {
                Variable::Context => self.context.focus.into(),
                Variable::Resource => self.context.resource.into(),
                Variable::RootResource => self.context.root.into(),
                Variable::Ucum => Item::Text(Cow::Borrowed("http://unitsofmeasure.org")).into(),
            },
            ExpressionStep::Member { on, name } => self.member(on.as_deref(), name, input)?,
            ExpressionStep::Call { on, call } => self.call(&self.on(on.as_deref(), input)?, call)?,
            ExpressionStep::Index { on, at } => {
                let index = number(&self.term(at, input)?)?;
                let Items(mut items) = self.term(on, input)?;
                let index = index.map(|index| index as usize).filter(|index| *index < items.len());
                Items(index.map(|index| items.swap_remove(index)).into_iter().collect())
            }
            ExpressionStep::TypeTest { on, name, keeps } => {
                let items = self.term(on, input)?;
                match items.0.as_slice() {
                    [] => Items::default(),
                    [item] if *keeps => Items(item.is(name).then(|| item.clone()).into_iter().collect()),
                    [item] => Item::Boolean(item.is(name)).into(),
                    _ => return Err(ONE_EXPECTED),
                }
            }
            ExpressionStep::Binary { operator, left, right } => self.binary(*operator, left, right, input)?,
            ExpressionStep::Negative(of) => match number(&self.term(of, input)?)? {
                Some(number) => Item::Number(-number).into(),
                None => Items::default(),
            },
        })
    }

    fn on(&self, on: Option<&'a ExpressionStep>, input: &Items<'a>) -> Evaluated<Items<'a>> {
        match on {
            Some(on) => self.term(on, input),
            None => Ok(input.clone()),
        }
    }

    fn member(&self, on: Option<&'a ExpressionStep>, name: &str, input: &Items<'a>) -> Evaluated<Items<'a>> {
        let owned;
        let items = match on {
            Some(on) => {
                owned = self.term(on, input)?;
                &owned
            }
            None => input,
        };
        let mut out = SmallVec::new();
        for item in &items.0 {
            let Item::Node(node) = item else { continue };
            // The name of its own type stands for the value itself, first in a path.
            if on.is_none() && name.starts_with(|first: char| first.is_ascii_uppercase()) && node.is(name) {
                out.push(*node);
            } else {
                node.children_named(name, &mut out);
            }
        }
        self.spend(out.len())?;
        Ok(Items(out.into_iter().map(Item::Node).collect()))
    }

    fn call(&self, input: &Items<'a>, call: &'a Call) -> Evaluated<Items<'a>> {
        let items = &input.0;
        let each = |item: &Item<'a>, test: &'a ExpressionStep| self.truth(test, &item.clone().into());
        let boolean = |truth: bool| Ok(Item::Boolean(truth).into());
        let text_of = |term: &'a ExpressionStep| text(&self.term(term, input)?);
        Ok(match call {
            Call::Empty => return boolean(items.is_empty()),
            Call::Exists(None) => return boolean(!items.is_empty()),
            Call::Exists(Some(test)) => {
                for item in items {
                    if each(item, test)? == Some(true) {
                        return boolean(true);
                    }
                }
                return boolean(false);
            }
            Call::All(test) => {
                for item in items {
                    if each(item, test)? != Some(true) {
                        return boolean(false);
                    }
                }
                return boolean(true);
            }
            Call::AllTrue => return boolean(items.iter().all(|item| item.boolean() == Some(true))),
            Call::AllFalse => return boolean(items.iter().all(|item| item.boolean() == Some(false))),
            Call::Where(test) => {
                let mut kept = SmallVec::new();
                for item in items {
                    if each(item, test)? == Some(true) {
                        kept.push(item.clone());
                    }
                }
                Items(kept)
            }
            Call::Select(of) => {
                let mut out = SmallVec::new();
                for item in items {
                    let found = self.term(of, &item.clone().into())?.0;
                    self.spend(found.len())?;
                    out.extend(found);
                }
                Items(out)
            }
            Call::Repeat(step) => {
                let (mut out, mut open) = (SmallVec::new(), items.clone());
                while let Some(item) = open.pop() {
                    let found = self.term(step, &item.into())?.0;
                    self.spend(found.len() + 1)?;
                    open.extend(found.iter().cloned());
                    out.extend(found);
                }
                Items(out)
            }
            Call::Children => {
                let mut out = SmallVec::new();
                items.iter().filter_map(Item::node).for_each(|node| node.children(&mut out));
                Items(out.into_iter().map(Item::Node).collect())
            }
            Call::Descendants => {
                let mut open: Nodes = items.iter().filter_map(Item::node).collect();
                let mut out = SmallVec::new();
                while let Some(node) = open.pop() {
                    let before = open.len();
                    node.children(&mut open);
                    self.spend(open.len() - before)?;
                    out.extend(open[before..].iter().copied().map(Item::Node));
                }
                Items(out)
            }
            Call::Count => Item::Number(items.len() as f64).into(),
            Call::First => Items(items.first().cloned().into_iter().collect()),
            Call::Tail => Items(items.iter().skip(1).cloned().collect()),
            Call::Distinct => self.distinct(input.clone())?,
            Call::IsDistinct => return boolean(self.distinct(input.clone())?.0.len() == items.len()),
            Call::Combine(other) => {
                let other = self.term(other, &self.context.focus.into())?;
                Items(items.iter().cloned().chain(other.0).collect())
            }
            Call::Intersect(other) => {
                let other = self.term(other, &self.context.focus.into())?;
                self.spend_pairs(input, &other)?;
                self.distinct(Items(items.iter().filter(|item| other.has(item)).cloned().collect()))?
            }
            Call::Not => truth(input)?.map(|truth| !truth).into(),
            Call::HasValue => return boolean(matches!(items.as_slice(), [item] if item.has_value())),
            Call::OfType(name) => Items(items.iter().filter(|item| item.is(name)).cloned().collect()),
            Call::Iif(test, then, otherwise) => match (self.truth(test, input)?, otherwise) {
                (Some(true), _) => self.term(then, input)?,
                (_, Some(otherwise)) => self.term(otherwise, input)?,
                (_, None) => Items::default(),
            },
            Call::Resolve => Items(items.iter().filter_map(|item| self.resolve(item)).map(Item::Node).collect()),
            Call::Trace => input.clone(),
            Call::MemberOf(value_set) => {
                let code = text(input)?;
                code.map(|code| codes::of(value_set).is_some_and(|codes| codes.has_code(&code))).into()
            }
            Call::StartsWith(part) => on_texts(text(input)?, text_of(part)?, |text, part| text.starts_with(part)),
            Call::EndsWith(part) => on_texts(text(input)?, text_of(part)?, |text, part| text.ends_with(part)),
            Call::Contains(part) => on_texts(text(input)?, text_of(part)?, |text, part| text.contains(part)),
            Call::Matches(pattern) => text(input)?.map(|text| pattern.0.is_match(&text)).into(),
            Call::ReplaceMatches(pattern, by) => match (text(input)?, text_of(by)?) {
                (Some(text), Some(by)) => {
                    Item::Text(Cow::Owned(pattern.0.replace_all(&text, by.as_ref()).into_owned())).into()
                }
                _ => Items::default(),
            },
            Call::Length => match text(input)? {
                Some(text) => Item::Number(text.chars().count() as f64).into(),
                None => Items::default(),
            },
            Call::Substring(start, length) => {
                let start = number(&self.term(start, input)?)?;
                let length = match length {
                    Some(length) => number(&self.term(length, input)?)?,
                    None => Some(f64::INFINITY),
                };
                match (text(input)?, start, length) {
                    (Some(text), Some(start), Some(length)) if start >= 0.0 && (start as usize) < text.len().max(1) => {
                        let part = text.chars().skip(start as usize).take(length.max(0.0) as usize).collect();
                        Item::Text(Cow::Owned(part)).into()
                    }
                    _ => Items::default(),
                }
            }
            Call::ToInteger => {
                let whole = text(input)?.and_then(|text| text.parse::<i64>().ok());
                Items(whole.map(|whole| Item::Number(whole as f64)).into_iter().collect())
            }
            Call::ToString => Items(text(input)?.map(Item::Text).into_iter().collect()),
        })
    }

    /// What a reference inside the same root leads to. What lies outside cannot be asked.
    fn resolve(&self, item: &Item<'a>) -> Option<Node<'a>> {
        let node = item.node()?;
        let reference = match node.kind {
            NodeKind::Primitive(_) => node.text()?,
            _ => node.value?.text("reference")?,
        };
        match reference.strip_prefix('#')? {
            "" => Some(self.context.root),
            id => self.context.shared.contained.get(id).copied().map(Node::resource),
        }
    }

    fn logical(
        &self,
        operator: Operator,
        left: &'a ExpressionStep,
        right: &'a ExpressionStep,
        input: &Items<'a>,
    ) -> Evaluated<Option<bool>> {
        use Operator::*;
        let left = self.truth(left, input)?;
        // What the left side decides alone is not asked again.
        match (operator, left) {
            (And, Some(false)) => return Ok(Some(false)),
            (Or, Some(true)) | (Implies, Some(false)) => return Ok(Some(true)),
            _ => {}
        }
        let right = self.truth(right, input)?;
        Ok(match operator {
            And => match (left, right) {
                (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Xor => left.zip(right).map(|(left, right)| left != right),
            _ => match (left, right) {
                (_, Some(true)) => Some(true),
                (Some(_), right) if operator == Implies => right,
                (Some(false), right) => right,
                _ => None,
            },
        })
    }

    fn binary(
        &self,
        operator: Operator,
        left: &'a ExpressionStep,
        right: &'a ExpressionStep,
        input: &Items<'a>,
    ) -> Evaluated<Items<'a>> {
        use Operator::*;
        if operator.is_logical() {
            return self.logical(operator, left, right, input).map(Items::from);
        }
        let (left, right) = (self.term(left, input)?, self.term(right, input)?);
        self.spend_pairs(&left, &right)?;
        Ok(match operator {
            Equal => equal(&left, &right).into(),
            NotEqual => equal(&left, &right).map(|equal| !equal).into(),
            In => within(&left, &right)?,
            Contains => within(&right, &left)?,
            Union => self.distinct(Items(left.0.into_iter().chain(right.0).collect()))?,
            Less => order(&left, &right, std::cmp::Ordering::is_lt)?,
            LessOrEqual => order(&left, &right, std::cmp::Ordering::is_le)?,
            Greater => order(&left, &right, std::cmp::Ordering::is_gt)?,
            GreaterOrEqual => order(&left, &right, std::cmp::Ordering::is_ge)?,
            Add | Subtract => match (number(&left)?, number(&right)?) {
                (Some(left), Some(right)) if operator == Add => Item::Number(left + right).into(),
                (Some(left), Some(right)) => Item::Number(left - right).into(),
                _ => Items::default(),
            },
            // A missing text joins as an empty one.
            Join => {
                let (left, right) = (text(&left)?.unwrap_or_default(), text(&right)?.unwrap_or_default());
                Item::Text(Cow::Owned(format!("{left}{right}"))).into()
            }
            And | Or | Xor | Implies => Items::default(),
        })
    }
}

impl<'a> Item<'a> {
    fn node(&self) -> Option<Node<'a>> {
        if let Item::Node(node) = self { Some(*node) } else { None }
    }

    fn boolean(&self) -> Option<bool> {
        match self {
            Item::Boolean(truth) => Some(*truth),
            Item::Node(Node { value: Some(Json::Bool(truth)), .. }) => Some(*truth),
            _ => None,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Item::Number(number) => Some(*number),
            Item::Node(Node { value: Some(Json::Number(digits)), .. }) => digits.parse().ok(),
            _ => None,
        }
    }

    fn text(&self) -> Option<Cow<'a, str>> {
        match self {
            Item::Text(text) => Some(text.clone()),
            Item::Number(number) => Some(Cow::Owned(number.to_string())),
            Item::Boolean(truth) => Some(Cow::Borrowed(if *truth { "true" } else { "false" })),
            Item::Node(Node { value: Some(Json::Bool(truth)), .. }) => {
                Some(Cow::Borrowed(if *truth { "true" } else { "false" }))
            }
            Item::Node(node) => node.text().map(Cow::Borrowed),
        }
    }

    /// A primitive value that is there.
    fn has_value(&self) -> bool {
        match self {
            Item::Node(node) => matches!(node.kind, NodeKind::Primitive(_)) && node.value.is_some(),
            _ => true,
        }
    }

    fn is(&self, name: &str) -> bool {
        match self {
            Item::Node(node) => node.is(name),
            Item::Boolean(_) => name.eq_ignore_ascii_case("boolean"),
            Item::Number(_) => matches!(name, "decimal" | "Decimal" | "integer" | "Integer"),
            Item::Text(_) => name.eq_ignore_ascii_case("string"),
        }
    }

    fn equals(&self, other: &Item) -> bool {
        if let (Some(left), Some(right)) = (self.number(), other.number()) {
            return left == right;
        }
        match (self.text(), other.text()) {
            (Some(left), Some(right)) => left == right,
            (None, None) => match (self.node(), other.node()) {
                (Some(Node { value: Some(left), .. }), Some(Node { value: Some(right), .. })) => left.equals(right),
                _ => false,
            },
            _ => false,
        }
    }
}

impl<'a> Items<'a> {
    fn has(&self, wanted: &Item) -> bool {
        self.0.iter().any(|item| item.equals(wanted))
    }
}

fn truth(items: &Items) -> Evaluated<Option<bool>> {
    match items.0.as_slice() {
        [] => Ok(None),
        [item] => Ok(Some(item.boolean().unwrap_or(true))),
        _ => Err(ONE_EXPECTED),
    }
}

fn number(items: &Items) -> Evaluated<Option<f64>> {
    match items.0.as_slice() {
        [] => Ok(None),
        [item] => item.number().map(Some).ok_or(EvaluationError("a number is expected")),
        _ => Err(ONE_EXPECTED),
    }
}

fn text<'a>(items: &Items<'a>) -> Evaluated<Option<Cow<'a, str>>> {
    match items.0.as_slice() {
        [] => Ok(None),
        // A value that is missing but for an extension has no text.
        [item] => Ok(item.text()),
        _ => Err(ONE_EXPECTED),
    }
}

fn on_texts<'a>(text: Option<Cow<str>>, part: Option<Cow<str>>, test: impl Fn(&str, &str) -> bool) -> Items<'a> {
    text.zip(part).map(|(text, part)| test(&text, &part)).into()
}

/// Nothing where one side is nothing; else of the same values in the same order.
fn equal(left: &Items, right: &Items) -> Option<bool> {
    if left.0.is_empty() || right.0.is_empty() {
        return None;
    }
    Some(left.0.len() == right.0.len() && left.0.iter().zip(&right.0).all(|(left, right)| left.equals(right)))
}

fn within<'a>(item: &Items<'a>, all: &Items<'a>) -> Evaluated<Items<'a>> {
    match item.0.as_slice() {
        [] => Ok(Items::default()),
        [item] => Ok(Some(all.has(item)).into()),
        _ => Err(ONE_EXPECTED),
    }
}

fn order<'a>(left: &Items, right: &Items, test: impl Fn(std::cmp::Ordering) -> bool) -> Evaluated<Items<'a>> {
    let (left, right) = match (left.0.as_slice(), right.0.as_slice()) {
        ([], _) | (_, []) => return Ok(Items::default()),
        ([left], [right]) => (left, right),
        _ => return Err(ONE_EXPECTED),
    };
    let order = match (left.number(), right.number()) {
        (Some(left), Some(right)) => left.partial_cmp(&right),
        (None, None) => left.text().zip(right.text()).map(|(left, right)| left.cmp(&right)),
        _ => None,
    };
    let order = order.ok_or(EvaluationError("two values that have no order"))?;
    Ok(Some(test(order)).into())
}
