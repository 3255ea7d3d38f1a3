#!/usr/bin/env python3
"""Writes r5-invariants.txt: every constraint of severity `error` of every FHIR R5 resource and datatype.

    data/r5-invariants.py hl7.fhir.r5.core-5.0.0.tgz > data/r5-invariants.txt

The argument is the npm package `hl7.fhir.r5.core` 5.0.0 (licence CC0) of packages.fhir.org, packed or unpacked. Only Python's
standard library is needed, and the same package gives the same bytes.

A constraint is a line of four columns with a tab between them: the path of the element it is about, its key, its expression in
FHIRPath, and what it says. Sorted by path, then key.

    Period	per-1	start.hasValue().not() or ...	If present, start SHALL have a lower or equal value than end

Each stands once, where it is defined: a type does not repeat those of its ancestors, nor an element those of its type.
"""

import sys

sys.dont_write_bytecode = True

from r5 import definitions, short

HEADING = "# FHIR R5 (5.0.0), hl7.fhir.r5.core, CC0. Written by r5-invariants.py, which explains the form."


def errors(element):
    return [constraint for constraint in element.get("constraint", []) if constraint["severity"] == "error"]


def of_type(name, all_definitions):
    """The keys that hold for a type as a whole, its ancestors' included."""
    keys = set()
    while name in all_definitions:
        keys |= {constraint["key"] for constraint in errors(all_definitions[name]["snapshot"]["element"][0])}
        name = short(all_definitions[name].get("baseDefinition", ""))
    return keys


def own(definition, all_definitions):
    """The constraints that a type adds to what its ancestors and the types of its elements say."""
    root, *elements = definition["snapshot"]["element"]
    inherited = of_type(short(definition.get("baseDefinition", "")), all_definitions)
    for constraint in errors(root):
        if constraint["key"] not in inherited:
            yield root["path"], constraint
    for element in elements:
        types = {kind["code"] for kind in element.get("type", [])}
        inherited = set().union(*(of_type(kind, all_definitions) for kind in types)) | {"ele-1"}
        for constraint in errors(element):
            if constraint["key"] not in inherited:
                yield element["path"], constraint


def main():
    all_definitions = definitions(sys.argv[1])
    rows = set()
    for definition in all_definitions.values():
        for path, constraint in own(definition, all_definitions):
            columns = path, constraint["key"], constraint["expression"], constraint["human"]
            rows.add(tuple(" ".join(column.split()) for column in columns))
    sys.stdout.write("\n".join([HEADING] + ["\t".join(row) for row in sorted(rows)]) + "\n")


main()
