"""Asks the search of the built site for words that readers use.

It fails where no right page is found.

    python docs/check_search.py docs/_build/html

`make docs` runs it. The index is that of Sphinx (`searchindex.js`): words are stemmed as the page's
search stems them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sphinx.search.en import SearchEnglish

#: What a reader looks for, and a page that has to be among the results.
EXPECTED = {
    "pcap": "guides/captures",
    "Wireshark": "guides/captures",
    "sweep": "guides/campaigns",
    "SLURM": "guides/campaigns-cluster",
    "resume": "guides/campaigns-cluster",
    "5G": "limits",
    "NR": "limits",
    "QUIC": "limits",
    "qlog": "guides/export",
    "handover": "concepts/lte-handover",
    "unverified": "reference/generated/citations",
}


def main(site: str) -> None:
    """Exits with a message for each word whose page is not found."""
    text = (Path(site) / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    missing = [f"{word}: {page}" for word, page in EXPECTED.items() if page not in pages(index, word)]
    if missing:
        sys.exit("the search of the site does not find\n" + "\n".join(missing))


def pages(index: dict[str, Any], word: str) -> set[str]:
    """The pages that a search for one word finds, by their text, titles and headings."""
    stem = SearchEnglish({}).stem(word.lower())
    found: set[int] = set()
    for terms in (index["terms"], index["titleterms"]):
        for key in {stem, word.lower()}:
            numbers = terms.get(key, [])
            found |= set(numbers) if isinstance(numbers, list) else {numbers}
    return {index["docnames"][number] for number in found}


if __name__ == "__main__":
    main(*sys.argv[1:])
