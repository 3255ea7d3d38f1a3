"""The life of a certificate, and what each role may do, by tokens of Keycloak: for secure.py.

What is expected comes from `hcert permissions explain` and from docs/ACCESS.md, "Rights": 403 HCERT-178 where no permission of the caller
has the interaction, 403 HCERT-179 where none reaches the certificate, else what the interaction answers.
"""

import dataclasses
import json

from secure_programs import ROOT

# Of the certificates in examples/.
DOCTOR = "49403136515"
INSTITUTION = "90006399"
PATIENT = "39406240015"
EMPLOYER = "16978044"


@dataclasses.dataclass
class Caller:
    """A user of Keycloak."""

    name: str
    roles: list
    person: str
    organization: str = None
    patient: str = None
    employer: str = None
    client: str = "clinic"
    token: str = None

    def attributes(self):
        named = {"personalCode": self.person, "organization": self.organization}
        named |= {"patient": self.patient, "representedParty": self.employer}
        return {name: [value] for name, value in named.items() if value}


@dataclasses.dataclass
class Certificate:
    """What rights look at in a certificate."""

    id: str
    status: str
    category: str
    patient: str = PATIENT
    employer: str = None
    author: str = DOCTOR
    closed: str = None


@dataclasses.dataclass
class Request:
    """One request of the table: the permission it needs, what it is about, and what it answers to who has that."""

    action: str
    method: str
    path: str
    body: dict = None
    about: object = None
    good: int = 200


def life(setup):
    """One certificate from its draft to the end, by tokens of four users. Returns it."""
    checks, hcert = setup.checks, setup.hcert
    doctor, nurse, patient, official = (setup.callers[name] for name in ("doctor", "nurse", "patient", "gov-official"))
    found = setup.send(doctor, "GET", f"/Patient?identifier={PATIENT}")
    checks.that("the doctor finds the patient", (200, 1), (found.status, found.json().get("total")))
    number = "TT-2026-900001"
    of_nurse = setup.body("driver-draft", number=number)
    checks.that("a nurse does not sign for the doctor", "403 HCERT-168", str(setup.send(nurse, "POST", "/Composition", of_nurse)))
    path = f"/Composition/{setup.created(doctor, setup.body('driver-draft', number=number))}"
    checks.that("the patient does not see the draft", "403 HCERT-179", str(setup.send(patient, "GET", path)))
    consent = {"resourceType": "Parameters", "parameter": [{"name": "doctor", "valueString": "closed"}]}
    opened = {"resourceType": "Parameters", "parameter": [{"name": "doctor", "valueString": "open"}]}
    reason = json.loads((ROOT / "examples/suspend.json").read_text())
    for claim, caller, method, to, body, expected in [
        ("the doctor completes it", doctor, "PUT", "", setup.body("driver-final", number=number), "200"),
        ("the patient reads it", patient, "GET", "", None, "200"),
        ("an official reads it", official, "GET", "", None, "200"),
        ("the patient closes it to doctors", patient, "POST", "/$set-consent", consent, "200"),
        ("the nurse does not see it", nurse, "GET", "", None, "403 HCERT-179"),
        ("its author sees it", doctor, "GET", "", None, "200"),
        ("the patient opens it", patient, "POST", "/$set-consent", opened, "200"),
        ("the nurse sees it", nurse, "GET", "", None, "200"),
        ("the doctor changes it", doctor, "PUT", "", setup.body("driver-final-changed", number=number), "200"),
        ("the patient does not suspend it", patient, "POST", "/$suspend", reason, "403 HCERT-178"),
        ("the doctor suspends it", doctor, "POST", "/$suspend", reason, "200"),
        ("the patient reads it, suspended", patient, "GET", "", None, "200"),
        ("the doctor revokes it", doctor, "POST", "/$cancel", json.loads((ROOT / "examples/cancel.json").read_text()), "200"),
        ("the patient does not read it, revoked", patient, "GET", "", None, "403 HCERT-179"),
        ("the doctor does", doctor, "GET", "", None, "200"),
        ("the patient does not read its history", patient, "GET", "/_history", None, "403 HCERT-178"),
    ]:
        answer = setup.send(caller, method, path + to, body)
        checks.that(f"life: {claim}", expected, str(answer) if answer.code() and answer.status >= 400 else str(answer.status))
    checks.that("its history has five versions", 5, setup.send(doctor, "GET", f"{path}/_history").json().get("total"))
    lines = [json.loads(line) for line in hcert.run("audit", "export", "--certificate", path.split("/")[-1]).stdout.splitlines()]
    persons = {person for person in (DOCTOR, nurse.person, PATIENT, official.person) if person in json.dumps(lines)}
    checks.that("the audit trail names all four", {DOCTOR, nurse.person, PATIENT, official.person}, persons)
    return Certificate(path.split("/")[-1], "entered-in-error", "driver-group-I")


def answered_by_role(setup, revoked):
    """Each role asks for everything; the answers are those that `hcert permissions explain` tells."""
    checks, hcert, doctor = setup.checks, setup.hcert, setup.callers["doctor"]
    known = [
        revoked,
        Certificate(setup.created(doctor, setup.body("driver-final")), "final", "driver-group-I"),
        Certificate(setup.created(doctor, setup.body("driver-draft")), "preliminary", "driver-group-I"),
        Certificate(setup.created(doctor, setup.body("occupational-final")), "final", "occupational", employer=EMPLOYER),
        Certificate(
            setup.created(doctor, setup.body("occupational-final", patient="201", employer="10000000")),
            *("final", "occupational", personal_code(900), "10000000"),
        ),
    ]
    for whom in ("doctor", "representative"):
        identity = setup.created(doctor, setup.body("driver-final"))
        consent = {"resourceType": "Parameters", "parameter": [{"name": whom, "valueString": "closed"}]}
        closing = setup.send(setup.callers["patient"], "POST", f"/Composition/{identity}/$set-consent", consent)
        checks.that(f"the patient closes certificate {identity}: {whom}", 200, closing.status)
        known.append(Certificate(identity, "final", "driver-group-I", closed=whom))

    asked = []
    for certificate in known:
        path = f"/Composition/{certificate.id}"
        asked.append(Request("read", "GET", path, about=certificate))
        asked.append(Request("read", "GET", f"{path}/_history/1", about=certificate))
        asked.append(Request("get-consent", "GET", f"{path}/$get-consent", about=certificate))
    # A version is judged as it was, and its certificate as it is now; one was a draft first.
    asked = [it for it in asked if not (it.about is revoked and "_history" in it.path)]
    asked += [
        Request("search", "GET", "/Composition?_count=0"),
        Request("search", "GET", "/Composition?_count=0&status=preliminary", about={"status": "preliminary"}),
        Request("search", "GET", "/Composition?_count=0&status=final", about={"status": "final"}),
        Request("search", "GET", "/Composition?_count=0&category=occupational", about={"category": "occupational"}),
        Request("search", "GET", "/Composition?_count=0&category=driver-group-I", about={"category": "driver-group-I"}),
        Request("history", "GET", "/Composition/_history?_count=1"),
        Request("history", "GET", f"/Composition/{known[1].id}/_history", about=known[1]),
        Request("validate", "POST", "/Composition/$validate", setup.body("driver-final")),
        Request("patient-read", "GET", "/Patient/200", about={"patient": PATIENT}),
        Request("patient-read", "GET", "/Patient/201", about={"patient": personal_code(900)}),
        Request("patient-search", "GET", f"/Patient?identifier={PATIENT}"),
        Request("audit-read", "GET", "/AuditEvent?_count=0"),
        Request("metadata", "GET", "/metadata"),
        Request("definitions", "GET", "/StructureDefinition?_count=0"),
    ]
    everybody = [caller for caller in setup.callers.values() if caller.roles and caller.roles[0] in setup.rights]
    wrong = {caller.name: [] for caller in everybody}
    for caller in everybody:
        for request in asked:
            wrong[caller.name] += judged(setup, caller, request, known)
    # What changes something, each time on certificates of its own.
    for caller in everybody:
        for request in changes(setup, caller):
            wrong[caller.name] += judged(setup, caller, request, known)
    for caller in everybody:
        claim = f"{caller.name}: each of {len(asked) + 7} requests is answered as hcert permissions explain says"
        checks.that(claim, [], wrong[caller.name])


def changes(setup, caller):
    """Requests that change something, and the certificates for them. An author has to be the caller, so that bodies differ."""
    doctor = setup.callers["doctor"]
    number = f"TT-2026-{800000 + setup.numbers}"
    draft = Certificate(setup.created(doctor, setup.body("driver-draft", number=number)), "preliminary", "driver-group-I")
    final = Certificate(setup.created(doctor, setup.body("driver-final")), "final", "driver-group-I")
    opened = {"resourceType": "Parameters", "parameter": [{"name": "doctor", "valueString": "open"}]}
    suspend, cancel = (json.loads((ROOT / f"examples/{name}.json").read_text()) for name in ("suspend", "cancel"))
    suspended = dataclasses.replace(final, status="cancelled")
    yield Request("create", "POST", "/Composition", setup.body("driver-draft", author=caller.person), good=201)
    yield Request("update", "PUT", f"/Composition/{draft.id}", setup.body("driver-draft", author=caller.person, number=number), draft)
    yield Request("set-consent", "POST", f"/Composition/{final.id}/$set-consent", opened, final)
    yield Request("suspend", "POST", f"/Composition/{final.id}/$suspend", suspend, final)
    yield Request("cancel", "POST", f"/Composition/{final.id}/$cancel", cancel, suspended)
    yield Request("validate", "GET", f"/Composition/{draft.id}/$validate", about=draft)
    yield Request("delete", "DELETE", f"/Composition/{draft.id}", about=draft, good=204)


def judged(setup, caller, request, known):
    """What is wrong with the answer to one request."""
    ways = [way for role in caller.roles for way in setup.rights[role].get(request.action, [])]
    reached = [way for way in ways if reaches(way, request.about, caller)]
    expected = "403 HCERT-178" if not ways else "403 HCERT-179" if not reached else str(request.good)
    if request.action in ("metadata", "definitions"):
        expected = "200"
    answer = setup.send(caller, request.method, request.path, request.body)
    came = str(answer) if answer.status >= 400 else str(answer.status)
    if came != expected:
        return [f"{request.method} {request.path}: expected {expected}, came {came}"]
    if expected != "200":
        return []
    if request.path == "/Composition?_count=0":
        total = sum(any(reaches(way, certificate, caller) for way in ways) for certificate in known)
        if answer.json()["total"] != total:
            return [f"{request.path}: expected a total of {total}, came {answer.json()['total']}"]
    if request.action == "read" and request.about.category == "occupational":
        view = "full" if any(way["view"] == "full" for way in reached) else "employer"
        shown = "employer" if answer.json()["meta"]["profile"][0].endswith("-employer") else "full"
        if shown != view:
            return [f"{request.path}: expected the view {view}, came {shown}"]
    return []


def reaches(way, about, caller):
    """Whether one row of rights reaches a certificate, or what a dictionary says of one."""
    facts = about or {}
    if isinstance(about, Certificate):
        facts = dataclasses.asdict(about)
    within = all(way[name] is None or name not in facts or facts[name] in way[name] for name in ("status", "category"))
    of_patient = not way["patientOfToken"] or "patient" not in facts or facts["patient"] == caller.patient
    of_employer = not way["employerOfToken"] or "employer" not in facts or facts["employer"] == caller.employer
    closed = facts.get("closed")
    hidden = closed == "doctor" and way["closedToDoctorsHidden"] and facts["author"] != caller.person
    hidden |= closed == "representative" and way["closedToRepresentativesHidden"]
    return within and of_patient and of_employer and not hidden


def personal_code(serial):
    """A code that is right by its last digit; nobody has it."""
    digits = f"4940313{serial:03}"
    for weights in ("1234567891", "3456789123"):
        rest = sum(int(digit) * int(weight) for digit, weight in zip(digits, weights)) % 11
        if rest < 10:
            return f"{digits}{rest}"
    return f"{digits}0"
