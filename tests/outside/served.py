"""Makes cases of the bodies that the test suite received, for Judge.java and compare.py.

    served.py BODIES > CASES

A line of BODIES is {"line": "GET /fhir/Composition/1", "status": 200, "body"}. The tests ask for the same at many times, under many ids
and in many orders. A body is taken when a resource of it, or the Bundle around its resources, differs from all before it in more than
digits, UUIDs and sealed queries.
"""

import json
import re
import sys

SAME = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=_query=)[^\"&]*|\d+")


def parts(body):
    """The resources of a Bundle, and the kinds of its links and entries; of another resource, itself."""
    resource = json.loads(body)
    if resource["resourceType"] != "Bundle":
        return [resource]
    entries = resource.pop("entry", [])
    resources = [entry.pop("resource") for entry in entries if "resource" in entry]
    links = [link.pop("relation") for link in resource.pop("link", [])]
    return [*resources, *entries, [resource, links, bool(entries)]]


def main():
    seen = set()
    with open(sys.argv[1], encoding="utf-8") as bodies:
        for line in bodies:
            served = json.loads(line)
            keys = {SAME.sub("0", json.dumps(part)) for part in parts(served["body"])}
            if keys <= seen:
                continue
            seen |= keys
            name = f"{served['line']} {served['status']}"
            case = {"name": name, "kind": "served", "accepted": True, "issues": [], "body": served["body"]}
            json.dump(case, sys.stdout, ensure_ascii=False)
            sys.stdout.write("\n")


main()
