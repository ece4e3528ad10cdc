"""How big the page of thousands of incidents is, how long it takes to make, and when headless Chromium first paints it.

python -m benchmarks.page [INCIDENTS]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.browser import CHROMIUM, chromium
from tests.report.postmortem.made import many, page

ROUNDS = 5


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    found = many(count)
    began = time.perf_counter()
    text = page(found)
    print(f"{count:,} incidents: {len(text.encode()) / 1e6:.2f} MB, made in {time.perf_counter() - began:.1f} s")
    if CHROMIUM is None:
        print("no Chromium: when it paints was not measured")
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(text, encoding="utf-8")
        with chromium(Path(folder) / "profile") as tab:
            for _ in range(ROUNDS):
                tab.open(file)
                tab.settle()
                paint = tab.value("performance.getEntriesByType('paint')[0].startTime")
                loaded = tab.value("performance.getEntriesByType('navigation')[0].loadEventEnd")
                print(f"first paint {paint:,.0f} ms, loaded {loaded:,.0f} ms")


if __name__ == "__main__":
    main()
