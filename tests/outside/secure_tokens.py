"""Users and tokens of Keycloak, those that hcert refuses, and a roll of the keys: for secure.py."""

import json
import time

from secure_programs import ROOT, part_of
from secure_rights import DOCTOR, EMPLOYER, INSTITUTION, PATIENT, Caller, personal_code

# The shortest that the setting takes. docs/ACCESS.md, "The issuer's keys": asked for again after as long, and for a key that is not known
# every five seconds at most.
JWKS_REFRESH_S = 10
JWKS_PAUSE_S = 5


def realm(setup):
    """Makes a user for every role, one with two roles, one with none and one with a role that hcert does not know."""
    checks, keycloak = setup.checks, setup.keycloak
    table = setup.hcert.run("permissions", "check", "--json").stdout.splitlines()
    for role in (json.loads(line)["role"] for line in table):
        told = setup.hcert.run("permissions", "explain", "--role", role, "--json").stdout.splitlines()
        setup.rights[role] = {line["action"]: line["with"] for line in map(json.loads, told) if line["permitted"]}
    named = json.loads((ROOT / "packaging/hcert-realm.json").read_text())["roles"]["realm"]
    named = [role["name"] for role in named]
    checks.that("hcert knows every role of the realm", [], [role for role in named if role not in setup.rights])

    for role in [*(role for role in setup.rights if role not in named), "cleaner"]:
        keycloak.admin("POST", "/roles", {"name": role})
    roles = {role["name"]: {"id": role["id"], "name": role["name"]} for role in keycloak.admin("GET", "/roles").json()}
    others = [role for role in setup.rights if role not in named]
    clients(keycloak, roles, others)

    callers = [Caller("doctor", ["doctor"], DOCTOR, INSTITUTION)]
    for at, role in enumerate(sorted(set(setup.rights) - {"doctor"})):
        caller = Caller(role, [role], personal_code(at), client="portal" if role in others else "clinic")
        rows = [way for ways in setup.rights[role].values() for way in ways]
        if "create" in setup.rights[role]:
            caller.organization = INSTITUTION
        if any(way["patientOfToken"] for way in rows):
            caller.patient = PATIENT
        if any(way["employerOfToken"] for way in rows):
            caller.employer = EMPLOYER
        if role.startswith("patient"):
            caller.person = PATIENT
        callers.append(caller)
    callers.append(Caller("desk-and-office", ["receptionist", "gov-official"], personal_code(100)))
    callers.append(Caller("nobody", [], personal_code(101)))
    callers.append(Caller("cleaner", ["cleaner"], personal_code(102)))
    for caller in callers:
        user = {"username": caller.name, "enabled": True, "firstName": "Mari", "lastName": "Kask", "attributes": caller.attributes()}
        user["credentials"] = [{"type": "password", "value": caller.name, "temporary": False}]
        identity = keycloak.admin("POST", "/users", user).headers["Location"].rsplit("/", 1)[1]
        if caller.roles:
            keycloak.admin("POST", f"/users/{identity}/role-mappings/realm", [roles[role] for role in caller.roles])
        setup.callers[caller.name] = caller
    no_code = {"username": "stranger", "enabled": True, "firstName": "Mari", "lastName": "Kask"}
    checks.that("a user without a personal code is refused", 400, keycloak.admin("POST", "/users", no_code, good=(201, 400)).status)

    for caller in callers:
        caller.token = keycloak.token(caller.name, caller.client)
    claims = {caller.name: part_of(caller.token, 1) for caller in callers}
    expected = {caller.name: sorted(set(caller.roles) & set(setup.rights)) for caller in callers}
    came = {name: sorted(told.get("role", [])) for name, told in claims.items()}
    differ = [name for name in expected if expected[name] != came[name]]
    checks.that(
        f"{len(setup.rights)} roles and two at once are in the tokens as hcert spells them, and none that it does not know",
        {name: expected[name] for name in differ},
        {name: came[name] for name in differ},
    )
    names = ("iss", "aud", "typ", "personalCode", "organization", "azp")
    told = [claims["doctor"].get(name) for name in names]
    checks.that("a token has the other claims", [keycloak.issuer, "hcert", "Bearer", DOCTOR, INSTITUTION, "clinic"], told)
    lives = claims["doctor"]["exp"] - claims["doctor"]["iat"]
    checks.that("a token lives 300 s", 300, lives)


def clients(keycloak, roles, others):
    """What the page on Keycloak leaves to the operator: roles that act for somebody, with the claims that say for whom."""
    # Hashing passwords slowly is Keycloak's own affair, and would take half a second a user.
    keycloak.admin("PUT", "", {"passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(1)"})
    profile = keycloak.admin("GET", "/users/profile").json()
    for name in ("patient", "representedParty"):
        profile["attributes"].append({"name": name, "permissions": {"view": ["admin"], "edit": ["admin"]}})
    keycloak.admin("PUT", "/users/profile", profile)
    mappers = [{key: value for key, value in mapper.items() if key != "id"} for mapper in keycloak.client("clinic")["protocolMappers"]]
    attribute = next(mapper for mapper in mappers if mapper["name"] == "personal code")
    for name in ("patient", "representedParty"):
        config = {**attribute["config"], "user.attribute": name, "claim.name": name}
        mappers.append({**attribute, "name": name, "config": config})
    client(keycloak, "portal", mappers, [roles[role] for role in others])
    # For the tokens that are refused: one that is for somebody else, and one that soon expires.
    audience = next(mapper for mapper in mappers if mapper["name"] == "audience")
    elsewhere = {**audience, "config": {**audience["config"], "included.custom.audience": "elsewhere"}}
    client(keycloak, "elsewhere", [elsewhere if mapper is audience else mapper for mapper in mappers], [roles["doctor"]])
    client(keycloak, "brief", mappers, [roles["doctor"]], {"access.token.lifespan": "4"})


def client(keycloak, name, mappers, roles, attributes=None):
    """A client that gets tokens for name and password, with these roles and no others."""
    settings = {"clientId": name, "publicClient": False, "standardFlowEnabled": False, "directAccessGrantsEnabled": True}
    settings |= {"fullScopeAllowed": False, "protocolMappers": mappers, "attributes": attributes or {}}
    made = keycloak.admin("POST", "/clients", settings).headers["Location"].rsplit("/", 1)[1]
    keycloak.admin("POST", f"/clients/{made}/scope-mappings/realm", roles)


def refused_tokens(setup):
    """Tokens that docs/ACCESS.md refuses, in its words; and those without a role that hcert knows."""
    checks, hcert, keycloak = setup.checks, setup.hcert, setup.keycloak
    brief = keycloak.token("doctor", "brief")
    checks.that("a token that lives 4 s is taken", 200, hcert.send("GET", "/Composition?_count=0", brief).status)
    expires = part_of(brief, 1)["exp"]
    every = keycloak.tokens("doctor", scope="openid")
    signed = setup.callers["doctor"].token
    for claim, token, problem in [
        ("an ID token", every["id_token"], "it is no access token"),
        ("a refresh token", every["refresh_token"], "its algorithm is not accepted"),
        ("a token for somebody else", keycloak.token("doctor", "elsewhere"), "it is for another audience"),
        ("a token with another signature", changed_signature(signed), "its signature does not fit"),
        ("a token of another realm", keycloak.administrator_token(), "its key is not known"),
        ("no token", None, "An access token is needed"),
        ("an expired token", brief, "it has expired"),
    ]:
        if token is brief:
            time.sleep(max(0, expires + 0.1 - time.time()))
        answer = hcert.send("GET", "/Composition?_count=0", token)
        issue = (answer.json().get("issue") or [{}])[0]
        challenge = answer.headers["WWW-Authenticate"] or ""
        # RFC 6750, 3: who sent no token is not told of an error.
        told = [str(answer), issue.get("severity"), issue.get("code"), challenge.startswith("Bearer ")]
        told += [problem in issue.get("details", {}).get("text", ""), 'error="invalid_token"' in challenge, problem in challenge]
        expected = ["401 HCERT-177" if token else "401 HCERT-176", "error", "login", True, True, bool(token), bool(token)]
        checks.that(f"{claim} is refused: {problem}", expected, told)
        checks.that(f"/metadata is answered to {claim}", 200, hcert.send("GET", "/metadata", token).status)
    for name in ("nobody", "cleaner"):
        caller = setup.callers[name]
        for path in ("/Composition?_count=0", "/Patient/200", "/AuditEvent?_count=0"):
            checks.that(f"{name}, who has no role, is refused GET {path}", "403 HCERT-178", str(setup.send(caller, "GET", path)))
        checks.that(f"{name}, who has no role, reads definitions", 200, setup.send(caller, "GET", "/StructureDefinition").status)


def changed_signature(token):
    head, claims, signature = token.split(".")
    return f"{head}.{claims}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"


def key_roll(setup):
    """A new key of Keycloak, then one of another kind, then the old one goes away."""
    checks, hcert, keycloak = setup.checks, setup.hcert, setup.keycloak

    def status(token):
        answer = hcert.send("GET", "/Composition?_count=0", token)
        return str(answer if answer.code() else answer.status)

    old = setup.callers["doctor"].token
    first = next(it for it in key_providers(keycloak) if it["providerId"] == "rsa-generated")
    add_key(keycloak, first["parentId"], "rsa-generated", {"keySize": ["2048"], "algorithm": ["RS256"]})
    rolled = keycloak.token("doctor")
    kids = [part_of(token, 0)["kid"] for token in (old, rolled)]
    checks.that("Keycloak signs with the new key", (True, "RS256"), (kids[0] != kids[1], part_of(rolled, 0)["alg"]))
    # Long enough after the keys were read that they may be asked for, and before they are due.
    claim = "hcert reads the keys now and then"
    checks.within(JWKS_REFRESH_S, claim, True, lambda: JWKS_PAUSE_S < setup.tokens()["age_s"] < JWKS_REFRESH_S - 1)
    checks.that("a token of the new key is taken at once", "200", status(rolled))
    checks.that("a token of the old key is taken still", "200", status(old))

    add_key(keycloak, first["parentId"], "ecdsa-generated", {"ecdsaEllipticCurveKey": ["P-256"]})
    clinic = keycloak.client("clinic")
    clinic["attributes"]["access.token.signed.response.alg"] = "ES256"
    keycloak.admin("PUT", f"/clients/{clinic['id']}", clinic)
    curve = keycloak.token("doctor")
    checks.that("Keycloak signs with a key of a curve", "ES256", part_of(curve, 0)["alg"])
    checks.within(JWKS_PAUSE_S, "a token of that key is taken", "200", lambda: status(curve))

    keycloak.admin("DELETE", f"/components/{first['id']}")
    claim = "a token of the old key is refused, once it is gone and the keys were read again"
    checks.within(JWKS_REFRESH_S, claim, "401 HCERT-177", lambda: status(old))
    checks.that("tokens of the other two keys are taken still", ["200", "200"], [status(rolled), status(curve)])
    published = keycloak.address.send("GET", "/realms/hcert/protocol/openid-connect/certs").json()["keys"]
    found = setup.tokens()["keys"]
    checks.that("hcert has as many keys as Keycloak signs with", len([it for it in published if it["use"] == "sig"]), found)
    for name in ("doctor", "patient"):
        setup.callers[name].token = keycloak.token(name, setup.callers[name].client)


def key_providers(keycloak):
    return keycloak.admin("GET", "/components?type=org.keycloak.keys.KeyProvider").json()


def add_key(keycloak, parent, provider, config):
    config = {"priority": ["200"], "enabled": ["true"], "active": ["true"], **config}
    component = {"name": f"rolled {provider}", "parentId": parent, "providerId": provider, "providerType": "org.keycloak.keys.KeyProvider"}
    keycloak.admin("POST", "/components", {**component, "config": config})
