//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Levels of objects and arrays in a body. FHIR resources stay below 20; a deeper one is an attack or a mistake. Contract 5.4.
pub const JSON_DEPTH_MAX: usize = 64;

/// Characters of any FHIR string. R5 `datatypes.html#string`: 1024 * 1024.
pub const STRING_CHARACTERS_MAX: usize = 1024 * 1024;

/// Attributes of one XHTML element; the XML reader compares each with each. HTML knows about 20 for an element.
pub const XHTML_ATTRIBUTES_MAX: usize = 64;

/// Namespace declarations of one XHTML div; the XML reader copies those in force for each new one. A div needs one.
pub const XHTML_NAMESPACES_MAX: usize = 128;

/// Characters of a FHIR id. R5 `datatypes.html#id`.
pub const ID_CHARACTERS_MAX: usize = 64;

/// Characters of a system or code in category and type. Every view of the store holds each once; R5's longest address has 80.
pub const CODING_CHARACTERS_MAX: usize = 256;
