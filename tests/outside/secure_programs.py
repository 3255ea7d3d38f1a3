"""The programs of packaging/compose/secure.yaml without their containers, on free ports of this machine, for secure.py.

They get the files of packaging/compose as these are, but for ports, folders and the names of the containers, which become localhost. The
console becomes 127.0.0.1, since for browsers it is another site than Keycloak then, as it is where each has a name of its own.
"""

import base64
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time
import urllib.parse

ROOT = pathlib.Path(__file__).parents[2]
COMPOSE = ROOT / "packaging/compose"
# Bounds what Keycloak takes of this machine, and lets it start sooner than run fast.
JAVA_OPTIONS = "-Xms128m -Xmx512m -XX:-UseG1GC -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
STOP_S = 30


class NotRunning(Exception):
    """A program did not start, or ended by itself."""


class Answer:
    """What came back for one request."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def json(self):
        return json.loads(self.body or b"null")

    def code(self):
        """The code of ours in an OperationOutcome; nothing where it is none."""
        try:
            return self.json()["issue"][0]["details"]["coding"][0]["code"]
        except (ValueError, TypeError, LookupError):
            return None

    def __str__(self):
        return f"{self.status} {self.code() or self.body[:200].decode(errors='replace')}".strip()


class Address:
    """One port of this machine. Without `authority` it is asked in clear."""

    def __init__(self, port, authority=None):
        self.port = port
        self.tls = ssl.create_default_context(cafile=authority) if authority else None

    def send(self, method, path, token=None, body=None, form=None, headers=None):
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if form is not None:
            headers["Content-Type"], body = "application/x-www-form-urlencoded", urllib.parse.urlencode(form)
        elif body is not None:
            headers.setdefault("Content-Type", "application/json")
            body = json.dumps(body)
        if self.tls:
            connection = http.client.HTTPSConnection("localhost", self.port, timeout=30, context=self.tls)
        else:
            connection = http.client.HTTPConnection("localhost", self.port, timeout=30)
        try:
            connection.request(method, path, body=body, headers=headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()


class Program:
    """A process in a group of its own, whose output goes to a file. Ctrl-C at the terminal does not reach it."""

    def __init__(self, name, folder, command, environment=()):
        self.name = name
        self.log = folder / f"{name}.log"
        self.folder = folder
        self.command = [str(part) for part in command]
        self.environment = {**os.environ, **dict(environment)}
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self.environment,
                start_new_session=True,
            )

    def stop(self, patience_s=STOP_S):
        """Ends it and whatever it started, by force where it takes too long. Returns its exit code."""
        if self.process is None:
            return None
        for ending in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, ending)
                self.process.wait(patience_s)
                break
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        code, self.process = self.process.wait(), None
        return code

    def expect_running(self):
        if self.process is None or self.process.poll() is not None:
            raise NotRunning(f"{self.name} ended by itself\n{self.last_lines()}")

    def last_lines(self):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])


class Keycloak(Program):
    """Keycloak as secure.yaml starts it, with the realm that it mounts and an empty database."""

    def __init__(self, home, made, folder, port, console_port):
        home, compose = pathlib.Path(home).resolve(), service_of("keycloak")
        environment = {
            name: value.replace("/made/", f"{made}/keycloak/").replace("8444", str(port))
            for name, value in compose["environment"].items()
        }
        environment.update(line.split("=", 1) for line in (made / "keycloak.env").read_text().split())
        environment.update(KC_HTTP_HOST="127.0.0.1", JAVA_OPTS_APPEND=JAVA_OPTIONS)
        super().__init__("keycloak", folder, ["bash", home / "bin/kc.sh", *compose["command"]], environment)
        shutil.rmtree(home / "data", ignore_errors=True)
        (home / "data/import").mkdir(parents=True)
        realm = replaced(ROOT / "packaging/hcert-realm.json", {"localhost:8445": f"127.0.0.1:{console_port}"})
        (home / "data/import/hcert-realm.json").write_text(realm)
        self.address = Address(port, made / "ca.pem")
        self.issuer = f"https://localhost:{port}/realms/hcert"
        self.administrator = (0.0, "")
        self.secrets = {}

    def answers(self):
        self.expect_running()
        try:
            return self.address.send("GET", "/realms/hcert").status == 200
        except OSError:
            return False

    def admin(self, method, path, body=None, good=(200, 201, 204)):
        """One request to the admin API of the realm; ends everything where it is not taken."""
        answer = self.address.send(method, f"/admin/realms/hcert{path}", self.administrator_token(), body)
        if answer.status not in good:
            raise NotRunning(f"keycloak: {method} {path}: {answer}")
        return answer

    def administrator_token(self):
        # It lives for a minute.
        got, token = self.administrator
        if time.monotonic() - got > 30:
            name, password = (self.environment[f"KC_BOOTSTRAP_ADMIN_{what}"] for what in ("USERNAME", "PASSWORD"))
            form = {"grant_type": "password", "client_id": "admin-cli", "username": name, "password": password}
            token = self.address.send("POST", "/realms/master/protocol/openid-connect/token", form=form).json()["access_token"]
            self.administrator = (time.monotonic(), token)
        return token

    def client(self, name):
        return self.admin("GET", f"/clients?clientId={name}").json()[0]

    def tokens(self, user, client="clinic", **more):
        """All tokens that a user gets from a client by password."""
        if client not in self.secrets:
            self.secrets[client] = self.admin("GET", f"/clients/{self.client(client)['id']}/client-secret").json()["value"]
        form = {"grant_type": "password", "client_id": client, "client_secret": self.secrets[client]}
        form |= {"username": user, "password": user, **more}
        answer = self.address.send("POST", "/realms/hcert/protocol/openid-connect/token", form=form)
        if answer.status != 200:
            raise NotRunning(f"keycloak gives {user} no token: {answer}")
        return answer.json()

    def token(self, user, client="clinic"):
        return self.tokens(user, client)["access_token"]


class Hcert(Program):
    """`hcert serve` with the settings that packaging/compose/prepare makes. `settings` are more of them, as variables."""

    def __init__(self, program, made, folder, ports, settings):
        self.program = str(pathlib.Path(program).resolve())
        self.settings = folder / "hcert.toml"
        text = replaced(
            made / "hcert/hcert.toml",
            {
                "0.0.0.0:8443": f"127.0.0.1:{ports['hcert']}",
                "localhost:8443": f"localhost:{ports['hcert']}",
                "0.0.0.0:8445": f"127.0.0.1:{ports['console']}",
                "localhost:8445": f"127.0.0.1:{ports['console']}",
                "localhost:8444": f"localhost:{ports['keycloak']}",
                "keycloak:8444": f"localhost:{ports['keycloak']}",
                "0.0.0.0:8081": f"127.0.0.1:{ports['management']}",
                "/etc/hcert/": f"{made}/hcert/",
            },
        )
        self.settings.write_text(text)
        environment = {"HCERT__STORAGE__DATA": str(folder / "data"), **settings}
        command = [self.program, *service_of("hcert")["command"], "--config", self.settings]
        super().__init__("hcert", folder, command, environment)
        self.address = Address(ports["hcert"], made / "ca.pem")
        self.management = Address(ports["management"], made / "ca.pem")
        self.console = f"https://127.0.0.1:{ports['console']}/console"
        self.authority = made / "ca.pem"
        self.management_token = (made / "hcert/management-token").read_text()

    def run(self, *arguments, text=None):
        """A command of the program, with the settings of the server."""
        command = [self.program, *arguments, "--config", str(self.settings)]
        return subprocess.run(command, input=text, capture_output=True, text=True, cwd=self.folder, env=self.environment)

    def serves(self):
        self.expect_running()
        try:
            return self.address.send("GET", "/fhir/metadata").status == 200
        except OSError:
            return False

    def send(self, method, path, token=None, body=None):
        headers = {"Content-Type": "application/fhir+json"} if body is not None else None
        return self.address.send(method, f"/fhir{path}", token, body, headers=headers)

    def ready(self):
        return self.management.send("GET", "/ready")

    def health(self):
        return self.management.send("GET", "/health", self.management_token)


class Prometheus(Program):
    """Prometheus with the file of secure.yaml and the alerts as they are. It asks and judges every second instead of every few."""

    def __init__(self, program, made, folder, ports):
        self.settings = folder / "prometheus.yaml"
        text = replaced(
            COMPOSE / "prometheus.yaml",
            {
                "scrape_interval: 15s": "scrape_interval: 1s, evaluation_interval: 1s",
                "/made/": f"{made}/prometheus/",
                "hcert:8081": f"localhost:{ports['management']}",
            },
        )
        self.settings.write_text(text)
        shutil.copy(ROOT / "packaging/monitoring/alerts.yaml", folder)
        command = [program, f"--config.file={self.settings}", f"--storage.tsdb.path={folder / 'metrics'}"]
        command += [f"--web.listen-address=127.0.0.1:{ports['prometheus']}", "--log.level=warn"]
        super().__init__("prometheus", folder, command)
        self.address = Address(ports["prometheus"])

    def query(self, expression):
        """The values of an expression; none before it answers."""
        self.expect_running()
        try:
            answer = self.address.send("GET", "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        except OSError:
            return []
        return [float(found["value"][1]) for found in answer.json()["data"]["result"]] if answer.status == 200 else []

    def rules(self):
        """Name and state of each alert."""
        groups = self.address.send("GET", "/api/v1/rules").json()["data"]["groups"]
        return {rule["name"]: rule["state"] for group in groups for rule in group["rules"]}


def service_of(name):
    """Command and variables of one service of secure.yaml, which is written so that lines are enough to read it."""
    text = (COMPOSE / "secure.yaml").read_text()
    lines = re.search(rf"^  {name}:\n((?:    .*\n|\n)+)", text, re.M)[1]
    variables = re.search(r"^    environment:\n((?:      .*\n)+)", lines, re.M)
    found = re.findall(r"^      (\w+): (.*)$", variables[1] if variables else "", re.M)
    return {
        "command": json.loads(re.search(r"^    command: (.*)$", lines, re.M)[1]),
        "environment": {name: value.strip('"') for name, value in found},
    }


def replaced(file, changes):
    """The text of a file with other ports and folders; each that is changed has to be there."""
    text = file.read_text()
    for old, new in changes.items():
        if old not in text:
            raise NotRunning(f"{file} does not have {old}")
        text = text.replace(old, new)
    return text


def free_ports(names):
    """A port for each name that nobody listens at now."""
    sockets = {name: socket.create_server(("127.0.0.1", 0)) for name in names}
    ports = {name: held.getsockname()[1] for name, held in sockets.items()}
    for held in sockets.values():
        held.close()
    return ports


def part_of(token, number):
    """Header (0) or claims (1) of a token."""
    part = token.split(".")[number]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
