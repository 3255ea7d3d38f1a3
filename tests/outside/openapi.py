"""The description of the API, tried from outside: its snippets are run, and generated requests are sent.

    openapi.py PROGRAM snippets
    openapi.py PROGRAM requests SCHEMATHESIS [EXAMPLES]

Each language has a server of its own, with empty data, and sends every request once: first the life of Composition/1, then all
that reads it. A snippet whose language is not installed is told of and left out.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request

LIFE = ["Composition-create", "Composition-update", "Composition-set-consent", "Composition-suspend", "Composition-cancel"]
# The certificate of the examples is revoked at last, and only drafts are deleted.
REFUSED = {"Composition-delete": 409}
LANGUAGES = {
    "curl": ("curl", "snippet.sh", ["bash"]),
    "JavaScript": ("node", "snippet.mjs", ["node"]),
    "Python": ("python3", "snippet.py", ["python3"]),
    "Java": ("java", "Example.java", ["java"]),
    "C#": ("dotnet", "snippet.cs", ["dotnet", "run"]),
}
# A virtual machine takes a second each time, so that only the life is sent.
SLOW = {"Java", "C#"}


class Server:
    """`hcert dev` on a free port, with empty data."""

    def __init__(self, program, *flags):
        self.folder = tempfile.TemporaryDirectory()
        command = [program, "dev", "--listen", "127.0.0.1:0", "--data", os.path.join(self.folder.name, "data"), *flags]
        environment = {**os.environ, "HCERT__MANAGEMENT__LISTEN": "", "HCERT__LOG__LEVEL": "error"}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        for line in self.process.stdout:
            if "listens on" in line:
                self.base = line.split()[-1].strip()
                return
        sys.exit(f"{program} did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def document(self):
        with urllib.request.urlopen(self.base + "/openapi.json") as response:
            return json.load(response)


def operations(document):
    every = [operation for methods in document["paths"].values() for operation in methods.values()]
    place = {name: at for at, name in enumerate(LIFE)}
    return sorted(every, key=lambda operation: place.get(operation["operationId"], len(LIFE)))


def snippets(program):
    failed = 0
    for label, (tool, name, command) in LANGUAGES.items():
        if not shutil.which(tool):
            print(f"{label}: {tool} is not installed, so its snippets are not run")
            continue
        with Server(program) as server:
            # Where a snippet puts what it saves.
            os.symlink(os.path.abspath("examples"), os.path.join(server.folder.name, "examples"))
            count = 0
            for operation in operations(server.document()):
                identity = operation["operationId"]
                if label in SLOW and identity not in LIFE:
                    continue
                source = next(sample["source"] for sample in operation["x-codeSamples"] if sample["label"] == label)
                if label == "curl":
                    away = "" if " -o " in source else " -o /dev/null"
                    source = source.rstrip() + f" \\\n {away} -w '%{{http_code}}'\n"
                path = os.path.join(server.folder.name, name)
                with open(path, "w") as file:
                    file.write(source)
                done = subprocess.run([*command, path], capture_output=True, text=True, cwd=server.folder.name)
                told = done.stdout + done.stderr
                wanted = REFUSED.get(identity)
                right = str(wanted) in told if wanted else told[:1] == "2" and done.returncode == 0
                count += 1
                if not right:
                    failed += 1
                    print(f"{label}: {identity}\n{source}\n{told[:600]}")
            print(f"{label}: {count} requests")
    sys.exit(1 if failed else 0)


def requests(program, schemathesis, examples="2"):
    with Server(program, "--demo", "200") as server:
        document = server.document()
        # A write says what its answer has; OpenAPI cannot say that it may be nothing.
        document["components"]["parameters"]["return"].update(
            required=True, schema={"enum": ["return=representation", "return=OperationOutcome"]}
        )
        # Faults of the registry are answers of 503, as they should be.
        for methods in document["paths"].values():
            for operation in methods.values():
                operation["parameters"] = [it for it in operation["parameters"] if not it.get("$ref", "").endswith("/fault")]
        path = os.path.join(server.folder.name, "openapi.json")
        with open(path, "w") as file:
            json.dump(document, file)
        checks = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"]
        command = [schemathesis, "run", path, "--url", server.base, "--checks", ",".join(checks), "--no-color"]
        command += ["--phases", "fuzzing", "--max-examples", examples, "--seed", "1", "--generation-database", "none"]
        sys.exit(subprocess.run(command, cwd=server.folder.name).returncode)


if __name__ == "__main__":
    {"snippets": snippets, "requests": requests}[sys.argv[2]](sys.argv[1], *sys.argv[3:])
