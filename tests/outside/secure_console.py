"""People who sign in to the console at Keycloak: for secure.py. tests/console/keycloak.mjs does it in a browser; a client of few lines does
what browsers do not do."""

import html
import http.client
import json
import re
import ssl
import subprocess
import urllib.parse

from secure_programs import ROOT, Answer, NotRunning

REDIRECTS_MAX = 10
# Of the console's tokens at last, and how long before the end of one its reader is warned: a page of a busy machine comes within the rest.
LIFE_S = 16
WARNING_S = 8


class Page(Answer):
    """What a browser shows, and where it is."""

    def __init__(self, response, address):
        super().__init__(response)
        self.address = address
        self.text = self.body.decode(errors="replace")

    def title(self):
        found = re.search(r"<h1[^>]*>(.*?)</h1>", self.text, re.S)
        return html.unescape(found[1]).strip() if found else None

    def leads_on(self):
        """Where the page leads by itself."""
        found = re.search(r'<meta http-equiv="refresh" content="0; url=([^"]*)"', self.text)
        return found and html.unescape(found[1])


class Client:
    """Keeps cookies by port and path, and follows redirects. To it, all pages are of one site."""

    def __init__(self, authority):
        self.tls = ssl.create_default_context(cafile=authority)
        # Port and name, then value and path.
        self.cookies = {}

    def open(self, address, form=None, follow=True):
        for _ in range(REDIRECTS_MAX):
            page = self.ask(address, form)
            if not (follow and 300 <= page.status < 400):
                return page
            address, form = urllib.parse.urljoin(address, page.headers["Location"]), None
        raise NotRunning(f"{address} redirects without end")

    def ask(self, address, form):
        parts = urllib.parse.urlsplit(address)
        headers = {"Accept": "text/html", "Accept-Language": "en", "Cookie": self.line(parts)}
        body = None
        if form is not None:
            headers["Content-Type"], body = "application/x-www-form-urlencoded", urllib.parse.urlencode(form)
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=30, context=self.tls)
        try:
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            connection.request("GET" if form is None else "POST", path, body=body, headers=headers)
            page = Page(connection.getresponse(), address)
        finally:
            connection.close()
        for cookie in page.headers.get_all("Set-Cookie") or []:
            self.keep(parts.port, cookie)
        return page

    def line(self, parts):
        fits = lambda path: (parts.path + "/").startswith(path.rstrip("/") + "/")
        kept = ((name, *rest) for (of, name), rest in self.cookies.items() if of == parts.port)
        return "; ".join(f"{name}={value}" for name, value, path in kept if fits(path))

    def keep(self, of, cookie):
        pair, *attributes = cookie.split(";")
        name, value = pair.split("=", 1)
        told = {key.lower(): value for key, _, value in (attribute.strip().partition("=") for attribute in attributes)}
        self.cookies.pop((of, name), None)
        if value and told.get("max-age") != "0":
            self.cookies[of, name] = (value, told.get("path", "/"))

    def back_at_login(self, setup, path="/"):
        """Follows the way from a page of the console to Keycloak's form."""
        page = self.open(setup.hcert.console + path)
        link = html.unescape(re.search(r'href="([^"]*/sign-in\?[^"]*)"', page.text)[1])
        return self.open(urllib.parse.urljoin(page.address, link))

    def sign_in(self, setup, name, path="/", follow=True):
        """Signs in at Keycloak; what it leads back to, where the console's page has led on."""
        login = self.back_at_login(setup, path)
        form = re.search(r"<form\b.*?</form>", login.text, re.S)[0]
        hidden = [tag for tag in re.findall(r"<input\b[^>]*>", form) if 'type="hidden"' in tag]
        fields = {value_of(tag, "name"): value_of(tag, "value") for tag in hidden}
        page = self.open(value_of(form, "action"), {**fields, "username": name, "password": name}, follow)
        return self.open(urllib.parse.urljoin(page.address, page.leads_on())) if follow and page.leads_on() else page


def value_of(tag, attribute):
    found = re.search(rf'\b{attribute}="([^"]*)"', tag)
    return html.unescape(found[1]) if found else ""


def console(setup):
    checks, hcert = setup.checks, setup.hcert
    addresses(setup)
    client = Client(hcert.authority)
    login = client.back_at_login(setup, "/certificates?status=final")
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(login.address).query))
    expected = ("hcert-console", "code", "S256", f"{hcert.console}/signed-in")
    told = [query.get(name) for name in ("client_id", "response_type", "code_challenge_method", "redirect_uri")]
    checks.that("who is not signed in is led to Keycloak with a challenge", list(expected), told)
    for name in ("doctor", "gov-official"):
        client = Client(hcert.authority)
        page = client.sign_in(setup, name, "/certificates")
        total = setup.send(setup.callers[name], "GET", "/Composition?_count=0").json()["total"]
        checks.that(f"{name} sees as many certificates as the API shows: {total}", True, f"{total} found" in page.text)
    cookies = {"Cookie": client.line(urllib.parse.urlsplit(hcert.console))}
    checks.that("the cookies are no way into the API", 401, hcert.address.send("GET", "/fhir/Composition", headers=cookies).status)
    page = Client(hcert.authority).sign_in(setup, "nobody", "/certificates")
    checks.that("nobody, who has no role, is shown the refusal", (403, True), (page.status, "HCERT-178" in page.text))
    attacks(setup)
    in_browser(setup, "sign-in")
    known = setup.keycloak.client("hcert-console")
    known["attributes"]["access.token.lifespan"] = str(LIFE_S)
    setup.keycloak.admin("PUT", f"/clients/{known['id']}", known)
    in_browser(setup, "expiry")


def in_browser(setup, part):
    """Runs a part of keycloak.mjs, which tells each check as a line of JSON."""
    folder = ROOT / "target/console"
    certificates = [setup.hcert.authority.parent / name / f"{name}.pem" for name in ("hcert", "keycloak")]
    command = ["node", folder / "keycloak.mjs", part, setup.hcert.console, setup.keycloak.issuer, *certificates]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as ran:
        try:
            for line in ran.stdout:
                setup.checks.that(*json.loads(line))
        except BaseException:
            ran.kill()
            raise
    setup.checks.that(f"the browser came to the end of {part}; pictures are in target/console/pictures/keycloak", 0, ran.returncode)


def addresses(setup):
    """Pages on one address, the API on the other."""
    checks, hcert = setup.checks, setup.hcert
    client, token = Client(hcert.authority), setup.callers["doctor"].token
    root = client.open(hcert.console.removesuffix("/console") + "/")
    checks.that("the console's root leads to its sign-in page", (f"{hcert.console}/", "Sign in"), (root.address, root.title()))
    api = client.open(hcert.console.removesuffix("/console") + "/fhir/metadata")
    checks.that("the console's address has no API", 404, api.status)
    pages = hcert.address.send("GET", "/console/", token, headers={"Accept": "text/html"})
    checks.that("the API's address has no pages", 404, pages.status)


def attacks(setup):
    checks, hcert = setup.checks, setup.hcert
    client = Client(hcert.authority)
    back = client.sign_in(setup, "doctor", follow=False).headers["Location"]
    kept = dict(client.cookies)
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query))
    ends = {
        "another state": back.replace(query["state"], query["state"][::-1]),
        "another code": back.replace(query["code"], query["code"][::-1]),
        "another issuer": back.replace(urllib.parse.quote(query["iss"], safe=""), "https%3A%2F%2Felsewhere.example.ee"),
        "no code": back.replace("code=", "cod="),
    }
    for claim, address in ends.items():
        client.cookies = dict(kept)
        page = client.open(address)
        checks.that(f"{claim} signs nobody in", "You are not signed in", page.title())
        again = client.open(back)
        checks.that(f"after {claim} the attempt is over", "You are not signed in", again.title())
    stranger = Client(hcert.authority).open(back)
    checks.that("another browser is not signed in by the address", "You are not signed in", stranger.title())

    client = Client(hcert.authority)
    back = client.sign_in(setup, "doctor", follow=False).headers["Location"]
    kept = dict(client.cookies)
    checks.that("the address signs its browser in", "You are signed in", client.open(back).title())
    own = (urllib.parse.urlsplit(hcert.console).port, "__Host-hcert-console")
    value, path = client.cookies[own]
    checks.that("the cookie opens a page", "Certificates", client.open(f"{hcert.console}/certificates").title())
    client.cookies[own] = (value[:99] + ("A" if value[99] != "A" else "B") + value[100:], path)
    checks.that("a changed cookie opens none", "Sign in", client.open(f"{hcert.console}/certificates").title())
    client.cookies = kept
    replayed = client.open(back)
    checks.that("Keycloak takes no code twice", True, "gave no access for this sign-in" in replayed.text)
    plain = {"client_id": "hcert-console", "response_type": "code", "scope": "openid", "redirect_uri": f"{hcert.console}/signed-in"}
    plain = f"{setup.keycloak.issuer}/protocol/openid-connect/auth?{urllib.parse.urlencode(plain)}"
    told = Client(hcert.authority).open(plain, follow=False).headers["Location"] or ""
    checks.that("Keycloak begins nothing without a challenge", True, "error=invalid_request" in told)
    query |= dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query))
    log = hcert.log.read_text()
    checks.that("no code and no state is in the log", [], [name for name in ("code", "state") if query[name] in log])
