"""Serves a page and twelve images of 30 kB over HTTP/3 (package aioquic) on port 4433."""

from __future__ import annotations

import asyncio

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent

IMAGE = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'.ljust(30_000)
IMAGES = "".join(f'<img src="/{i}.svg">' for i in range(12))
SCRIPT = """onload = () => { const e = performance.getEntriesByType("navigation")[0];
document.body.innerHTML = e.nextHopProtocol + " " + Math.round(performance.now()) + " ms" }"""
PAGE = f"<body>{IMAGES}<script>{SCRIPT}</script>".encode()


class Server(QuicConnectionProtocol):
    """One connection."""

    http: H3Connection | None = None

    def quic_event_received(self, event: QuicEvent) -> None:
        """Answers each request."""
        self.http = self.http or H3Connection(self._quic)
        for e in self.http.handle_event(event):
            if isinstance(e, HeadersReceived):
                svg = dict(e.headers)[b":path"].endswith(b".svg")
                kind = b"image/svg+xml" if svg else b"text/html"
                self.http.send_headers(e.stream_id, [(b":status", b"200"), (b"content-type", kind)])
                self.http.send_data(e.stream_id, IMAGE if svg else PAGE, end_stream=True)
                self.transmit()


async def main() -> None:
    """Serves until it is ended."""
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    configuration.load_cert_chain("cert.pem", "key.pem")
    await serve("0.0.0.0", 4433, configuration=configuration, create_protocol=Server)
    await asyncio.Event().wait()


asyncio.run(main())
