"""The secure set-up of packaging/compose, tried from outside without containers: Keycloak issues the tokens, hcert serves over TLS, people
sign in by a browser, and Prometheus reads the metrics.

    secure.py PROGRAM KEYCLOAK PROMETHEUS PROMTOOL

PROGRAM is hcert, KEYCLOAK the folder of Keycloak, the others are programs. Everything is made anew in target/outside/secure, where the logs
stay. Each check is a line; one that fails says what was expected and what came. Exit code 0 when none failed. However the run ends, all
that it started is stopped.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from secure_console import WARNING_S, console
from secure_programs import COMPOSE, ROOT, Hcert, Keycloak, NotRunning, Prometheus, free_ports
from secure_rights import DOCTOR, EMPLOYER, PATIENT, answered_by_role, life, personal_code
from secure_tokens import JWKS_PAUSE_S, JWKS_REFRESH_S, key_roll, realm, refused_tokens

FOLDER = ROOT / "target/outside/secure"
# What a second of Prometheus, or a busy machine, may add.
SLACK_S = 3
KEYCLOAK_START_S = 180
START_S = 30
# Well-formed, of a key x.
MADE_UP_TOKEN = "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.e30.AAAA"
SETTINGS = {
    "HCERT__ACCESS__TOKEN__JWKS_REFRESH_S": str(JWKS_REFRESH_S),
    # Less than the tokens of the console live, so that the warning comes while a page is open.
    "HCERT__CONSOLE__EXPIRY_WARNING_S": str(WARNING_S),
    # One machine has one clock, and an expired token is waited for.
    "HCERT__ACCESS__TOKEN__LEEWAY_S": "0",
    "HCERT__LOG__FORMAT": "json",
}


class Checks:
    """Each check is told as it is made; those that failed are counted."""

    def __init__(self):
        self.began = time.monotonic()
        self.made = 0
        self.failed = 0

    def that(self, claim, expected, came):
        self.made += 1
        if expected == came:
            return self.tell("ok", claim)
        self.failed += 1
        return self.tell("FAILED", f"{claim}: expected {expected}, came {came}")

    def within(self, seconds, claim, expected, ask):
        """Asks until the answer is the expected one."""
        until = time.monotonic() + seconds + SLACK_S
        while (came := ask()) != expected and time.monotonic() < until:
            time.sleep(0.2)
        return self.that(claim, expected, came)

    def tell(self, how, claim):
        print(f"{time.monotonic() - self.began:6.1f} s  {how:6}  {claim}", flush=True)
        return how == "ok"


class Setup:
    """What all parts of the run share."""

    def __init__(self, checks, keycloak, hcert, prometheus):
        self.checks = checks
        self.keycloak = keycloak
        self.hcert = hcert
        self.prometheus = prometheus
        self.numbers = 0
        # Role, then action, then the rows that it reaches.
        self.rights = {}
        self.callers = {}

    def send(self, caller, method, path, body=None):
        return self.hcert.send(method, path, caller.token, body)

    def body(self, example, author=DOCTOR, number=None, patient="200", employer=EMPLOYER):
        """One of examples/, by another author, about another patient, or with another number; a new one when none is named."""
        if number is None:
            self.numbers += 1
            number = f"TT-2026-{self.numbers:06}"
        text = (ROOT / f"examples/{example}.json").read_text()
        text = re.sub(r"TT-2025-\d{6}", number, text).replace(DOCTOR, author)
        return json.loads(text.replace("Patient/200", f"Patient/{patient}").replace(EMPLOYER, employer))

    def created(self, caller, body):
        answer = self.send(caller, "POST", "/Composition", body)
        if answer.status != 201:
            raise NotRunning(f"{caller.name} could not create a certificate: {answer}")
        return answer.headers["Location"].split("/Composition/")[1].split("/")[0]

    def part(self, name="tokens"):
        """Status of the whole, whether it is ready, and status of one part, as /health tells them."""
        told = self.hcert.health().json()
        return told["status"], told["ready"], told["parts"][name]["status"]

    def tokens(self):
        """What /health says of the issuer's keys."""
        return self.hcert.health().json()["parts"]["tokens"]["facts"]

    def alerts(self, *names):
        rules = self.prometheus.rules()
        return [rules.get(name) for name in names]


def files(checks, made, promtool):
    """The files for Prometheus, and the certificates, before anything runs."""
    commands = {
        "promtool takes packaging/monitoring/alerts.yaml": [promtool, "check", "rules", ROOT / "packaging/monitoring/alerts.yaml"],
        "promtool takes packaging/compose/prometheus.yaml": [promtool, "check", "config", FOLDER / "prometheus.yaml"],
    }
    for name in ("hcert", "keycloak"):
        strict = ["openssl", "verify", "-x509_strict", "-CAfile", made / "ca.pem", "-verify_hostname", name]
        commands[f"the certificate of {name} is good for the name of its container"] = [*strict, made / name / f"{name}.pem"]
    for claim, command in commands.items():
        ran = subprocess.run(command, capture_output=True, text=True)
        checks.that(claim, 0, ran.returncode if ran.returncode == 0 else ran.stdout + ran.stderr)


def issuer_not_there_yet(setup):
    """hcert and Prometheus run, and Keycloak does not answer yet: as in containers, which start together."""
    checks, hcert = setup.checks, setup.hcert
    no_keys(setup, "before the issuer ever answered", MADE_UP_TOKEN)
    claim = "Prometheus reads the metrics over TLS with its token"
    checks.within(START_S, claim, [1.0], lambda: setup.prometheus.query('up{job="hcert"}'))
    known = set(re.findall(r"^ +- alert: (\w+)$", (ROOT / "packaging/monitoring/alerts.yaml").read_text(), re.M))
    checks.that("Prometheus has every alert of alerts.yaml", known, set(setup.prometheus.rules()))
    names = ("HcertNotReady", "HcertDown")
    checks.within(START_S, "the alerts HcertNotReady and HcertDown are pending", ["pending"] * 2, lambda: setup.alerts(*names))
    lines = '{"resourceType":"Patient","id":"%s","identifier":[{"system":"https://fhir.ee/sid/pid/est/ni","value":"%s"}]}\n'
    ran = hcert.run("patients", "import", "-", text=lines % ("200", PATIENT) + lines % ("201", personal_code(900)))
    checks.that("two patients are imported meanwhile", "2 lines: 2 stored, 0 there already, 0 not taken", (ran.stdout + ran.stderr).strip())


def no_keys(setup, when, token):
    """What docs/ACCESS.md and docs/MONITORING.md say of a service that has no key that it trusts."""
    checks, hcert = setup.checks, setup.hcert
    ready = hcert.ready()
    checks.that(f"{when} /ready names the tokens", (503, True), (ready.status, ready.json()["why_not"][0].startswith("tokens: ")))
    checks.that(f"{when} /health says that the part tokens is down", (503, ("down", False, "down")), (hcert.health().status, setup.part()))
    checks.that(f"{when} hcert health ends with 1", 1, hcert.run("health").returncode)
    checks.that(f"{when} a token is no fault of its caller", "503 HCERT-230", str(hcert.send("GET", "/Composition?_count=0", token)))
    checks.that(f"{when} no token is 401", "401 HCERT-176", str(hcert.send("GET", "/Composition?_count=0")))
    checks.that(f"{when} /metadata is answered", 200, hcert.send("GET", "/metadata").status)


def issuer_comes(setup, what):
    checks, keycloak = setup.checks, setup.keycloak
    until = time.monotonic() + KEYCLOAK_START_S
    while not keycloak.answers():
        if time.monotonic() > until:
            raise NotRunning(f"keycloak does not answer after {KEYCLOAK_START_S} s\n{keycloak.last_lines()}")
        time.sleep(0.3)
    checks.tell("ok", what)
    checks.within(JWKS_PAUSE_S, "hcert has its keys soon after, and is ready", 200, lambda: setup.hcert.ready().status)
    checks.that("/health says that the part tokens is ok", (True, "ok"), setup.part()[1:])
    checks.that("hcert health --ready ends with 0", 0, setup.hcert.run("health", "--ready").returncode)
    names = ("HcertAbsent", "HcertNotReady", "HcertDown")
    checks.within(5, "the alerts HcertAbsent, HcertNotReady and HcertDown are inactive", ["inactive"] * 3, lambda: setup.alerts(*names))


def addresses(setup):
    """The names that containers have for each other, what is published, and who may read the metrics."""
    checks, hcert, keycloak = setup.checks, setup.hcert, setup.keycloak
    found = keycloak.address.send("GET", "/realms/hcert/.well-known/openid-configuration", headers={"Host": "keycloak:8444"}).json()
    checks.that("Keycloak answers at its name in compose, and stays the issuer at localhost", keycloak.issuer, found["issuer"])
    told = hcert.address.send("GET", "/.well-known/smart-configuration").json()
    checks.that("clients are told of the issuer", keycloak.issuer, told["issuer"])
    for claim, token, host, status in [
        ("/metrics without a token", None, None, 401),
        ("/metrics with a token of Keycloak", setup.callers["doctor"].token, None, 401),
        ("/metrics by the name in compose", hcert.management_token, "hcert:8081", 200),
        ("/metrics by a name that is not in management.hosts", hcert.management_token, "elsewhere:8081", 421),
    ]:
        answer = hcert.management.send("GET", "/metrics", token, headers={"Host": host} if host else None)
        checks.that(f"{claim} is {status}", status, answer.status)
    keys = setup.tokens()["keys"]
    claim = "a metric of hcert in Prometheus is what /health says"
    checks.within(2, claim, [float(keys)], lambda: setup.prometheus.query("hcert_token_keys"))


def issuer_down(setup):
    """Keycloak stops; hcert goes on, and is started again without it."""
    checks, hcert, keycloak = setup.checks, setup.hcert, setup.keycloak
    # Not sent yet, so that it is the keys that are remembered and not the token.
    unused = keycloak.token("doctor")
    keycloak.stop()
    checks.that("the issuer is down: a token that was never sent is taken", 200, hcert.send("GET", "/Composition?_count=0", unused).status)
    claim = "the issuer is down: /health says that the part tokens is degraded, and ready"
    checks.within(JWKS_REFRESH_S, claim, ("degraded", True, "degraded"), setup.part)
    problem = setup.tokens().get("last_problem", "")
    checks.that("the issuer is down: /health says why", True, "refused" in problem)
    checks.that("the issuer is down: /ready is 200", 200, hcert.ready().status)
    token = setup.callers["doctor"].token
    created = hcert.send("POST", "/Composition", token, setup.body("driver-draft"))
    checks.that("the issuer is down: certificates are made", 201, created.status)

    checks.that("hcert stops with exit code 0", 0, hcert.stop())
    checks.within(3, "hcert is stopped: the alert HcertAbsent is pending", ["pending"], lambda: setup.alerts("HcertAbsent"))
    hcert.start()
    wait_for_hcert(setup)
    no_keys(setup, "started again without its issuer", token)
    names = ("HcertNotReady", "HcertDown")
    checks.within(3, "the alerts HcertNotReady and HcertDown are pending", ["pending"] * 2, lambda: setup.alerts(*names))

    keycloak.start()
    issuer_comes(setup, "Keycloak is back")
    checks.that("a token of before is taken", 200, hcert.send("GET", "/Composition?_count=0", token).status)
    keycloak.administrator = (0.0, "")
    checks.that("a new token is taken", 200, hcert.send("GET", "/Composition?_count=0", keycloak.token("doctor")).status)
    checks.that("the audit trail is whole", 0, hcert.run("audit", "verify").returncode)


def wait_for_hcert(setup):
    until = time.monotonic() + START_S
    while not setup.hcert.serves():
        if time.monotonic() > until:
            raise NotRunning(f"hcert does not answer after {START_S} s\n{setup.hcert.last_lines()}")
        time.sleep(0.1)


def run(checks, program, keycloak_home, prometheus, promtool):
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True, mode=0o700)
    made = FOLDER / "made"
    subprocess.run([COMPOSE / "prepare", made], check=True, stdout=subprocess.DEVNULL)
    ports = free_ports(("hcert", "console", "management", "keycloak", "prometheus"))
    running = []
    try:
        keycloak = Keycloak(keycloak_home, made, FOLDER, ports["keycloak"], ports["console"])
        hcert = Hcert(program, made, FOLDER, ports, SETTINGS)
        watcher = Prometheus(prometheus, made, FOLDER, ports)
        running = [watcher, hcert, keycloak]
        for each in reversed(running):
            each.start()
        setup = Setup(checks, keycloak, hcert, watcher)
        files(checks, made, promtool)
        wait_for_hcert(setup)
        issuer_not_there_yet(setup)
        issuer_comes(setup, "Keycloak has read the realm")
        realm(setup)
        addresses(setup)
        refused_tokens(setup)
        answered_by_role(setup, life(setup))
        console(setup)
        key_roll(setup)
        issuer_down(setup)
    finally:
        for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(stop, signal.SIG_IGN)
        # Nothing is needed of them any more, and Keycloak hears nothing while it starts.
        for each in running:
            each.stop(patience_s=2)


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
    print(f"{checks.made} checks, {checks.failed} failed" + (f"; the logs are in {os.path.relpath(FOLDER)}" if checks.failed else ""))
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
