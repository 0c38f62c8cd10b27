"""A Predictor over HTTP, as a WSGI application: any server of WSGI runs it."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import (
    ArgumentError,
    ArgumentTypeError,
    CynetError,
    FormatError,
    StateError,
    describe_error,
    shown,
)
from ..base.opencv import cv
from .bodies import (
    NPY,
    Images,
    most_values,
    only,
    read_json,
    read_npy,
    values_in,
    write_json,
    write_npy,
)
from .errors import BusyError, WaitedError
from .metrics import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .predictor import Predictor

_LOG = logging.getLogger(__name__)


class _Refused(Exception):
    """An answer other than 200: its status and a sentence."""

    def __init__(self, status: int, text: str, **headers: str) -> None:
        super().__init__(text)
        self.status, self.headers = status, headers


class Application:
    """What answers requests: ``POST /predict``, ``GET /health``, ``GET /metrics``.

    A body is JSON (``{"inputs": ROWS}`` or ``{"inputs": {NAME: ROWS}}``), a ``.npy`` file
    (``application/x-npy``), or an image (``image/jpeg``, ``image/png``), which is one row. The
    answer is JSON, ``{"outputs": [ROWS, ...]}``, or the first output as ``.npy`` for a ``.npy``
    body or ``Accept: application/x-npy``. With `classes` JSON has ``"classes"``, too: for each row
    of the first output its names with the highest values.

    What is wrong with a request is said by ``{"error": SENTENCE}``: 400 (the body), 404, 405, 411,
    413 (too long), 415 (its type or encoding), 503 (too many wait, or the end has come), 504 (no
    turn in time).

    Parameters
    ----------
    predictor : Predictor
        Computes the answers.
    max_body : int
        Largest size of a body, in bytes.
    images : Images, optional
        Converts images to rows; if it is not given, images are refused.
    classes : list of str, optional
        Names of the columns of the first output.
    top : int
        Number of names in an answer.

    Examples
    --------
    >>> from cynet.serving import Application
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> app = Application(mx.Predictor(net, shapes=(3,)))
    >>> request = {"REQUEST_METHOD": "GET", "PATH_INFO": "/health"}
    >>> app(request, lambda status, headers: print(status))
    200 OK
    [b'{"status": "ok"}']
    """

    def __init__(
        self,
        predictor: Predictor,
        max_body: int = 16 << 20,
        images: Images | None = None,
        classes: Sequence[str] | None = None,
        top: int = 5,
    ) -> None:
        self.predictor, self.max_body, self.images = predictor, max_body, images
        self.classes, self.top = classes, top
        self.closing = False  # the server takes no more connections
        self._pages = {
            "/predict": ("POST", self._predict),
            "/health": ("GET", self._health),
            "/metrics": ("GET", self._metrics),
        }

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer one request, as WSGI says."""
        headers: dict[str, str] = {}
        try:
            status, kind, body = self._answer(environ)
        except _Refused as refused:
            status, kind, headers = refused.status, "application/json", refused.headers
            body = write_json({"error": str(refused)})
        head = {"Content-Type": kind, "Content-Length": str(len(body)), **headers}
        start_response(f"{status} {HTTPStatus(status).phrase}", list(head.items()))
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else body]

    def _answer(self, environ):
        path, method = environ.get("PATH_INFO", "/"), environ["REQUEST_METHOD"]
        if path not in self._pages:
            raise _Refused(404, f"there is no {shown(path)}, only {', '.join(self._pages)}")
        wanted, page = self._pages[path]
        if method != wanted and (method, wanted) != ("HEAD", "GET"):
            raise _Refused(405, f"{path} takes {wanted}, got {shown(method)}", Allow=wanted)
        try:
            return page(environ)
        except _Refused:
            raise
        except BusyError as error:
            raise _Refused(503, str(error), **{"Retry-After": "1"}) from None
        except WaitedError as error:
            raise _Refused(504, str(error)) from None
        except StateError as error:
            raise _Refused(503, str(error)) from None
        except (ArgumentError, ArgumentTypeError, FormatError) as error:
            raise _Refused(400, str(error)) from None
        except Exception as error:  # the network's, for one
            _LOG.exception("%s %s", method, path)
            raise _Refused(500, describe_error(error)) from None

    def _health(self, environ):
        if self.predictor.closed or self.closing:
            raise _Refused(503, "shutting down")
        return 200, "application/json", write_json({"status": "ok"})

    def _metrics(self, environ):
        return 200, "text/plain; version=0.0.4", text_of(self.predictor.stats()).encode()

    def _predict(self, environ):
        coding = environ.get("HTTP_CONTENT_ENCODING", "").strip().lower()
        if coding not in ("", "identity"):
            raise _Refused(415, f"a body in the encoding {shown(coding)}; send it as it is")
        body = self._body(environ)
        kind = environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
        wants_npy = "application/x-npy" in environ.get("HTTP_ACCEPT", "")
        names = list(self.predictor.shapes)
        if kind in ("application/json", ""):
            inputs = read_json(self._with_few_values(body), names)
        elif kind in NPY:
            inputs, wants_npy = {only(names): read_npy(body)}, True
        elif kind.startswith("image/") and self.images is not None:
            inputs = {only(names): self._image(body)}
        else:
            raise _Refused(
                415, f"a body of type {shown(kind)}; send application/json, application/x-npy"
                + (" or an image" if self.images is not None else "")
            )  # fmt: skip
        outputs = self.predictor.predict(inputs)
        outputs = outputs if isinstance(outputs, list) else [outputs]
        if wants_npy:
            return 200, "application/x-npy", write_npy(outputs[0])
        for i, each in enumerate(outputs):
            if each.dtype.kind == "f" and not np.isfinite(each).all():
                raise ArgumentError(
                    f"output {i} has NaN or infinity for this input, which JSON has not; with"
                    " Accept: application/x-npy it is sent"
                )
        answer = {"outputs": [each.tolist() for each in outputs]}
        if self.classes is not None:
            answer["classes"] = [self._classes_of(row) for row in outputs[0]]
        return 200, "application/json", write_json(answer)

    def _body(self, environ):
        text = environ.get("CONTENT_LENGTH") or ""
        if not (text.isascii() and text.isdecimal()):
            raise _Refused(411, "say Content-Length")
        length = int(text[:20])  # longer ones are too long, too
        if length > self.max_body:
            raise _Refused(413, f"a body of {length} bytes, at most {self.max_body} are taken")
        body = environ["wsgi.input"].read(length)
        if len(body) < length:
            raise _Refused(400, f"the body has {len(body)} bytes, Content-Length said {length}")
        return body

    def _with_few_values(self, body):
        count, most = values_in(body), most_values(self.max_body)
        if count > most:
            raise _Refused(
                413, f"a JSON body of some {count} values, at most {most} are taken; an .npy file"
                " may have more"
            )  # fmt: skip
        return body

    def _image(self, body):
        try:
            cv()
        except CynetError as error:  # it is not installed
            raise _Refused(415, str(error)) from None
        try:
            return self.images.read(body)
        except CynetError as error:
            raise FormatError(f"expected an image as the body: {error}") from None

    def _classes_of(self, row):
        best = np.argsort(row)[::-1][: self.top]
        return [{"class": self.classes[i], "value": float(row[i])} for i in best.tolist()]
