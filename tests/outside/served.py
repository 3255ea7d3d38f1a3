"""Makes cases of the bodies that the test suite received, for Judge.java and compare.py.

    served.py BODIES > CASES

A line of BODIES is {"line": "GET /fhir/Composition/1", "status": 200, "body"}. The tests ask for the same at many times, under many ids
and in many orders. A body is taken when a resource of it, or the Bundle around its resources, differs from all before it in more than
digits outside of codes, UUIDs and sealed queries. Short bodies are taken first, whichever test was first.
"""

import json
import re
import sys

# Characters of a body from which it is left out, and told: the validator takes a minute for the code system of 4 MB that a test loads.
LENGTH_MAX = 2_000_000

CODE = r'"code": "[^"]*"'
SAME = re.compile(CODE + r'|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=_query=)[^"&]*|\d+')


def parts(body):
    """The resources of a Bundle, and the kinds of its links and entries; of another resource, itself."""
    resource = json.loads(body)
    if resource["resourceType"] != "Bundle":
        return [resource]
    entries = resource.pop("entry", [])
    resources = [entry.pop("resource") for entry in entries if "resource" in entry]
    links = [link.pop("relation") for link in resource.pop("link", [])]
    return [*resources, *entries, [resource, links, bool(entries)]]


def key(part):
    return SAME.sub(lambda found: found[0] if found[0].startswith('"') else "0", json.dumps(part))


def main():
    with open(sys.argv[1], encoding="utf-8") as lines:
        bodies = [json.loads(line) for line in lines]
    seen = set()
    for served in sorted(bodies, key=lambda served: (len(served["body"]), served["line"], served["body"])):
        keys = {key(part) for part in parts(served["body"])}
        if keys <= seen:
            continue
        seen |= keys
        name = f"{served['line']} {served['status']}"
        if len(served["body"]) > LENGTH_MAX:
            print(f"left out for its length: {name}", file=sys.stderr)
            continue
        case = {"name": name, "kind": "served", "accepted": True, "issues": [], "body": served["body"]}
        json.dump(case, sys.stdout, ensure_ascii=False)
        sys.stdout.write("\n")


main()
