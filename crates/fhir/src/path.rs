//! Where a walk stands. Steps are numbers and names that live as long as the process, so a walk that finds nothing builds no text.

use std::fmt::Write;

/// The path from a resource to the element where a walk stands, with the index in each list.
#[derive(Debug, Default)]
pub struct Path {
    steps: Vec<PathStep>,
}

#[derive(Debug)]
struct PathStep {
    name: &'static str,
    index: Option<usize>,
}

/// Bytes of an unknown element's name that an expression may hold; R5's longest name has 34.
const NAME_BYTES_MAX: usize = 64;

impl Path {
    /// Begins at a resource.
    pub fn open(&mut self, resource_type: &'static str) {
        self.enter(resource_type);
    }

    /// Goes down to the child element `name`, without an index.
    pub fn enter(&mut self, name: &'static str) {
        self.steps.push(PathStep { name, index: None });
    }

    /// Sets the index of the step entered last.
    pub fn at(&mut self, index: usize) {
        if let Some(step) = self.steps.last_mut() {
            step.index = Some(index);
        }
    }

    /// Speaks of the whole list again.
    pub fn whole(&mut self) {
        if let Some(step) = self.steps.last_mut() {
            step.index = None;
        }
    }

    /// Goes back up to the parent element.
    pub fn leave(&mut self) {
        self.steps.pop();
    }

    /// The element where the walk stands: `entry`.
    pub fn name(&self) -> &'static str {
        self.steps.last().map_or("", |step| step.name)
    }

    /// `Composition.section[2].entry[0]`
    pub fn expression(&self) -> String {
        let mut text = String::new();
        for (at, step) in self.steps.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            match step.index {
                Some(index) => write!(text, "{dot}{}[{index}]", step.name),
                None => write!(text, "{dot}{}", step.name),
            }
            .expect("a String takes everything");
        }
        text
    }

    /// The expression of a member that R5 does not know; the element that holds it when its name is no FHIRPath name.
    pub fn with_unknown(&self, name: &str) -> String {
        let mut text = self.expression();
        if is_name(name) {
            text.push('.');
            text.push_str(name);
        }
        text
    }
}

/// Whether an expression may hold the name of an element that R5 may not know.
pub fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.starts_with(|first: char| first.is_ascii_digit())
}
