//! The paragraphs of the pages that are the same for every kind.

pub(super) const READING: &str = "\
## How to read the tables

- **Draft** is a certificate with the status `preliminary`, **Completed** one with the status `final`.
- **required**: without it the certificate is refused. **optional**: it may be left out. **expected**: without it the
  certificate is stored with a warning; where the setting `certificate.final_must_be_usable` is on (it is off by
  default), a completed one is refused. **refused**: a certificate that has it is refused.
- An element inside another one is required only where the outer one is present. Elements of R5's datatypes that no
  table names are optional. FHIR has no empty objects and lists: an object whose elements are all optional needs one of
  them.
- What FHIR allows several times is a JSON list, also where only one item is taken: `meta.profile`, `identifier`,
  `category`, `subject`, `author`, `event`, `note`, `section`, `contained`, and `coding` inside a CodeableConcept.
- A name in parentheses is the slice: the profile's name for one kind of item in a list.
- A refusal names every wrong element. `POST /Composition/$validate` reports the same without writing.

";

pub(super) const SMALLEST: &str = "\
## Smallest bodies

Nothing can be left out of these bodies. Where the setting `certificate.final_must_be_usable` is on, the certificate is
refused without any one of their members. A test removes each one.

";

pub(super) const SMALLEST_COMPLETED: &str = "\
This body has a decision and a validity, so it is also accepted where the setting `certificate.final_must_be_usable` is
on. Where it is off, the service also accepts the draft above with the status `final`, and warns that the decision is
missing (HCERT-204).

";

pub(super) const SECTIONS_ABOUT: &str = "\
## Sections

The service recognises a section by its code. Each of these sections may occur once. A section with another code, or
without a code, is stored and returned, but these rules do not apply to it: the service does not report a misspelled
code.

| Code | Slice | Draft | Completed | Text | Entry | Meaning |
|---|---|---|---|---|---|---|
";

pub(super) const CONTAINED_ABOUT: &str = "\
## Contained resources

These resources are items of `contained`. The service recognises them by `meta.profile`, or by their code where they
name no profile of this service. Other contained resources are allowed. Some reference in the certificate must lead to
each of them.

";

pub(super) const RULES: &str = "\
## Rules

This rule applies to the whole certificate, drafts included. A certificate that breaks it is refused (HCERT-191):

| Rule | English | Estonian |
|---|---|---|
";

pub(super) const USABLE: &str = "\
The following are warnings. Those with *yes* are errors of a completed certificate where the setting
`certificate.final_must_be_usable` is on:

| Code | Text | Error with the setting |
|---|---|---|
";

pub(super) const LISTS: &str = "
## Code lists

- A code that a *complete* table does not show is refused (HCERT-188; for `status` HCERT-145).
- A code that a table *known in part* does not show is accepted with a warning (HCERT-196). An operator can load the
  full list (`hcert terminology load`). Where the setting `validation.strict` is on (it is off by default), all other
  codes are then refused.
- A code of a system that the list does not have is refused (HCERT-188).
- `display` is free, except for the [fixed codes](#fixed-codes).

";
