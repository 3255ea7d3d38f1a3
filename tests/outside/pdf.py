"""Certificates in print, tried from outside: hcert makes the files, and other programs read them (Contract 8.8).

    pdf.py PROGRAM CLASSPATH

PROGRAM is hcert, CLASSPATH the file with the class path of veraPDF. Everything is made anew in target/outside/pdf, where the files stay.
HCERT_PDFS generated certificates and certificates with HCERT_FUZZED texts that nobody would write are printed beside the examples (60 and
100 by default; 1000 and 10000 are the full run). HCERT_WRITE=1 stores the pictures anew. Each line stands for one or more checks; one that
fails says which. Exit code 0 when none failed.
"""

import collections
import concurrent.futures
import dataclasses
import html
import json
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

import pdf_pictures
from pdf_made import DRAFTS, EXAMPLES_FROM, Made, examples, fuzzed, timed
from secure_programs import ROOT, Address, NotRunning, Program, free_ports

FOLDER = ROOT / "target/outside/pdf"
# What stands in the files, wherever the server listens.
BASE_URL = "http://127.0.0.1:8080/fhir"
START_S = 30
LANGUAGES = ("et", "en")
# By whom the examples are printed, and what else their tokens say.
CALLERS = {
    "doctor": ["--person", "49403136515", "--organization", "90006399"],
    "gov-official": ["--person", "37605030299"],
    "org-legal-representative": ["--person", "37605030299", "--represented-party", "16978044"],
    "patient": ["--person", "39406240015"],
}
# The start of a Java process is dear, and so is what it never gives back.
FILES_PER_JAVA = 200
JAVA = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g"]
# poppler before 25.01 wants no `Suspects` but true.
KNOWN_NOISE = "Syntax Error: Suspects object is wrong type (boolean)"
VERIFICATION = {"et": "Kontrollimine", "en": "Verification"}
HIDDEN = "Jätkata füsioterapeudi õpetatud harjutusi"
MEMORY_OF_ONE_MB = 8
STATES_OF = {"preliminary": "draft", "cancelled": "suspended", "entered-in-error": "revoked"}
# What codes are called, by hand, beside what the certificate itself says: Estonian, English.
TERMS = {
    "171353001": ("Sobib mootorsõidukit juhtima", "Fit to drive"),
    "225891002": ("Sobib töötama teatud piirangutega", "Fit for work with certain limitations"),
    "160910001": ("Ei sobi töötama", "Unfit for work"),
    "01.06": ("prillid või kontaktläätsed", "glasses or contact lenses"),
    "02": ("kuuldeaparaat", "hearing aid"),
    "586": ("Vältida käsitsi raskuste teisaldamist üle 15 kg", "Should be avoided manual handling of loads over 15 kg"),
    "891": ("Ei sobi töötama üksinda", "Not fit to work alone"),
    "558": ("Raskuste käsitsi teisaldamine", "Manual handling of loads"),
    "114": ("Kantserogeenid", "Carcinogens"),
    "personal-protective-equipment": ("Isikukaitsevahendid", "Provision of personal protective equipment"),
    "driver-group-I": ("A-, AM-, B- ja BE-kategooria", "A, AM, B and BE category"),
    "driver-group-II": ("C-, CE-, D- ja DE-kategooria", "C, CE, D and DE category"),
    "occupational": ("Töötervishoiualane läbivaatus", "Occupational health examination"),
    "draft": ("MUSTAND", "DRAFT"),
    "completed": ("Lõpetatud. Tervisetõend on välja antud.", "Completed. The certificate has been issued."),
    "suspended": ("PEATATUD", "SUSPENDED"),
    "revoked": ("TÜHISTATUD", "REVOKED"),
}


class Checks:
    """Each line is one or more checks; the first of those that failed are told."""

    def __init__(self):
        self.began, self.made, self.failed = time.monotonic(), 0, 0

    def all(self, claim, count, problems):
        self.made += count
        self.failed += len(problems)
        self.tell("FAILED" if problems or not count else "ok", f"{claim}: {count - len(problems)} of {count}")
        for problem in problems[:8]:
            print(f"          {problem}", flush=True)
        if not count:
            self.failed += 1

    def that(self, claim, expected, came):
        self.all(claim, 1, [] if expected == came else [f"expected {expected}, came {came}"])

    def tell(self, how, claim):
        print(f"{time.monotonic() - self.began:6.1f} s  {how:6}  {claim}", flush=True)


class Dev(Program):
    """`hcert dev` over a folder, by the clock of a time zone. Without a token each role may see what it may see."""

    def __init__(self, program, name, data, zone="UTC"):
        self.program, self.data = str(pathlib.Path(program).resolve()), data
        ports = free_ports(("hcert", "management"))
        environment = {
            "HCERT__SERVER__BASE_URL": BASE_URL,
            "HCERT__MANAGEMENT__LISTEN": f"127.0.0.1:{ports['management']}",
            "HCERT__ACCESS__TOKEN__DEVELOPER_SECONDS": "7200",
            "TZ": zone,
        }
        command = [self.program, "dev", "--data", data, "--listen", f"127.0.0.1:{ports['hcert']}"]
        super().__init__(name, FOLDER, command, environment)
        self.address = Address(ports["hcert"])

    def run(self, *arguments):
        """A command over the data folder; what it wrote to standard output."""
        command = [self.program, *map(str, arguments), "--data", str(self.data)]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER, env=self.environment)
        if ran.returncode != 0:
            raise NotRunning(f"{' '.join(command)} ended with {ran.returncode}\n{ran.stderr}")
        return ran.stdout + ran.stderr

    def send(self, method, path, token=None, body=None, language=None):
        headers = {"Content-Type": "application/fhir+json"} if body is not None else {}
        if language:
            headers["Accept-Language"] = language
        return self.address.send(method, f"/fhir{path}", token, body, headers=headers)

    def begin(self):
        self.start()
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            self.expect_running()
            try:
                if self.send("GET", "/metadata").status == 200:
                    return self
            except OSError:
                pass
            time.sleep(0.1)
        raise NotRunning(f"{self.name} does not answer after {START_S} s\n{self.last_lines()}")

    def peak_mb(self, is_from_now=False):
        """The most memory that it has had, or has had since this was last asked for from now on."""
        process = pathlib.Path(f"/proc/{self.process.pid}")
        if is_from_now:
            (process / "clear_refs").write_text("5")
        return int(re.search(r"VmHWM:\s+(\d+)", (process / "status").read_text())[1]) / 1024


@dataclasses.dataclass
class Printed:
    """A file, and the read that it shows."""

    name: str
    made: Made
    role: str
    language: str
    address: str
    entry: str
    resource: bytes
    file: pathlib.Path
    layout: str = ""
    reading: str = ""


def ran(*command, noise=()):
    """What a program wrote, and what is wrong with it: its exit code, or anything that it complains about."""
    done = subprocess.run([str(part) for part in command], capture_output=True)
    told = [line for line in done.stderr.decode(errors="replace").splitlines() if line not in noise]
    wrong = f"{command[0]} ended with {done.returncode}: {' | '.join(told)}" if done.returncode or told else None
    return done.stdout, wrong


def squeezed(text):
    """A text without white space: where lines are broken is no matter, and a hash is broken anywhere."""
    return "".join(text.split())


def certificates(checks, program, pdfs, texts):
    """A data folder with everything, at times that are the same in every run."""
    maker = Dev(program, "maker", FOLDER / "maker").begin()
    try:
        known = examples(maker)
        lines = maker.run("export").splitlines()
    finally:
        maker.stop()
    entries = list(timed(line for line in lines if line.startswith("{")))
    known = [dataclasses.replace(made, id=made.id + EXAMPLES_FROM) for made in known]
    by_id = collections.defaultdict(list)
    for entry in entries:
        by_id[int(entry["resource"]["id"])].append(entry)
    more, newest, patients, count = fuzzed([by_id[made.id] for made in known], texts)
    server = Dev(program, "server", FOLDER / "data")
    generated = [server.program, "generate", "--count", str(pdfs), "--out"]
    subprocess.run([*generated, FOLDER / "generated.ndjson"], check=True, capture_output=True)
    subprocess.run([*generated, FOLDER / "patients.ndjson", "--patients"], check=True, capture_output=True)
    # A developer's registry has them only as long as it has no others.
    shipped = (ROOT / "data/patients.ndjson").read_text().replace("{person_identifier_base}", "https://fhir.ee/sid")
    (FOLDER / "shipped-patients.ndjson").write_text(shipped)
    for name, kept in (("examples", entries), ("fuzzed", more), ("odd-patients", patients)):
        with open(FOLDER / f"{name}.ndjson", "w", encoding="utf-8") as file:
            file.writelines(json.dumps(entry, ensure_ascii=False) + "\n" for entry in kept)
    for name in ("patients", "shipped-patients", "odd-patients", "generated", "examples", "fuzzed"):
        told = server.run(*(["patients"] if "patients" in name else []), "import", FOLDER / f"{name}.ndjson")
        checks.that(f"{name}.ndjson is taken as it is", "0 not taken", (re.findall(r"\d+ not taken", told) or [told])[0])
    ids = {}
    for line in (FOLDER / "generated.ndjson").read_text().splitlines():
        entry = json.loads(line)
        identity = int(entry["fullUrl"].split("/")[1])
        ids[identity] = ids.get(identity, 0) + 1
        if "resource" not in entry:
            del ids[identity]
    return server, known, ids, newest, count


def fetched(server, made, role, language, token=None, kind="example"):
    """One document and the read that it shows; else the two statuses."""
    path = f"/Composition/{made.id}/_history/{made.version}"
    read = server.send("GET", path, token)
    if token is None and role != "doctor":
        read = None
    answer = server.send("GET", f"{path}/$pdf?role={role}", token, language=language)
    if answer.status != 200 or (read and read.status != 200):
        return (read.status if read else None, answer.status)
    name = "-".join([kind, made.example, made.state, str(made.id), role, language])
    file = FOLDER / "files" / f"{name}.pdf"
    file.write_bytes(answer.body)
    return Printed(name, made, role, language, f"{BASE_URL}{path}", answer.headers["x-hcert-entry"], read and read.body, file)


def print_examples(checks, server, known):
    """Every example in every state, role and language. Who may not read it gets no document either."""
    tokens = {role: server.run("token", "--role", role, *more).split()[0] for role, more in CALLERS.items()}
    printed, differing, refused = [], [], 0
    for made in known:
        for role in CALLERS:
            for language in LANGUAGES:
                got = fetched(server, made, role, language, tokens[role])
                if isinstance(got, Printed):
                    printed.append(got)
                elif got == (403, 403):
                    refused += 1
                else:
                    differing.append(f"{made} for {role}: a read answers {got[0]}, $pdf {got[1]}")
    checks.all("a document is there where a read is, and 403 where that is", len(printed) + refused + len(differing), differing)
    return printed, tokens


def print_others(checks, server, ids, newest):
    """Generated and fuzzed certificates, each in one role and language."""
    printed, wrong = [], []
    roles = ("doctor", "gov-official", "doctor", "org-legal-representative")
    for kind, some in (("generated", ids), ("fuzzed", newest)):
        for at, (identity, version) in enumerate(some.items()):
            made, role = Made(kind, "any", identity, version), roles[at % len(roles)] if kind == "generated" else "doctor"
            language = LANGUAGES[at // len(roles) % 2]
            got = fetched(server, made, role, language, kind=kind)
            if got == (None, 403):
                got = fetched(server, made, "doctor", language, kind=kind)
            if isinstance(got, Printed):
                printed.append(got)
            else:
                wrong.append(f"{kind} {identity}: {got}")
    checks.all("generated and fuzzed certificates have a document", len(printed) + len(wrong), wrong)
    return printed


def vera(classpath, files):
    """veraPDF over some files, by both standards that they claim: the lines that are no PASS, and those that are missing."""
    command = [*JAVA, "-cp", classpath, "org.verapdf.apps.GreenfieldCliWrapper", "-f", "0", "--format", "text", "-v", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    passed = {tuple(line.split()[1:]) for line in done.stdout.splitlines() if line.startswith("PASS ")}
    missing = [f"{file}: no PASS of {flavour}" for file in files for flavour in ("3a", "ua1") if (str(file), flavour) not in passed]
    if missing or done.returncode:
        missing += [line for line in (done.stdout + done.stderr).splitlines() if line and not line.startswith("PASS ")][:20]
        missing = missing or [f"veraPDF ended with {done.returncode}"]
    return missing


def rules(classpath, file):
    """How many rules and single checks a file passes, by standard."""
    told = []
    for flavour in ("3a", "ua1"):
        command = [*JAVA, "-cp", classpath, "org.verapdf.apps.GreenfieldCliWrapper", "-f", flavour, str(file)]
        report = subprocess.run(command, capture_output=True, text=True).stdout
        found = re.search(r'passedRules="(\d+)" failedRules="(\d+)" passedChecks="(\d+)" failedChecks="(\d+)"', report)
        told.append(f"{flavour} {found[1]} rules with {found[3]} checks" if found else f"{flavour} cannot be read")
    return ", ".join(told)


def values(document):
    """What has to stand on the paper, by the certificate and by the hand-written terms."""
    made, at = document.made, LANGUAGES.index(document.language)
    resource = json.loads(document.resource)
    found = ["39406240015", "Taavi Kask", document.role, document.entry, document.address, TERMS[made.state][at]]
    # The second of the version, by Tallinn's clock.
    day, clock = resource["meta"]["lastUpdated"][:19].split("T")
    found.append(f"{made.version}, {date(day)} {clock}")
    kinds = [coding["code"] for category in resource["category"] for coding in category["coding"]]
    found += [TERMS[code][at] for code in kinds] + [resource["title"], date(resource["date"])]
    for period in (event["period"] for event in resource.get("event", [])):
        found.append(f"{date(period['start'])} – {date(period['end'])}")
    for value, path in leaves({name: resource[name] for name in ("contained", "identifier", "section")}):
        name = path[-1]
        if name == "code" and path[-2] != "valueQuantity" and value in TERMS:
            found.append(TERMS[value][at])
        elif name == "text" or (name == "value" and "identifier" in path):
            found.append(value)
        elif name == "display" and "performer" in path:
            found.append(value)
        elif name == "div":
            found.append(html.unescape(re.sub(r"<[^>]*>", "", value)))
        elif name == "reference" and not value.startswith(("#", "Patient/")):
            # People and institutions are told by their codes.
            found.append(value.split("/")[1] if value.startswith(("Practitioner/", "Organization/")) else value)
        elif name == "value" and path[-2] == "valueQuantity":
            found.append(str(value).replace(".", ",") if document.language == "et" else str(value))
    return found


def leaves(value, path=()):
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, key))
    else:
        yield value, path


def date(text):
    return ".".join(reversed(text[:10].split("-")))


def read_texts(checks, documents, others):
    """As the page looks, and of the examples in reading order: a long label and its value lie in each other's lines on the page."""
    problems = []
    for documents_of_kind, ways in ((documents, {"layout": ["-layout"], "reading": []}), (others, {"layout": ["-layout"]})):
        for document in documents_of_kind:
            for name, how in ways.items():
                text, wrong = ran("pdftotext", *how, document.file, "-")
                setattr(document, name, text.decode())
                problems += [f"{document.name}: {wrong}"] if wrong else []
    checks.all("pdftotext reads the files", 2 * len(documents) + len(others), problems)


def states(checks, documents):
    """What is not valid says so on its first page, in the band and above it, however long its texts are."""
    problems, count = [], 0
    for document in documents:
        state = STATES_OF.get(json.loads(document.resource)["status"]) if document.resource else None
        if state:
            count += 1
            word, first = TERMS[state][LANGUAGES.index(document.language)], document.layout.split("\f")[0]
            if first.count(word) < 2:
                problems.append(f"{document.name} says {word} {first.count(word)} times on its first page")
    checks.all("what is not valid says so in the band of its first page", count, problems)


def nothing_missing(checks, documents):
    count, missing = 0, []
    for document in documents:
        texts = [squeezed(document.layout), squeezed(document.reading)]
        for value in values(document):
            count += 1
            if not any(squeezed(value) in text for text in texts):
                missing.append(f"{document.name} does not say {value!r}")
    checks.all("pdftotext finds every value of the certificate", count, missing)


def attachments(checks, documents):
    """What lies in each file is the read, byte for byte."""
    problems, count = [], 0
    folder = FOLDER / "attached"
    for document in documents:
        if document.resource is None:
            continue
        count += 1
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        _, wrong = ran("pdfdetach", "-saveall", "-o", folder, document.file)
        found = {file.name: file.read_bytes() for file in folder.iterdir()}
        if wrong or found != {"composition.json": document.resource}:
            problems.append(f"{document.name}: {wrong or 'another attachment'}, {list(found)}")
    checks.all("pdfdetach gives the bytes of the read", count, problems)


def structure(checks, documents):
    problems = []
    for document in documents:
        told, wrong = ran("qpdf", "--check", document.file)
        if wrong or b"No syntax or stream encoding errors found" not in told:
            problems.append(f"{document.name}: {wrong or told.decode(errors='replace')}")
    checks.all("qpdf --check has nothing to say", len(documents), problems)
    problems = []
    for document in documents:
        told, wrong = ran("pdfinfo", document.file, noise=[KNOWN_NOISE])
        facts = dict(line.split(":", 1) for line in told.decode(errors="replace").splitlines() if ":" in line)
        facts = {name: value.strip() for name, value in facts.items()}
        title = {"et": "Tervisetõend nr ", "en": "Health certificate No. "}[document.language]
        right = (facts.get("Tagged"), facts.get("Encrypted"), facts.get("JavaScript")) == ("yes", "no", "no")
        if wrong or not right or not facts["Title"].startswith(title) or "(A4)" not in facts["Page size"]:
            problems.append(f"{document.name}: {wrong or facts}")
    checks.all("pdfinfo says tagged, a title and A4", len(documents), problems)


def hiding(checks, documents, server, known, tokens):
    """What the employer may not see is nowhere in the file, and closed is closed."""
    def places(document):
        opened, _ = ran("qpdf", "--qdf", document.file, "-")
        told = [document.layout, document.reading, opened.decode(errors="replace"), document.file.read_bytes().decode(errors="replace")]
        words = (HIDDEN, "Ettepanekud töötajale", "Suggestions to the employee", "employee-suggestions")
        return {word for word in words for text in told if squeezed(word) in squeezed(text)}

    of_example = [document for document in documents if document.made.example == "occupational-final"]
    shown = [document for document in of_example if document.role in ("doctor", "patient")]
    problems = [f"{document.name}: {places(document)}" for document in shown if len(places(document)) != 3]
    checks.all("doctors and patients have the suggestions to the employee, on paper and attached", len(shown), problems)
    hidden = [document for document in of_example if document.role in ("gov-official", "org-legal-representative")]
    problems = [f"{document.name}: {places(document)}" for document in hidden if places(document)]
    checks.all("employers and officials have them nowhere in the file, packed or unpacked", len(hidden), problems)
    made = next(made for made in known if (made.example, made.state) == ("driver-final", "completed"))
    path = f"/Composition/{made.id}"
    other = server.run("token", "--role", "doctor", "--person", "37605030299").split()[0]
    for claim, token, access, expected in [
        ("open, another doctor has it printed", other, "open", 200),
        ("closed to doctors, another doctor does not", other, "closed", 403),
        ("closed to doctors, its author does", tokens["doctor"], "closed", 200),
        ("closed to doctors, the patient does", tokens["patient"], "closed", 200),
        ("open again, another doctor has it printed", other, "open", 200),
    ]:
        consent = {"resourceType": "Parameters", "parameter": [{"name": "doctor", "valueString": access}]}
        server.send("POST", f"{path}/$set-consent", tokens["patient"], consent)
        role = "patient" if token == tokens["patient"] else "doctor"
        checks.that(claim, expected, server.send("GET", f"{path}/$pdf?role={role}", token).status)


def heading_of_verification(document):
    """The page of that heading, and its upper edge in points. It is larger than any other text of that word."""
    text, _ = ran("pdftotext", "-bbox", document.file, "-")
    page, best = 0, (0.0, 0, 0.0)
    for line in text.decode().splitlines():
        page += "<page " in line
        found = re.search(r'yMin="([\d.]+)" xMax="[\d.]+" yMax="([\d.]+)">(.*)</word>', line)
        if found and found[3] == VERIFICATION[document.language]:
            best = max(best, (float(found[2]) - float(found[1]), page, float(found[1])))
    return best[1:]


def codes(checks, documents):
    """The QR code, off a page of 150 dots to the inch."""
    problems = []
    for document in documents:
        page, _ = heading_of_verification(document)
        _, wrong = ran("pdftoppm", "-r", "150", "-gray", "-singlefile", "-f", page, "-l", page, document.file, FOLDER / "code")
        told = subprocess.run(["zbarimg", "-q", "--raw", FOLDER / "code.pgm"], capture_output=True, text=True).stdout.strip()
        if wrong or told != f"{document.address}#{document.entry}":
            problems.append(f"{document.name}: {wrong or told!r}")
    checks.all("zbarimg reads address and journal entry off the page", len(documents), problems)


def pictures(checks, documents):
    """First pages beside the stored ones, without what differs in each run: the entry's hash."""
    problems, chosen, is_write = [], 0, os.environ.get("HCERT_WRITE") == "1"
    for document in documents:
        made = document.made
        wanted = DRAFTS if made.state == "draft" else ("driver-final", "occupational-final")
        if made.example not in wanted or document.role != "doctor":
            continue
        chosen += 1
        name = f"{made.example.split('-')[0]}-{made.state}-{document.language}.png"
        picture = pdf_pictures.page(document.file, 1)
        page, top = heading_of_verification(document)
        if page == 1:
            picture = pdf_pictures.blanked(picture, top)
        stored = pdf_pictures.STORED / name
        if is_write:
            pdf_pictures.write(stored, picture)
        share = pdf_pictures.share_apart(picture, pdf_pictures.read(stored)) if stored.exists() else 1.0
        if share > pdf_pictures.SHARE_MAX:
            seen = FOLDER / "pictures" / name
            pdf_pictures.write(seen, picture)
            problems.append(f"{share:.1%} of {seen.relative_to(ROOT)} is not as tests/outside/pictures has it")
    checks.all("pages look as they are stored", chosen, problems)


def same_bytes(checks, program, copied, documents):
    """Another process over a copy of the data folder, by Tokyo's clock."""
    tokyo = Dev(program, "tokyo", copied, "Asia/Tokyo").begin()
    try:
        chosen = [document for document in documents if document.role == "doctor"]
        problems = []
        for document in chosen:
            path = document.address[len(BASE_URL) :]
            body = tokyo.send("GET", f"{path}/$pdf?role={document.role}", language=document.language).body
            if body != document.file.read_bytes():
                problems.append(f"{document.name} has other bytes")
        checks.all("a copy of the data gives the same bytes in another time zone", len(chosen), problems)
    finally:
        tokyo.stop()


def speed(checks, server, document):
    """Told, not judged: another machine has another clock. Only memory without bounds would be a fault."""
    path = f"{document.address[len(BASE_URL):]}/$pdf?role={document.role}"
    took = []
    for _ in range(200):
        began = time.perf_counter()
        server.send("GET", path)
        took.append((time.perf_counter() - began) * 1000)
    middle, worst = statistics.median(took), max(took)
    checks.tell("ok", f"200 documents of a usual certificate one after the other: p50 {middle:.1f} ms, worst {worst:.1f} ms")
    at_once, before = 4, server.peak_mb(is_from_now=True)
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        statuses = collections.Counter(pool.map(lambda _: server.send("GET", path).status, range(100)))
    growth = max(0.0, server.peak_mb() - before)
    checks.that(f"100 documents, {at_once} at once, are made", {200: 100}, dict(statuses))
    checks.tell("ok", f"the peak of memory grew by {growth:.1f} MB from {before:.0f} MB")
    checks.that(f"by at most {MEMORY_OF_ONE_MB} MB for each at once", True, growth <= MEMORY_OF_ONE_MB * at_once)


def run(checks, program, classpath):
    pdfs, texts = (int(os.environ.get(name, usual)) for name, usual in (("HCERT_PDFS", "60"), ("HCERT_FUZZED", "100")))
    classpath = pathlib.Path(classpath).read_text().strip()
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "files").mkdir(parents=True)
    server, known, ids, newest, count = certificates(checks, program, pdfs, texts)
    shutil.copytree(server.data, FOLDER / "copy")
    server.begin()
    try:
        documents, tokens = print_examples(checks, server, known)
        others = print_others(checks, server, ids, newest)
        everything = documents + others
        generated = f"{len(ids)} of generated certificates, {len(newest)} with {count} fuzzed texts"
        checks.tell("ok", f"{len(documents)} files of examples, {generated}")
        with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
            files = [document.file for document in everything]
            random.Random(1).shuffle(files)
            batches = [files[at : at + FILES_PER_JAVA] for at in range(0, len(files), FILES_PER_JAVA)]
            judged = [pool.submit(vera, classpath, batch) for batch in batches]
            read_texts(checks, documents, others)
            states(checks, everything)
            nothing_missing(checks, documents)
            attachments(checks, everything)
            structure(checks, everything)
            hiding(checks, documents, server, known, tokens)
            codes(checks, [document for document in documents if document.role == "doctor"])
            pictures(checks, documents)
            problems = [problem for batch in judged for problem in batch.result()]
        checks.all("veraPDF passes every file as PDF/A-3a and as PDF/UA-1", 2 * len(everything), problems)
        checks.tell("ok", f"of one usual file: {rules(classpath, documents[-1].file)}")
        usual = next(document for document in documents if document.role == "doctor" and document.made.example == "occupational-final")
        speed(checks, server, usual)
        same_bytes(checks, program, FOLDER / "copy", documents)
    finally:
        for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(stop, signal.SIG_IGN)
        server.stop()


def main(arguments):
    for stop in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, lambda number, _: sys.exit(128 + number))
    checks = Checks()
    try:
        run(checks, *arguments)
    except (NotRunning, OSError, subprocess.CalledProcessError) as problem:
        checks.failed += 1
        checks.tell("FAILED", str(problem))
    except KeyboardInterrupt:
        return 130
    print(f"{checks.made} checks, {checks.failed} failed; the files are in {os.path.relpath(FOLDER)}")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
