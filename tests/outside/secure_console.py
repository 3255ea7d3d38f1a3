"""People who sign in to the console at Keycloak, by a browser of few lines: for secure.py."""

import html
import http.client
import re
import ssl
import time
import urllib.parse

from secure_programs import Answer, NotRunning

REDIRECTS_MAX = 10
LIFE_S = 3


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


class Browser:
    """Keeps cookies as browsers do, by port in place of the site, and follows redirects. It runs no scripts."""

    def __init__(self, authority):
        self.tls = ssl.create_default_context(cafile=authority)
        # Port and name, then value, path and SameSite.
        self.cookies = {}

    def open(self, address, form=None, of=None, follow=True):
        """Opens an address that a page at the address `of` leads to; a form is sent."""
        chain = {port(of)} if of else set()
        address = urllib.parse.urljoin(of or address, address)
        for _ in range(REDIRECTS_MAX):
            page = self.ask(address, form, chain)
            if not (follow and 300 <= page.status < 400):
                return page
            chain.add(port(address))
            address, form = urllib.parse.urljoin(address, page.headers["Location"]), None
        raise NotRunning(f"{address} redirects without end")

    def ask(self, address, form, chain):
        parts = urllib.parse.urlsplit(address)
        is_own = chain <= {parts.port}
        headers = {"Accept": "text/html", "Accept-Language": "en", "Cookie": self.line(parts, is_own)}
        headers["Sec-Fetch-Site"] = ("same-origin" if chain else "none") if is_own else "cross-site"
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

    def line(self, parts, is_own):
        fits = lambda path, site: (parts.path + "/").startswith(path.rstrip("/") + "/") and (is_own or site != "Strict")
        kept = ((name, *rest) for (of, name), rest in self.cookies.items() if of == parts.port)
        return "; ".join(f"{name}={value}" for name, value, path, site in kept if fits(path, site))

    def keep(self, of, cookie):
        pair, *attributes = cookie.split(";")
        name, value = pair.split("=", 1)
        told = {key.lower(): value for key, _, value in (attribute.strip().partition("=") for attribute in attributes)}
        self.cookies.pop((of, name), None)
        if value and told.get("max-age") != "0":
            self.cookies[of, name] = (value, told.get("path", "/"), told.get("samesite", "Lax"))

    def form(self, page, fields, wanted="<form"):
        """Fills the first form behind `wanted` in and sends it; hidden fields come along."""
        found = re.search(r"<form\b(.*?)>(.*?)</form>", page.text[page.text.index(wanted) :], re.S)
        action = html.unescape(re.search(r'action="([^"]*)"', found[1])[1])
        hidden = [tag for tag in re.findall(r"<input\b[^>]*>", found[2]) if 'type="hidden"' in tag]
        values = {name_of(tag, "name"): name_of(tag, "value") for tag in hidden}
        return action, {**values, **fields}

    def back_at_login(self, setup, path="/"):
        """Follows the way from a page of the console to Keycloak's form."""
        page = self.open(setup.hcert.console + path)
        link = html.unescape(re.search(r'href="([^"]*/sign-in\?[^"]*)"', page.text)[1])
        return self.open(link, of=page.address)

    def sign_in(self, setup, name, path="/", follow=True):
        """Signs in at Keycloak; what it leads back to, where the console's page has led on."""
        login = self.back_at_login(setup, path)
        action, form = self.form(login, {"username": name, "password": name})
        page = self.open(action, form, of=login.address, follow=follow)
        return self.open(page.leads_on(), of=page.address) if follow and page.leads_on() else page


def port(address):
    return urllib.parse.urlsplit(address).port


def name_of(tag, attribute):
    found = re.search(rf'\b{attribute}="([^"]*)"', tag)
    return html.unescape(found[1]) if found else ""


def console(setup):
    checks, hcert = setup.checks, setup.hcert
    addresses(setup)
    browser = Browser(hcert.authority)
    login = browser.back_at_login(setup, "/certificates?status=final")
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(login.address).query))
    expected = ("hcert-console", "code", "S256", f"{hcert.console}/signed-in")
    told = [query.get(name) for name in ("client_id", "response_type", "code_challenge_method", "redirect_uri")]
    checks.that("who is not signed in is led to Keycloak with a challenge", list(expected), told)
    for name in ("doctor", "gov-official"):
        browser = Browser(hcert.authority)
        page = browser.sign_in(setup, name, "/certificates")
        checks.that(f"{name} signs in and comes back", (200, f"{hcert.console}/certificates"), (page.status, page.address))
        total = setup.send(setup.callers[name], "GET", "/Composition?_count=0").json()["total"]
        checks.that(f"{name} sees as many certificates as the API shows: {total}", True, f"{total} found" in page.text)
        checks.that(f"{name} is named", True, "Mari Kask, signed in until" in page.text)
    kept = [name for of, name in browser.cookies if of == port(hcert.console)]
    checks.that("one cookie is kept, which is for this host alone", ["__Host-hcert-console"], kept)
    cookies = {"Cookie": browser.line(urllib.parse.urlsplit(hcert.console), True)}
    checks.that("the cookies are no way into the API", 401, hcert.address.send("GET", "/fhir/Composition", headers=cookies).status)
    elsewhere = browser.open(f"{hcert.console}/certificates", of="https://localhost:1/")
    back = browser.open(elsewhere.leads_on(), of=elsewhere.address)
    checks.that("a link of another site leads who is signed in to the page", "Certificates", back.title())
    page = Browser(hcert.authority).sign_in(setup, "nobody", "/certificates")
    checks.that("nobody, who has no role, is shown the refusal", (403, True), (page.status, "HCERT-178" in page.text))
    sign_out(setup, browser)
    attacks(setup)
    expiry(setup)


def addresses(setup):
    """Pages on one address, the API on the other."""
    checks, hcert = setup.checks, setup.hcert
    browser, token = Browser(hcert.authority), setup.callers["doctor"].token
    root = browser.open(hcert.console.removesuffix("/console") + "/")
    checks.that("the console's root leads to its sign-in page", (f"{hcert.console}/", "Sign in"), (root.address, root.title()))
    api = browser.open(hcert.console.removesuffix("/console") + "/fhir/metadata")
    checks.that("the console's address has no API", 404, api.status)
    pages = hcert.address.send("GET", "/console/", token, headers={"Accept": "text/html"})
    checks.that("the API's address has no pages", 404, pages.status)


def sign_out(setup, browser):
    checks, hcert = setup.checks, setup.hcert
    page = browser.open(f"{hcert.console}/")
    action, form = browser.form(page, {}, '<form method="post" action="/console/sign-out"')
    ended = browser.open(action, form, of=page.address)
    checks.that("who signs out is told", "You are signed out", ended.title())
    asked = browser.open(ended.leads_on(), of=ended.address)
    action, form = browser.form(asked, {"confirmLogout": "Logout"})
    last = browser.open(action, form, of=asked.address)
    checks.that("Keycloak ends the session and leads back", True, last.address.startswith((f"{hcert.console}/", asked.address.split("?")[0])))
    checks.that("the pages ask to sign in again", "Sign in", browser.open(f"{hcert.console}/certificates").title())
    checks.that("and Keycloak asks for the password again", True, 'id="kc-form-login"' in browser.back_at_login(setup).text)


def attacks(setup):
    checks, hcert = setup.checks, setup.hcert
    browser = Browser(hcert.authority)
    back = browser.sign_in(setup, "doctor", follow=False).headers["Location"]
    kept = dict(browser.cookies)
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query))
    ends = {
        "another state": back.replace(query["state"], query["state"][::-1]),
        "another code": back.replace(query["code"], query["code"][::-1]),
        "another issuer": back.replace(urllib.parse.quote(query["iss"], safe=""), "https%3A%2F%2Felsewhere.example.ee"),
        "no code": back.replace("code=", "cod="),
    }
    for claim, address in ends.items():
        browser.cookies = dict(kept)
        page = browser.open(address, of=setup.keycloak.issuer)
        checks.that(f"{claim} signs nobody in", "You are not signed in", page.title())
        again = browser.open(back, of=setup.keycloak.issuer)
        checks.that(f"after {claim} the attempt is over", "You are not signed in", again.title())
    stranger = Browser(hcert.authority).open(back, of=setup.keycloak.issuer)
    checks.that("another browser is not signed in by the address", "You are not signed in", stranger.title())

    browser = Browser(hcert.authority)
    back = browser.sign_in(setup, "doctor", follow=False).headers["Location"]
    kept = dict(browser.cookies)
    checks.that("the address signs its browser in", "You are signed in", browser.open(back, of=setup.keycloak.issuer).title())
    browser.cookies = kept
    replayed = browser.open(back, of=setup.keycloak.issuer)
    checks.that("Keycloak takes no code twice", True, "gave no access for this sign-in" in replayed.text)
    plain = {"client_id": "hcert-console", "response_type": "code", "scope": "openid", "redirect_uri": f"{hcert.console}/signed-in"}
    plain = f"{setup.keycloak.issuer}/protocol/openid-connect/auth?{urllib.parse.urlencode(plain)}"
    told = Browser(hcert.authority).open(plain, follow=False).headers["Location"] or ""
    checks.that("Keycloak begins nothing without a challenge", True, "error=invalid_request" in told)
    query |= dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query))
    log = hcert.log.read_text()
    checks.that("no code and no state is in the log", [], [name for name in ("code", "state") if query[name] in log])


def expiry(setup):
    """Tokens of the console live for some seconds."""
    checks, hcert, keycloak = setup.checks, setup.hcert, setup.keycloak
    client = keycloak.client("hcert-console")
    client["attributes"]["access.token.lifespan"] = str(LIFE_S)
    keycloak.admin("PUT", f"/clients/{client['id']}", client)
    browser = Browser(hcert.authority)
    page = browser.sign_in(setup, "doctor")
    checks.that("a sign-in that ends soon is warned of", True, bool(re.search(r'data-left="-?\d" data-warning="120">Your sign-in ends', page.text)))
    time.sleep(LIFE_S + 1)
    page = browser.open(f"{hcert.console}/certificates?status=final")
    told = (page.title(), "Your sign-in has ended." in page.text, "/sign-in?back=/certificates%3Fstatus%3Dfinal" in page.text)
    checks.that("an expired token leads to the sign-in page, which leads back", ("Sign in", True, True), told)
    link = html.unescape(re.search(r'href="([^"]*/sign-in\?[^"]*)"', page.text)[1])
    page = browser.open(link, of=page.address)
    page = browser.open(page.leads_on(), of=page.address)
    checks.that("Keycloak remembers who it was", f"{hcert.console}/certificates?status=final", page.address)
