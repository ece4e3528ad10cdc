"""The links of a page that lists a folder, as nginx, Apache, caddy and `python -m http.server` make it.

>>> links_in('<a href="../">up</a> <a href="vllm.log">vllm.log</a> <a href="/else">x</a> <a href="old/">old/</a>', "http://a/logs/")
['http://a/logs/old/', 'http://a/logs/vllm.log']
"""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin

LARGEST_PAGE = 4 << 20


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]


def links_in(page: str, folder: str) -> list[str]:
    """The addresses right below `folder` (which ends in `/`) that its page links to, sorted; no hidden ones, none with parameters."""
    parser = _Links()
    parser.feed(page)
    links = set()
    for link in parser.found:
        try:
            address = urldefrag(urljoin(folder, link)).url
        except ValueError:
            continue
        inside = address.removeprefix(folder)
        if address.startswith(folder) and inside and inside[0] not in ".?" and "?" not in inside and "/" not in inside.removesuffix("/"):
            links.add(address)
    return sorted(links)
