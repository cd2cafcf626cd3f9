"""The server of `lasthop view`: on the loopback interface only, behind a token in the address."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from lasthop._core import LasthopError
from lasthop._errors import in_sentences, mistake
from lasthop.viewer._campaign import campaign_entry
from lasthop.viewer._embed import page, with_policy
from lasthop.viewer._explained import explained, finer
from lasthop.viewer._index import arrow, campaign_index, index

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from lasthop._results import Results
    from lasthop.campaign.results import CampaignResults

HOST = "127.0.0.1"


class Viewer:
    """A server that shows runs until it is closed.

    Only requests with the token in its address get an answer, only under the name of the loopback
    interface, and nothing but the page, the index and tables of these runs.
    """

    def __init__(
        self,
        runs: Mapping[str, Results],
        port: int = 0,
        *,
        campaign: CampaignResults | None = None,
        document: str | None = None,
    ) -> None:
        """Begins to serve.

        Args:
            runs: runs by the labels that the page gives them.
            port: the TCP port; 0: a free one.
            campaign: a campaign to show instead of runs.
            document: an HTML document without scripts to serve instead of the page: the report of a
                study.

        Raises:
            LasthopError: the port is not free.
        """
        self.token = secrets.token_urlsafe(24)
        self._runs = dict(runs)
        self._campaign = campaign
        #: Of the runs whose flows are being explained: which flow, and how much is done.
        self._progress: dict[str, dict[str, Any]] = {}
        self._page = with_policy(page() if document is None else document, "'self'" if document is None else "'none'")
        try:
            self._server = ThreadingHTTPServer((HOST, port), self._handler())
        except OSError as error:
            raise mistake(
                f"port {port} cannot be used: {error.strerror}", "choose another one, or 0 for a free one"
            ) from None
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="lasthop view", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The TCP port that it listens on."""
        return self._server.server_port

    @property
    def address(self) -> str:
        """Where a browser on this machine finds the page."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    def close(self) -> None:
        """Ends the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def answer(self, path: str) -> tuple[int, str, bytes | memoryview]:
        """Status, media type and body for a path behind the token."""
        parts = urlsplit(path)
        steps = [unquote(step) for step in parts.path.split("/")]
        if steps in ([""], ["index.html"]):
            return 200, "text/html; charset=utf-8", self._page.encode()
        if steps == ["index.json"]:
            text = json.dumps(self._index(), ensure_ascii=False, allow_nan=False)
            return 200, "application/json", text.encode()
        if len(steps) == 2 and steps[0] == "explained":
            results = self._run(steps[1])
            if results is not None:
                text = json.dumps(self._explained(steps[1], results), ensure_ascii=False, allow_nan=False)
                return 200, "application/json", text.encode()
        if len(steps) == 2 and steps[0] == "progress":
            text = json.dumps(self._progress.get(steps[1]), ensure_ascii=False, allow_nan=False)
            return 200, "application/json", text.encode()
        if len(steps) == 3 and steps[0] == "bands":
            return self._bands(steps[1], steps[2], parse_qs(parts.query))
        if len(steps) == 3 and steps[0] == "table":
            return self._table(steps[1], steps[2], parse_qs(parts.query).get("columns", [None])[0])
        return 404, "text/plain; charset=utf-8", b"There is nothing here."

    def _index(self) -> dict[str, Any]:
        if self._campaign is None:
            return index(self._runs)
        return campaign_index(campaign_entry(self._campaign))

    def _run(self, number: str) -> Results | None:
        results = list(self._runs.values())
        known = number.isascii() and number.isdigit() and int(number) < len(results)
        return results[int(number)] if known else None

    def _explained(self, run: str, results: Results) -> list[dict[str, Any]]:
        def progress(flow: str, part: float) -> None:
            self._progress[run] = {"flow": flow, "part": part}

        try:
            return explained(results, progress)
        finally:
            self._progress.pop(run, None)

    def _bands(self, run: str, flow: str, query: dict[str, list[str]]) -> tuple[int, str, bytes]:
        """Bands of causes between two moments."""
        results = self._run(run)
        try:
            start, end = (float(query[key][0]) for key in ("from", "to"))
        except (KeyError, ValueError):
            return 400, "text/plain; charset=utf-8", b"From when to when is missing."
        if results is None or not (0 <= start < end < 1e9):
            return 404, "text/plain; charset=utf-8", b"There is nothing here."
        return 200, "application/json", json.dumps(finer(results, flow, start, end), allow_nan=False).encode()

    def _table(self, run: str, name: str, columns: str | None) -> tuple[int, str, bytes | memoryview]:
        results = self._run(run)
        if results is None:
            return 404, "text/plain; charset=utf-8", b"There is no such run."
        wanted = None if columns is None else columns.split(",")
        table = results.table(name, wanted)
        return 200, "application/vnd.apache.arrow.stream", arrow(table, wanted)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        viewer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            server_version = "Lasthop"
            sys_version = ""

            def do_GET(self) -> None:
                """Answers, or refuses without saying what there is."""
                token, _, rest = self.path.removeprefix("/").partition("/")
                host = self.headers.get("Host", "")
                # Another name in `Host` is a page elsewhere whose name was made to resolve to this
                # machine.
                known = host in [f"{name}:{viewer.port}" for name in (HOST, "localhost")]
                if not known or not secrets.compare_digest(token.encode(), viewer.token.encode()):
                    text = b"The address is not complete: use the one that `lasthop view` printed."
                    self._send(403, "text/plain; charset=utf-8", text)
                    return
                try:
                    self._send(*viewer.answer(rest))
                except LasthopError as error:
                    self._send(422, "text/plain; charset=utf-8", in_sentences(error).encode())
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def _send(self, status: int, kind: str, body: bytes | memoryview) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.send_header("X-Content-Type-Options", "nosniff")
                self.send_header("Referrer-Policy", "no-referrer")
                self.send_header("X-Frame-Options", "DENY")
                self.send_header("Cross-Origin-Resource-Policy", "same-origin")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """No line for each request: the terminal is the user's."""

        return Handler
