"""Reads the npm package `hl7.fhir.r5.core` 5.0.0 (licence CC0) of packages.fhir.org, packed or unpacked, for its neighbours."""

import json
import pathlib
import tarfile

BASE = "http://hl7.org/fhir/StructureDefinition/"


def resources(package, kind):
    """All resources of one type, such as `ValueSet`, in no special order."""
    path = pathlib.Path(package)
    if path.is_dir():
        texts = [file.read_bytes() for file in path.rglob(f"{kind}-*.json")]
    else:
        with tarfile.open(path) as archive:
            texts = [
                archive.extractfile(member).read()
                for member in archive
                if member.name.split("/")[-1].startswith(f"{kind}-")
            ]
    return [json.loads(text) for text in texts]


def definitions(package):
    """All StructureDefinitions of resources and types, constraints and logical models left out, by name."""
    found = {
        definition["type"]: definition
        for definition in resources(package, "StructureDefinition")
        if definition["kind"] != "logical" and definition.get("derivation") == "specialization"
    }
    return dict(sorted(found.items()))


def short(url):
    return url.removeprefix(BASE)
