"""What is packaged, judged from outside; tests/outside/packaging calls it.

    packed.py alerts ALERTS TESTS METRICS       each alert has a test that it comes and one that it does not, of labels that there are
    packed.py dashboard GRAFANA                 its expressions, as rules for promtool
    packed.py chart CHART [VALUES] < RENDERED   what Kubernetes would get
    packed.py compose FOLDER MADE               the compose files, and what they name; MADE is the folder that `prepare` has made
    packed.py bill BILL NOTICES < CRATES        the bill of materials, and the notices of third parties
    packed.py image IMAGE FOLDER                what is in the image, unpacked into a folder
    packed.py run FOLDER                        the image's program in that folder, and its health check (root)

Each prints one line when all is right, and ends with 1 and everything that is not.
"""

import gzip
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request

# Schemas of the newest Kubernetes that the package brings along, and of the oldest that the chart is for: ReadWriteOncePod was new in 1.29.
KUBERNETES = ["1.29", "1.35"]
IMAGE_BYTES_MAX = 40_000_000
SHELLS = {"sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox", "toybox"}
problems = []


def wrong(text):
    problems.append(text)


def expect(what, found, wanted):
    if found != wanted:
        wrong(f"{what}: {found!r}, not {wanted!r}")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def alerts(rules, tests, metrics):
    import yaml

    labels = {}
    for line in read(metrics).splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 4 and cells[1].startswith("`"):
            labels[cells[1].strip("`")] = set(re.findall(r"`(\w+)`", cells[3]))
    cases = [case for test in yaml.safe_load(read(tests))["tests"] for case in test["alert_rule_test"]]
    every = [rule for group in yaml.safe_load(read(rules))["groups"] for rule in group["rules"]]
    for rule in every:
        name = rule["alert"]
        results = {bool(case.get("exp_alerts")) for case in cases if case["alertname"] == name}
        if True not in results:
            wrong(f"{name} has no test in which it comes")
        if False not in results:
            wrong(f"{name} has no test in which it does not come")
        for metric, selector in re.findall(r"\b(hcert_\w+|process_\w+)\s*(?:\{([^}]*)\})?", rule["expr"]):
            known = labels.get(metric, labels.get(metric.removesuffix("_bucket")))
            if known is None:
                wrong(f"{name}: there is no metric {metric}")
                continue
            for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector):
                if label not in known:
                    wrong(f"{name}: {metric} has no label {label}")
    unknown = {case["alertname"] for case in cases} - {rule["alert"] for rule in every}
    if unknown:
        wrong(f"tests of alerts that are not there: {sorted(unknown)}")
    return f"{len(every)} alerts, each with tests that it comes and that it does not"


def dashboard(path):
    board = json.loads(read(path))
    panels = [panel for row in board["panels"] for panel in [row, *row.get("panels", [])]]
    found = [target["expr"] for panel in panels for target in panel.get("targets", [])]
    if not found:
        wrong("the dashboard asks for nothing")
    # JSON is YAML too.
    rules = [{"record": f"panel:expression:{at}", "expr": expression} for at, expression in enumerate(found)]
    return json.dumps({"groups": [{"name": "dashboard", "rules": rules}]})


def names_used(chart):
    """Values that templates use, such as service.port."""
    used = set()
    for folder, _, files in os.walk(os.path.join(chart, "templates")):
        for name in files:
            used.update(re.findall(r"\.Values\.([\w.]+)", read(os.path.join(folder, name))))
    return used


def chart(folder, values=None):
    import kubernetes_validate
    import tomllib
    import yaml

    about = yaml.safe_load(read(os.path.join(folder, "Chart.yaml")))
    defaults = yaml.safe_load(read(os.path.join(folder, "values.yaml")))
    given = {**defaults, **(yaml.safe_load(read(values)) if values else {})}
    used = names_used(folder)
    for name in used:
        place = defaults
        for part in name.split("."):
            place = place.get(part) if isinstance(place, dict) else None
        if place is None:
            wrong(f"values.yaml does not name {name}, which a template uses")
    for name in defaults:
        if not any(it.split(".")[0] == name for it in used):
            wrong(f"no template uses {name} of values.yaml")

    objects = [it for it in yaml.safe_load_all(sys.stdin.read()) if it]
    for it in objects:
        title = f"{it['kind']} {it['metadata']['name']}"
        for version in KUBERNETES:
            try:
                kubernetes_validate.validate(it, version, strict=True)
            except Exception as error:  # One type for each way in which it is no such object.
                place = ".".join(str(part) for part in getattr(error, "path", []))
                wrong(f"{title}, Kubernetes {version}: {place}: {getattr(error, 'message', error)}")
    kinds = {}
    for it in objects:
        kinds.setdefault(it["kind"], []).append(it)
    expect("what runs programs", sorted(set(kinds) - {"Service", "ConfigMap", "NetworkPolicy"}), ["StatefulSet"])
    (workload,) = kinds["StatefulSet"]
    expect("replicas", workload["spec"].get("replicas"), 1)
    expect("disk", [claim["spec"]["accessModes"] for claim in workload["spec"]["volumeClaimTemplates"]], [["ReadWriteOncePod"]])

    pod = workload["spec"]["template"]
    labels, spec = pod["metadata"]["labels"], pod["spec"]
    secure = spec["securityContext"]
    expect("runAsNonRoot", secure.get("runAsNonRoot"), True)
    expect("runAsUser", secure.get("runAsUser"), 10001)
    expect("seccomp", secure.get("seccompProfile"), {"type": "RuntimeDefault"})
    expect("service account", spec.get("automountServiceAccountToken"), False)
    for name in ["hostNetwork", "hostPID", "hostIPC", "initContainers"]:
        expect(name, spec.get(name), None)
    (container,) = spec["containers"]
    rights = container["securityContext"]
    expect("privilege escalation", rights.get("allowPrivilegeEscalation"), False)
    expect("root file system", rights.get("readOnlyRootFilesystem"), True)
    expect("capabilities", rights.get("capabilities"), {"drop": ["ALL"]})
    image = given["image"]
    expect("image", container["image"], f"{image['repository']}:{image.get('tag') or about['appVersion']}")
    if "memory" not in container["resources"].get("limits", {}):
        wrong("the container has no limit of memory")

    (settings,) = kinds["ConfigMap"]
    told = tomllib.loads(settings["data"]["hcert.toml"])
    expect("settings", told, tomllib.loads(given["settings"]))
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    listens = {section: int(told[section]["listen"].rsplit(":", 1)[1]) for section in ["server", "management"]}
    expect("ports", ports, {"fhir": listens["server"], "management": listens["management"]})
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"]:
        expect(probe, container[probe]["httpGet"]["port"], "management")

    volumes = {volume["name"] for volume in spec["volumes"]}
    volumes |= {claim["metadata"]["name"] for claim in workload["spec"]["volumeClaimTemplates"]}
    mounts = {mount["name"] for mount in container["volumeMounts"]}
    expect("volumes that are mounted", mounts, volumes)
    secrets = [source["secret"]["name"] for it in spec["volumes"] for source in it.get("projected", {}).get("sources", [])]
    expect("secrets", secrets, given["secrets"])
    services = {it["metadata"]["name"] for it in kinds["Service"]}
    if workload["spec"]["serviceName"] not in services:
        wrong(f"there is no service {workload['spec']['serviceName']}")
    for it in kinds["Service"] + [workload]:
        selector = it["spec"]["selector"]
        selector = selector.get("matchLabels", selector)
        if not selector.items() <= labels.items():
            wrong(f"{it['kind']} {it['metadata']['name']} selects {selector}, and the pods have {labels}")
    named = [(it, port["targetPort"]) for it in kinds["Service"] for port in it["spec"]["ports"]]
    named += [(it, port["port"]) for it in kinds["NetworkPolicy"] for rule in it["spec"]["ingress"] for port in rule["ports"]]
    for it, name in named:
        if name not in ports:
            wrong(f"{it['kind']} {it['metadata']['name']} names the port {name}, and the container has {ports}")
    return f"{len(objects)} objects: one replica, not root, valid in Kubernetes {' and '.join(KUBERNETES)}"


def compose(folder, made):
    import yaml

    for name in ["dev.yaml", "secure.yaml"]:
        file = yaml.safe_load(read(os.path.join(folder, name)))
        declared = set(file.get("volumes", {}))
        for title, service in file["services"].items():
            if not re.fullmatch(r"[\w./-]+:v?\d[\w.]*", service["image"]):
                wrong(f"{name}, {title}: the image {service['image']} has no version")
            build = service.get("build")
            if build and not os.path.exists(os.path.join(folder, build["context"], build["dockerfile"])):
                wrong(f"{name}, {title}: {build['dockerfile']} is not there")
            for other in service.get("depends_on", []):
                if other not in file["services"]:
                    wrong(f"{name}, {title}: depends on {other}, which is not there")
            for port in service.get("ports", []):
                if not port.startswith("127.0.0.1:"):
                    wrong(f"{name}, {title}: {port} is open to other machines")
            for path in service.get("env_file", []):
                source(name, title, folder, made, path)
            for volume in service.get("volumes", []):
                mounted = volume.split(":")[0]
                if mounted.startswith("."):
                    source(name, title, folder, made, mounted)
                elif mounted not in declared:
                    wrong(f"{name}, {title}: there is no volume {mounted}")
    return "the compose files name versions, and files that are there"


def source(name, title, folder, made, path):
    """A file of this machine that a compose file names is there, or `prepare` makes it."""
    place = os.path.join(made, path.removeprefix("./made/")) if path.startswith("./made/") else os.path.join(folder, path)
    if not os.path.exists(place):
        wrong(f"{name}, {title}: {path} is not there, and prepare does not make it")


def bill(path, notices):
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    text = read(path)
    document = json.loads(text)
    expect("format", (document.get("bomFormat"), document.get("specVersion")), ("CycloneDX", "1.5"))
    for error in list(JsonStrictValidator(SchemaVersion.V1_5).validate_str(text, all_errors=True) or [])[:10]:
        wrong(f"{path}: {error}")
    for private in {os.path.expanduser("~"), os.getcwd()}:
        if private + "/" in text:
            wrong(f"{path} holds a path of this machine: {private}")
    components = [document["metadata"]["component"], *document["components"]]
    listed = {(it["name"], it["version"]) for it in components}
    told = read(notices)
    crates, ours = set(), set()
    for line in sys.stdin:
        name, version, *rest = line.split()
        crate = (name, version.removeprefix("v"))
        # A crate of the project has its folder behind it.
        (ours if rest and rest[0].startswith("(/") else crates).add(crate)
    if len(crates) < 50 or not ours:
        wrong(f"the program has {len(crates)} crates of others and {len(ours)} of its own")
    for name, version in sorted((crates | ours) - listed):
        wrong(f"the bill of materials lacks {name} {version}")
    for name, version in sorted(crates):
        if f"\n  {name} {version}\n" not in told:
            wrong(f"the notices lack {name} {version}")
    without = sorted(it["name"] for it in document["components"] if not it.get("licenses"))
    if without:
        wrong(f"the bill of materials tells no licence of {', '.join(without)}")
    return f"{len(crates)} crates of others and {len(ours)} of its own, with licences, of {len(listed)} in the bill of materials"


def image(path, folder):
    with tarfile.open(path) as archive:
        (manifest,) = json.load(archive.extractfile("manifest.json"))
        config = json.load(archive.extractfile(manifest["Config"]))
        layers = [archive.extractfile(name).read() for name in manifest["Layers"]]
    layers = [gzip.decompress(layer) if layer[:2] == b"\x1f\x8b" else layer for layer in layers]
    expect("hashes of layers", config["rootfs"]["diff_ids"], [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers])
    size = sum(map(len, layers))
    if size > IMAGE_BYTES_MAX:
        wrong(f"the layers have {size} bytes, and {IMAGE_BYTES_MAX} are allowed")

    run = config["config"]
    expect("user", run.get("User"), "10001:10001")
    expect("entry point", run.get("Entrypoint"), ["/usr/local/bin/hcert"])
    expect("health check", run.get("Healthcheck", {}).get("Test"), ["CMD", "/usr/local/bin/hcert", "health"])
    expect("volumes", sorted(run.get("Volumes", {})), ["/var/lib/hcert"])
    expect("signal", run.get("StopSignal"), "SIGTERM")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(run, file)
    root = os.path.join(folder, "root")
    members = {}
    for at, layer in enumerate(layers):
        with open(os.path.join(folder, f"layer-{at}.tar"), "wb") as file:
            file.write(layer)
        with tarfile.open(os.path.join(folder, f"layer-{at}.tar")) as archive:
            for member in archive:
                members[member.name.removeprefix("./").rstrip("/")] = member
            archive.extractall(root, numeric_owner=True, **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))
    for name, member in members.items():
        base = os.path.basename(name)
        if base in SHELLS and not member.isdir():
            wrong(f"there is a shell: {name}")
        if member.isreg() and member.mode & 0o6000:
            wrong(f"{name} runs as its owner, {member.mode:o}")
        if member.isreg() and member.mode & 0o002:
            wrong(f"everybody may write {name}")
    for name in ["LICENSE", "THIRD-PARTY.txt"]:
        if f"usr/share/doc/hcert/{name}" not in members:
            wrong(f"{name} is not in the image")
    for name in ["etc/ssl/certs/ca-certificates.crt", "etc/hcert/hcert.toml", "etc/passwd", "usr/local/bin/hcert"]:
        if name not in members:
            wrong(f"{name} is not in the image")
    data = members.get("var/lib/hcert")
    if data is None or (data.uid, data.gid, data.mode & 0o777) != (10001, 10001, 0o700):
        wrong(f"/var/lib/hcert belongs to {data and (data.uid, data.gid, oct(data.mode))}")
    return f"{size / 1e6:.1f} MB unpacked, {os.path.getsize(path) / 1e6:.1f} MB packed, user 10001, no shell, licences, health check"


def run(folder):
    """Starts `hcert dev` as the image says, in the image's files alone, and asks its health check."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        management = f"127.0.0.1:{free.getsockname()[1]}"
    environment = dict(pair.split("=", 1) for pair in config["Env"])
    environment |= {"HCERT__SERVER__LISTEN": "0.0.0.0:0", "HCERT__MANAGEMENT__LISTEN": management}
    user, group = map(int, config["User"].split(":"))

    def enter():
        os.chroot(os.path.join(folder, "root"))
        os.chdir(config["WorkingDir"])
        os.setgroups([])
        os.setgid(group)
        os.setuid(user)

    def program(*words, **options):
        return subprocess.Popen(list(words), env=environment, preexec_fn=enter, text=True, stdout=subprocess.PIPE, **options)

    check = config["Healthcheck"]["Test"][1:]
    before = program(*check, stderr=subprocess.STDOUT)
    before.communicate(timeout=20)
    if before.returncode == 0:
        wrong("the health check is content while nothing runs")
    log = open(os.path.join(folder, "log"), "w", encoding="utf-8")
    service = program(*config["Entrypoint"], "dev", stderr=log)
    try:
        address = next((line.split()[-1] for line in service.stdout if "listens on" in line), None)
        if address is None:
            wrong(f"it does not start: {read(log.name)[-2000:]}")
            return ""
        deadline = time.monotonic() + 30
        while True:
            asked = program(*check, stderr=subprocess.STDOUT)
            said = asked.communicate(timeout=20)[0]
            if asked.returncode == 0 or time.monotonic() > deadline:
                break
            time.sleep(0.3)
        expect("health check while it runs", (asked.returncode, said if asked.returncode else ""), (0, ""))
        # The address that it prints holds a secret, since others may reach it (Contract 7.2).
        base = re.sub(r"//[^/:]+:", "//127.0.0.1:", address)
        expect("with the secret", status(f"{base}/metadata"), 200)
        secret = re.search(r"/[0-9a-f]{32}(?=/)", base)
        if not secret:
            wrong(f"the address {address} holds no secret")
        elif status(base.replace(secret[0], "") + "/metadata") == 200:
            wrong("it answers without the secret")
    finally:
        service.terminate()
        code = service.wait(timeout=60)
    expect("exit code after SIGTERM", code, 0)
    return "the image's program starts as user 10001, answers with its secret alone, and its health check notices"


def status(address):
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def main():
    words = {"alerts": alerts, "dashboard": dashboard, "chart": chart, "compose": compose, "bill": bill, "image": image, "run": run}
    said = words[sys.argv[1]](*sys.argv[2:])
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(1)
    print(said)


if __name__ == "__main__":
    main()
