//! Definitions that never change while the server runs.

use super::{DefinitionKind, search_parameter};
use certificate::{Names, definitions};

/// A definition that never changes while the server runs.
#[derive(Debug)]
pub(super) struct FixedDefinition {
    pub(super) kind: DefinitionKind,
    pub(super) id: String,
    pub(super) url: String,
    pub(super) text: Vec<u8>,
}

/// The definitions that are no code lists, as they are served.
pub(super) fn fixed(names: &Names) -> Vec<FixedDefinition> {
    let of_type =
        |kind: DefinitionKind| definitions::of_type(kind.name()).map(move |definition| (kind, definition.read(names)));
    let shipped = of_type(DefinitionKind::StructureDefinition).chain(of_type(DefinitionKind::OperationDefinition));
    let parameters =
        search_parameter::all(names).into_iter().map(|resource| (DefinitionKind::SearchParameter, resource));
    let fixed = shipped.chain(parameters).map(|(kind, resource)| {
        let text = |name: &str| resource.text(name).unwrap_or_default().to_owned();
        FixedDefinition { kind, id: text("id"), url: text("url"), text: resource.to_vec() }
    });
    fixed.collect()
}
