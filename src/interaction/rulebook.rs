//! The rules that certificates are checked against: namespaces, profiles, and the code lists of the moment.

use std::sync::Arc;

use super::Lists;
use certificate::Names;
use certificate::terminology::Terminology;
use certificate::validation::Validator;
use engine::Engine;

/// Everything that the checks of a certificate need.
pub struct Rulebook {
    names: Names,
    validator: Validator,
    lists: Arc<Lists>,
    final_must_be_usable: bool,
}

/// The rules that one certificate is checked against, all of one moment.
#[derive(Clone)]
pub struct CertificateRules<'r> {
    pub names: &'r Names,
    pub validator: &'r Validator,
    pub terminology: Arc<Terminology>,
    /// Whether a final certificate that is not usable is refused instead of only warned about. Contract 8.7.
    pub final_must_be_usable: bool,
}

impl Rulebook {
    /// Reads the profiles and the code lists; `strict` is the setting `validation.strict`.
    ///
    /// # Errors
    /// In words for the operator: a profile uses something that cannot be checked, or the lists in the store cannot be used.
    pub fn open(engine: Arc<Engine>, names: Names, strict: bool) -> Result<Rulebook, String> {
        let validator = Validator::new(&names).map_err(|error| error.to_string())?;
        let lists = Arc::new(Lists::open(engine, names.clone(), strict)?);
        Ok(Rulebook { names, validator, lists, final_must_be_usable: false })
    }

    /// Sets the setting `certificate.final_must_be_usable`, which is off otherwise.
    pub fn final_must_be_usable(self, is_set: bool) -> Rulebook {
        Rulebook { final_must_be_usable: is_set, ..self }
    }

    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The code lists of this moment.
    pub fn terminology(&self) -> Arc<Terminology> {
        self.lists.current()
    }

    /// All of it as it is at this moment.
    pub fn now(&self) -> CertificateRules<'_> {
        CertificateRules {
            names: &self.names,
            validator: &self.validator,
            terminology: self.lists.current(),
            final_must_be_usable: self.final_must_be_usable,
        }
    }

    /// The code lists, for commands that change them.
    pub fn lists(&self) -> &Arc<Lists> {
        &self.lists
    }
}
