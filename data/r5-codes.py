#!/usr/bin/env python3
"""Writes r5-codes.txt: the codes of every value set that R5 binds an element to as required.

    data/r5-codes.py hl7.fhir.r5.core-5.0.0.tgz > data/r5-codes.txt

The argument is the npm package `hl7.fhir.r5.core` 5.0.0 (licence CC0) of packages.fhir.org, packed or unpacked. Only Python's
standard library is needed, and the same package gives the same bytes. Which value sets are meant is read from r5-elements.txt.

A value set is a line at the margin, its codes follow, indented by one space, one line for each code system:

    http://hl7.org/fhir/ValueSet/composition-status
     http://hl7.org/fhir/composition-status amended appended cancelled ...
    http://hl7.org/fhir/ValueSet/mimetypes ?

`?` says that the package does not list the codes, so nothing can be said about one:
- the system is a grammar or a registry of its own: media types, languages, units, countries, currencies, time zones,
- the system is of HL7 terminology, a package beside this one, or of LOINC.
A set is open as a whole when one of its systems is.
"""

import pathlib
import sys

sys.dont_write_bytecode = True

from r5 import resources


def bound():
    """The addresses of all value sets behind `=` in r5-elements.txt."""
    text = pathlib.Path(__file__).with_name("r5-elements.txt").read_text(encoding="utf-8")
    return sorted({line.split(" =")[1] for line in text.splitlines() if " =http" in line})


def flat(concepts):
    """The codes of a hierarchy."""
    for concept in concepts:
        yield concept["code"]
        yield from flat(concept.get("concept", []))


def codes(address, value_sets, code_systems):
    """All pairs of system and code of a value set, or None when the package does not list them."""
    if address not in value_sets:
        return None
    compose = value_sets[address]["compose"]
    # R5 uses neither in a required binding; a package that does needs more than this script knows.
    assert "exclude" not in compose, address
    found = set()
    for include in compose["include"]:
        assert "filter" not in include, address
        parts = [codes(imported.split("|")[0], value_sets, code_systems) for imported in include.get("valueSet", [])]
        if system := include.get("system"):
            definition = code_systems.get(system, {})
            if "concept" in include:
                listed = flat(include["concept"])
            elif definition.get("content") == "complete":
                listed = flat(definition["concept"])
            else:
                return None
            parts.append({(system, code) for code in listed})
        if None in parts:
            return None
        # What one include names must all hold at once; the includes add up.
        found |= set.intersection(*parts)
    return found


def main():
    value_sets, code_systems = (
        {resource["url"]: resource for resource in resources(sys.argv[1], kind)} for kind in ("ValueSet", "CodeSystem")
    )
    out = ["# FHIR R5 (5.0.0), hl7.fhir.r5.core, CC0. Written by r5-codes.py, which explains the form."]
    for address in bound():
        pairs = codes(address, value_sets, code_systems)
        if pairs is None:
            out.append(address + " ?")
            continue
        out.append(address)
        for system in sorted({system for system, _ in pairs}):
            listed = sorted(code for of, code in pairs if of == system)
            assert not any(" " in code for code in listed), address
            out.append(" " + " ".join([system] + listed))
    sys.stdout.write("\n".join(out) + "\n")


main()
