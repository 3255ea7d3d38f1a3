"""Lays our verdicts beside those from outside, and fails on a difference that nobody has explained.

    compare.py EXPLAINED CASES VERDICTS...

A case is a line {"name", "kind", "accepted", "issues": [{"code", "type", "expression"}], "body"}. How it is compared:

- `right`: a right certificate. A refusal from outside is a difference, and so is one of ours.
- `structural`: base R5 decides it, so both must say the same.
- `change`: a systematic change of a right certificate, for an outside that knows our profiles: both must say the same.
- `served`: a body that the service sent, which is right as far as we know. What the outside refuses is a difference.
- any other kind (`profile`, `narrative` ...): rules that the outside does not know in full. Only what we accept and the outside
  refuses is a difference.

Of what both refuse, `same place` counts the cases where an issue of ours and a refusal from outside are about the same element, or
one inside the other. It is told, not judged: the outside may see another fault of the same body, or see it from further off.

What the outside could not evaluate (`unknown`) counts as a difference in a right certificate, and nowhere else.

EXPLAINED lists the differences that are known: [{"name", "kind", "ours", "outside", "body", "reason"}]. All but `reason` are regular
expressions and may be left out; `ours` looks at our issues (`HCERT-107 structure Composition.foo`, or `accepts`), `outside` at the
outside's refusal (`models extra_forbidden foo ...`, or `accepts`). An explanation that fits nothing fails the run as well.
"""

import collections
import json
import pathlib
import re
import sys

# Kinds of which a body that only we refuse is a difference.
BOTH = ("right", "structural", "change")

# Unexplained differences that are told in full; the rest is counted.
TOLD_MAX = 200


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def text(refusal):
    return " ".join(part for part in (refusal["by"], refusal["key"], refusal["path"], refusal["text"]) if part)


def differences(case, refusals):
    """What the outside says otherwise about a case, a text each: a refusal, or `accepts`."""
    refused = [refusal for refusal in refusals if refusal["by"] != "unknown"]
    if case["kind"] == "right":
        refused = refusals
    if case["accepted"]:
        return [text(refusal) for refusal in refused]
    if not refused and case["kind"] in BOTH:
        return ["accepts"]
    return []


def ours(case):
    if case["accepted"]:
        return ["accepts"]
    return [" ".join((issue["code"], issue["type"], issue.get("expression") or "")) for issue in case["issues"]]


def place(path):
    """The elements on the way, without resource types, indexes and the type of a choice: `contained.component.value`."""
    names = [name for name in re.sub(r"\[[^]]*\]", "", path or "").split(".") if not name.isdigit()]
    names = [re.sub(r"^value[A-Z]\w*$", "value", name) for name in names if name and not name[0].isupper()]
    return [name for name in names if name != "root"]


def same_place(case, refusals):
    def meet(one, other):
        shorter = min(len(one), len(other))
        return one[:shorter] == other[:shorter] and (shorter > 0 or one == other)

    ours = [place(issue.get("expression")) for issue in case["issues"]]
    return any(meet(one, place(refusal["path"])) for one in ours for refusal in refusals)


def explains(entry, case, outside):
    def fits(key, texts):
        return key not in entry or any(re.search(entry[key], one) for one in texts)

    return (
        fits("name", [case["name"]])
        and fits("kind", [case["kind"]])
        and fits("ours", ours(case))
        and fits("outside", [outside])
        and fits("body", [case["body"]])
    )


def main():
    cases = lines(sys.argv[2])
    refusals = collections.defaultdict(list)
    for path in sys.argv[3:]:
        verdicts = lines(path)
        assert [verdict["name"] for verdict in verdicts] == [case["name"] for case in cases], path
        for at, verdict in enumerate(verdicts):
            refusals[at] += verdict["refusals"]
    explained = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))

    table = collections.defaultdict(collections.Counter)
    used, unexplained, unknown = collections.Counter(), [], collections.Counter()
    for at, case in enumerate(cases):
        refused = any(refusal["by"] != "unknown" for refusal in refusals[at])
        row = table[case["kind"]]
        row["cases"] += 1
        row[("both accept", "only outside refuses", "only we refuse", "both refuse")[refused + 2 * (not case["accepted"])]] += 1
        row["same place"] += refused and not case["accepted"] and same_place(case, refusals[at])
        for refusal in refusals[at]:
            if refusal["by"] == "unknown":
                unknown[refusal["key"], refusal["text"]] += 1
        found = differences(case, refusals[at])
        open_ones = []
        for outside in found:
            fitting = [number for number, entry in enumerate(explained) if explains(entry, case, outside)]
            used.update(fitting)
            if not fitting:
                open_ones.append(outside)
        row["explained"] += bool(found) and not open_ones
        row["unexplained"] += bool(open_ones)
        unexplained += [(case, outside) for outside in open_ones]

    columns = ("cases", "both accept", "both refuse", "same place", "only we refuse", "only outside refuses")
    columns += ("explained", "unexplained")
    print(f"{'kind':<12}", *(f"{column:>{len(column) + 1}}" for column in columns))
    for kind, row in sorted(table.items()):
        print(f"{kind:<12}", *(f"{row[column]:>{len(column) + 1}}" for column in columns))
    for (key, why), times in sorted(unknown.items()):
        print(f"not evaluated {times} times: {key}: {why}")
    for case, outside in unexplained[:TOLD_MAX]:
        print(f"unexplained: {case['kind']} {case['name']}\n  we:      {'; '.join(ours(case))}\n  outside: {outside}")
    if len(unexplained) > TOLD_MAX:
        print(f"and {len(unexplained) - TOLD_MAX} more")
    idle = [entry for number, entry in enumerate(explained) if not used[number]]
    for entry in idle:
        print(f"an explanation fits nothing: {json.dumps(entry, ensure_ascii=False)}")
    if unexplained or idle:
        sys.exit(1)
    print(f"{len(cases)} cases, every difference explained")


main()
