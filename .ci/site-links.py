"""Every link of the built site leads to a file that is there, and every fragment to an element of that page.

`tests/tidy` checks the links of the sources. This checks what became of them: pages that the summary leaves out, ids
that the site makes in its own way, images and scripts that were not copied.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes that name another file.
LINKS = {"a": "href", "link": "href", "img": "src", "script": "src", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """The ids and the links of one page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.update(value for name in ("id", "name") if (value := attributes.get(name)))
        if link := attributes.get(LINKS.get(tag, "")):
            self.links.append(link)


def main(site):
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    checked, dead = 0, []
    for path, page in pages.items():
        # The server shows it for any address, so that it links from the root of the site.
        if path == site / "404.html":
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            checked += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            fragment = unquote(parts.fragment)
            if not target.is_file():
                dead.append(f"{path.relative_to(site)}: {link}: there is no such file")
            elif fragment and fragment not in pages[target].ids:
                dead.append(f"{path.relative_to(site)}: {link}: the page has no such id")
    print(f"the site has {len(pages)} pages and {checked} links of its own, {len(dead)} of them dead")
    print(*dead, sep="\n", end="\n" if dead else "")
    return 1 if dead or len(pages) < 40 or checked < 1000 else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
