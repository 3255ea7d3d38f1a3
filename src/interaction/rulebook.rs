//! What certificates are judged by: namespaces, profiles, and the code lists of the moment.

use std::sync::Arc;

use super::Lists;
use crate::certificate::Names;
use crate::profile::{ProfileError, Validator};
use crate::terminology::Terminology;

/// Everything that the checks of a certificate stand on.
pub struct Rulebook {
    names: Names,
    validator: Validator,
    lists: Arc<Lists>,
}

/// What one certificate is judged by.
#[derive(Clone)]
pub struct Standard<'r> {
    pub names: &'r Names,
    pub validator: &'r Validator,
    pub terminology: Arc<Terminology>,
}

impl Rulebook {
    /// Reads the profiles.
    ///
    /// # Errors
    /// One uses something that cannot be checked.
    pub fn new(names: Names, lists: Arc<Lists>) -> Result<Rulebook, ProfileError> {
        Ok(Rulebook { validator: Validator::new(&names)?, names, lists })
    }

    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The code lists of this moment.
    pub fn terminology(&self) -> Arc<Terminology> {
        self.lists.current()
    }

    /// All of it as it is at this moment.
    pub fn now(&self) -> Standard<'_> {
        Standard { names: &self.names, validator: &self.validator, terminology: self.lists.current() }
    }

    /// The code lists, for commands that change them.
    pub fn lists(&self) -> &Arc<Lists> {
        &self.lists
    }
}
