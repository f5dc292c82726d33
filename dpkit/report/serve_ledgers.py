"""The page of ledgers from a small web server, as they are now. It reads; nothing can be written through it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from dpkit.errors import DpkitError, MissingExtraError
from dpkit.release.ledger.ledger import Ledger
from dpkit.report.found_audits import audits_of
from dpkit.report.ledger_page import content_policy, ledger_page

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def ledger_application(places: Sequence[str], *, hosts: Sequence[str], audits: Sequence[str] = ()) -> Starlette:
    """The application: `/` is the page. Requests for other hosts are refused: no other site can ask for a reader."""
    try:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.responses import HTMLResponse, PlainTextResponse
        from starlette.routing import Route
    except ImportError:
        raise MissingExtraError(package="starlette", extra="serve", purpose="The page of ledgers by a server") from None

    headers = {**_HEADERS, "Content-Security-Policy": f"{content_policy()}; frame-ancestors 'none'"}

    def show(request: Request) -> Response:
        try:
            with ExitStack() as stack:
                ledgers = [stack.enter_context(Ledger.open(place, read_only=True)) for place in places]
                return HTMLResponse(ledger_page(ledgers, audits=audits_of(audits)), headers=headers)
        except DpkitError as error:  # its message holds no data
            return PlainTextResponse(f"{error}\n", status_code=503, headers=headers)

    trusted = Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)

    def wrong(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        return PlainTextResponse("This server shows one page, /, and takes nothing.\n", status_code=status, headers=headers)

    handlers: dict[Any, Any] = {404: wrong, 405: wrong, 500: wrong}
    return Starlette(routes=[Route("/", show, methods=["GET"])], middleware=[trusted], exception_handlers=handlers)


def serve_ledgers(places: Sequence[str], *, host: str, port: int, audits: Sequence[str] = ()) -> None:
    """Serve the page until interrupted."""
    application = ledger_application(places, hosts=sorted({host, "localhost", "127.0.0.1", "[::1]"}), audits=audits)
    try:
        import uvicorn
    except ImportError:
        raise MissingExtraError(package="uvicorn", extra="serve", purpose="The page of ledgers by a server") from None
    uvicorn.run(application, host=host, port=port, log_level="warning", server_header=False, date_header=True)
