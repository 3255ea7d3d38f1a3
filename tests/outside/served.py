"""Makes cases of the bodies that the test suite received, for Judge.java and compare.py.

    served.py BODIES > CASES

A line of BODIES is {"line": "GET /fhir/Composition/1", "status": 200, "body"}. Of bodies that differ in nothing but digits, UUIDs, and
sealed queries, one is taken: the tests ask for the same things at other times and under other ids.
"""

import json
import re
import sys

SAME = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=_query=)[^\"&]*|\d+")


def main():
    seen = set()
    with open(sys.argv[1], encoding="utf-8") as bodies:
        for line in bodies:
            served = json.loads(line)
            key = hash(SAME.sub("0", served["body"]))
            if key in seen:
                continue
            seen.add(key)
            name = f"{served['line']} {served['status']}"
            case = {"name": name, "kind": "served", "accepted": True, "issues": [], "body": served["body"]}
            json.dump(case, sys.stdout, ensure_ascii=False)
            sys.stdout.write("\n")


main()
