#!/usr/bin/env python3
"""Writes r5-elements.txt: every element of every FHIR R5 resource and datatype, as far as validation needs it.

    data/r5-elements.py hl7.fhir.r5.core-5.0.0.tgz > data/r5-elements.txt

The argument is the npm package `hl7.fhir.r5.core` 5.0.0 (licence CC0) of packages.fhir.org, packed or unpacked. Only Python's
standard library is needed, and the same package gives the same bytes.

A type is a line at the margin, its elements follow, indented by one space, those of a backbone element by one more:

    Composition resource DomainResource
     status 1..1 sm code =http://hl7.org/fhir/ValueSet/composition-status
     author 1..* s Reference(Practitioner|PractitionerRole|Device|Patient|RelatedPerson|Organization)
     section 0..* - BackboneElement
      title 0..1 - string
      section 0..* - #Composition.section

- A type: name, kind (`resource`, `complex`, `primitive`, or one of them with `abstract-` before it), and the type whose elements
  come first (`-`: none). That is the nearest ancestor whose elements the type repeats unchanged, which are left out here.
- An element: name (`value[x]` for a choice), cardinality, flags (`s` summary, `m` modifier, `-` none), types with commas between
  them, and behind `=` the value set of a required binding.
- A type of an element: `Reference(A|B)` names the targets (none: any), `Quantity<SimpleQuantity>` the profile of a datatype,
  `@string` a value that JSON shows without sibling (`id`, `Extension.url`), `#Path` the content of another backbone element.
"""

import sys

sys.dont_write_bytecode = True

from r5 import BASE, definitions, short

FHIR_TYPE = BASE + "structuredefinition-fhir-type"


def type_text(element, kind):
    name = kind["code"]
    if name.startswith("http://hl7.org/fhirpath/"):
        # R5 gives the id of some datatypes the type `id`; Element.id is a string, and the elements of a resource say so too.
        if element["base"]["path"] == "Element.id":
            return "@string"
        types = [extension["valueUrl"] for extension in kind["extension"] if extension["url"] == FHIR_TYPE]
        return "@" + ("id" if element["base"]["path"] == "Resource.id" else types[0])
    if profiles := kind.get("profile"):
        name += "<" + "|".join(map(short, profiles)) + ">"
    targets = [short(target) for target in kind.get("targetProfile", [])]
    if targets and "Resource" not in targets:
        name += "(" + "|".join(targets) + ")"
    return name


def lines(definition):
    """The element lines of a type, as pairs of depth and text, ancestors included."""
    if definition["kind"] == "primitive-type":
        return []
    rows = []
    for element in definition["snapshot"]["element"][1:]:
        if element["max"] == "0":
            continue
        names = element["path"].split(".")
        if "contentReference" in element:
            types = "#" + element["contentReference"].split("#")[1]
        else:
            types = ",".join(type_text(element, kind) for kind in element["type"])
        flags = ("s" if element.get("isSummary") else "") + ("m" if element.get("isModifier") else "")
        text = f"{names[-1]} {element['min']}..{element['max']} {flags or '-'} {types}"
        binding = element.get("binding", {})
        if binding.get("strength") == "required":
            text += " =" + binding["valueSet"].split("|")[0]
        rows.append((len(names) - 1, text))
    return rows


def without(inherited, rows):
    """`rows` without the `inherited` ones it opens with, or None when it opens otherwise."""
    return rows[len(inherited) :] if rows[: len(inherited)] == inherited else None


def own(name, all_definitions):
    """The nearest ancestor that the type only adds to, and what it adds."""
    rows = lines(all_definitions[name])
    ancestor = short(all_definitions[name].get("baseDefinition", "-"))
    if all_definitions[name]["kind"] == "primitive-type":
        return ancestor, rows
    while ancestor in all_definitions:
        rest = without(lines(all_definitions[ancestor]), rows)
        if rest is not None:
            return ancestor, rest
        ancestor = short(all_definitions[ancestor].get("baseDefinition", "-"))
    return "-", rows


def nested(rows, all_definitions):
    """Leaves out what each backbone element has from its own type."""
    kept, skip = [], 0
    for at, (depth, text) in enumerate(rows):
        if skip:
            skip -= 1
            continue
        kept.append((depth, text))
        kind = text.split()[3]
        if kind in ("BackboneElement", "Element"):
            inherited = [(depth + 1, line) for _, line in lines(all_definitions[kind])]
            skip = len(inherited)
            assert rows[at + 1 : at + 1 + skip] == inherited, text
    return kept


def main():
    all_definitions = definitions(sys.argv[1])
    out = ["# FHIR R5 (5.0.0), hl7.fhir.r5.core, CC0. Written by r5-elements.py, which explains the form."]
    for name, definition in all_definitions.items():
        kind = {"resource": "resource", "complex-type": "complex", "primitive-type": "primitive"}[definition["kind"]]
        abstract = "abstract-" if definition["abstract"] else ""
        base, rows = own(name, all_definitions)
        out.append(f"{name} {abstract}{kind} {base}")
        out += [" " * depth + text for depth, text in nested(rows, all_definitions)]
    sys.stdout.write("\n".join(out) + "\n")


main()
