"""The certificates that pdf.py prints: the examples in every state, generated ones, and ones whose texts nobody would write."""

import copy
import dataclasses
import html
import json
import random
import re
import unicodedata

from secure_programs import ROOT, NotRunning
from secure_rights import personal_code

# What is said about the certificates of each example: all that can be final, in every state.
FINAL = ("driver-final", "driver-final-changed", "driver-external-declaration", "occupational-final", "occupational-rejected")
DRAFTS = ("driver-draft", "occupational-draft")
STATES = ("draft", "completed", "suspended", "revoked")
# Ids of the three kinds, so that they do not meet.
EXAMPLES_FROM, FUZZED_FROM = 1_000_000, 2_000_000
PATIENTS_FROM, PATIENTS = 900_000, 50
XHTML = '<div xmlns="http://www.w3.org/1999/xhtml">'
# Characters of a title that the service takes.
TITLE_MAX = 1_000
# Characters of a text: most are short, and few fill pages.
LENGTHS = [(60, 1, 40), (85, 41, 300), (97, 301, 2_000), (100, 10_000, 10_000)]


@dataclasses.dataclass
class Made:
    """A certificate: its example, its state, and its number in this run."""

    example: str
    state: str
    id: int
    version: int


def created(hcert, example, state, number):
    """Leads a certificate of an example to a state, and returns its versions."""
    text = re.sub(r"TT-2025-\d{6}", number, (ROOT / f"examples/{example}.json").read_text())
    body = json.loads(text)
    body["status"] = "preliminary" if state == "draft" else "final"
    first = body
    if example == "driver-final-changed" and state != "draft":
        first = json.loads(re.sub(r"TT-2025-\d{6}", number, (ROOT / "examples/driver-final.json").read_text()))
    answer = hcert.send("POST", "/Composition", body=first)
    if answer.status != 201:
        raise NotRunning(f"{example} is not taken: {answer}")
    path = "/Composition/" + answer.headers["Location"].split("/Composition/")[1].split("/")[0]
    steps = [("PUT", "", body)] if first is not body else []
    for operation, states in (("suspend", ("suspended", "revoked")), ("cancel", ("revoked",))):
        if state in states:
            steps.append(("POST", f"/${operation}", json.loads((ROOT / f"examples/{operation}.json").read_text())))
    for method, to, sent in steps:
        answer = hcert.send(method, path + to, body=sent)
        if answer.status != 200:
            raise NotRunning(f"{method} {path}{to} of {example}: {answer}")
    return Made(example, state, int(path.split("/")[-1]), 1 + len(steps))


def examples(hcert):
    """All examples in all states that they can have, as a running server has them."""
    wanted = [(example, "draft") for example in DRAFTS] + [(example, state) for example in FINAL for state in STATES]
    return [created(hcert, example, state, f"TT-2025-{at:06}") for at, (example, state) in enumerate(wanted, 202)]


def timed(lines):
    """The lines of an export, with times that are the same in every run, a second apart."""
    for at, line in enumerate(lines):
        entry = renumbered(json.loads(line), EXAMPLES_FROM)
        time = f"2025-11-03T09:{at // 60:02}:{at % 60:02}.000+02:00"
        entry["resource"]["meta"]["lastUpdated"] = entry["response"]["lastModified"] = time
        yield entry


def renumbered(entry, more):
    """An entry of a certificate whose id is greater by `more`."""
    path = f"Composition/{int(entry['fullUrl'].split('/')[1]) + more}"
    entry["request"]["url"] = entry["request"]["url"].replace(entry["fullUrl"], path)
    entry["fullUrl"], entry["resource"]["id"] = path, path.split("/")[1]
    return entry


class Fuzz:
    """Texts of any characters that R5 and XML let a text have. The same seed gives the same texts."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        marks = [chr(code) for code in range(0x300, 0x1E000) if unicodedata.category(chr(code)) in ("Mn", "Me", "Mc")]
        pictures = [chr(code) for code in [*range(0x1F300, 0x1FB00), 0x200D, 0xFE0F, 0xFE0E, 0x20E3, *range(0x1F1E6, 0x1F200)]]
        spaces = list("\t\n\r \x85\xa0\u1680\u2028\u2029\u202f\u3000\ufeff") + [chr(code) for code in range(0x2000, 0x2010)]
        directions = [chr(code) for code in [0x61C, *range(0x200E, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]]
        right_to_left = [chr(code) for code in [*range(0x5D0, 0x5EB), *range(0x620, 0x64B), *range(0x1E900, 0x1E944)]]
        letters = list("aeiouõäöüšžklmnprstvÕÄÖÜŠŽ")
        self.alphabets = [
            lambda: letters + list("  ,.-;:()0123456789"),
            lambda: letters + marks,
            lambda: marks,
            lambda: pictures,
            lambda: right_to_left + directions + [" "],
            lambda: letters + spaces + directions,
            lambda: [chr(code) for code in [*range(0x4E00, 0x4E80), *range(0xAC00, 0xAC80), *range(0xE00, 0xE5C), 0x3002]],
            lambda: letters,
            lambda: list("<>&'\"\\/{}[]()%#$@!?*_`~|=+^\x7f\x80\x9f\xad"),
            self.any_of_all_planes,
            self.any_of_all_planes,
        ]

    def any_of_all_planes(self):
        """Characters of any plane, unassigned and private ones too."""
        planes = [range(0x20, 0x250), range(0x250, 0xD800), range(0xE000, 0xFFFE), range(0x10000, 0x20000), range(0x20000, 0x110000)]
        return [chr(self.dice.choice(self.dice.choice(planes))) for _ in range(64)]

    def text(self, most=10_000):
        share = self.dice.randrange(100)
        _, least, longest = next(row for row in LENGTHS if share < row[0])
        length = min(most, self.dice.randint(least, longest))
        text = "".join(self.dice.choices(self.dice.choice(self.alphabets)(), k=length))
        # A text has to say something, and no white space at its ends would be kept apart.
        return text if text.strip() else text + "õ"

    def certificate(self, versions, number):
        """The versions of a certificate with other texts: those, and how many the newest has. A text stays what it was in each of them."""
        said, versions = {}, copy.deepcopy(versions)
        for entry in versions:
            said = self.fill(entry["resource"], (), said)
            entry["resource"]["subject"][0]["reference"] = f"Patient/{PATIENTS_FROM + number % PATIENTS}"
            renumbered(entry, FUZZED_FROM + number - int(entry["fullUrl"].split("/")[1]))
        return versions, len(said)

    def fill(self, value, path, said):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            at = (*path, key)
            if at[:2] == ("text", "div"):
                value[key] = f"{XHTML}<p>x</p></div>"
            elif key == "div":
                value[key] = f"{XHTML}{html.escape(self.once(at, said), quote=False)}</div>"
            elif key == "title" or key == "display" or (key == "text" and isinstance(inner, str)):
                value[key] = self.once(at, said)
            elif isinstance(inner, (dict, list)):
                self.fill(inner, at, said)
        return said

    def once(self, at, said):
        if at not in said:
            said[at] = self.text(TITLE_MAX if at == ("title",) else 10_000)
        return said[at]

    def patient(self, number):
        """A patient of whom nothing but the name is odd."""
        name = {"use": "official", "family": self.text(2_000), "given": [self.text(300), self.text(40)]}
        code = {"system": "https://fhir.ee/sid/pid/est/ni", "value": personal_code(number)}
        return {"resourceType": "Patient", "id": str(PATIENTS_FROM + number), "identifier": [code], "active": True, "name": [name]}


def fuzzed(bases, texts, seed=21):
    """Entries of certificates that hold so many texts together, newest versions by id, and the patients they are about."""
    fuzz, entries, newest, made = Fuzz(seed), [], {}, 0
    while made < texts:
        number = len(newest) + 1
        versions, count = fuzz.certificate(bases[number % len(bases)], number)
        entries += versions
        newest[FUZZED_FROM + number] = len(versions)
        made += count
    # Number 0 is of the fiftieth certificate, and there is no harm in one patient more.
    patients = [fuzz.patient(number) for number in range(min(PATIENTS, len(newest) + 1))]
    return entries, newest, patients, made + 3 * len(patients)
