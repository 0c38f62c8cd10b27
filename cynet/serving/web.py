"""Application: Predictors over HTTP; any WSGI server can run it."""

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
from .about import about_page, page_to_html, page_to_json
from .bodies import NPY_TYPES, Images, read_json, read_npy, single_input_name, write_json, write_npy
from .errors import BusyError, Refused, WaitedError
from .metrics import metrics_text
from .models import Models
from .requests import check_json_size, media_type, read_body
from .tensors import refuse_not_finite
from .v2 import Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .predictor import Predictor

_LOGGER = logging.getLogger(__name__)


class Application:
    """A WSGI application: ``POST /predict``, ``GET /health``, ``GET /metrics``, and the Open
    Inference Protocol below ``/v2``.

    ``/predict`` asks the first model. A body is JSON (``{"inputs": ROWS}`` or
    ``{"inputs": {NAME: ROWS}}``), a ``.npy`` file (``application/x-npy``), or an image
    (``image/jpeg``, ``image/png``), which is one row. The answer is JSON,
    ``{"outputs": [ROWS, ...]}``, or the first output as ``.npy`` for a ``.npy`` body or
    ``Accept: application/x-npy``. With `classes` JSON has ``"classes"``, too: for each row of the
    first output its names with the highest values.

    What is wrong with a request is said by ``{"error": SENTENCE}``: 400 (the body), 404, 405, 411,
    413 (too long), 415 (its type or encoding), 503 (too many wait, or the end has come), 504 (no
    turn in time).

    Parameters
    ----------
    models : Predictor, or dict of str to Predictor or to dict of str to Predictor
        What computes the answers: one Predictor, which ``/v2`` calls ``model``, several by name,
        or several versions of a name, of which the last one answers who asks for none.
    max_body : int
        Largest size of a body, in bytes.
    images : Images, optional
        Converts images to rows of the first model; if it is not given, images are refused.
    classes : list of str, optional
        Names of the columns of the first model's first output.
    top : int
        Number of names in an answer.
    cards : dict of str to dict, optional
        Cards of models by name, as ``mx.model.load_card`` gives them; ``GET /`` shows them.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        No Predictors, names that are none, or a card of no model.

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
        models: Predictor | Mapping[str, Predictor | Mapping[str, Predictor]],
        max_body: int = 16 << 20,
        images: Images | None = None,
        classes: Sequence[str] | None = None,
        top: int = 5,
        cards: Mapping[str, Any] | None = None,
    ) -> None:
        self.models = Models(models)
        self.cards = dict(cards or {})
        if unknown := [each for each in self.cards if each not in self.models.names]:
            raise ArgumentError(f"Application: a card of {shown(unknown[0])}, which is no model")
        self.predictor = next(iter(self.models)).predictor
        self.max_body, self.images = max_body, images
        self.classes, self.top = classes, top
        self.closing = False  # True: the server accepts no more connections
        self._pages = {
            "/predict": ("POST", self._predict_request),
            "/health": ("GET", self._health_page),
            "/metrics": ("GET", self._metrics_page),
            "/": ("GET", self._about_page),
        }
        self._protocol = Protocol(self)

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer one request: the entry point of WSGI."""
        headers: dict[str, str] = {}
        try:
            status, kind, body, *more = self._answer_request(environ)
            headers.update(*more)
        except Refused as refused:
            status, kind, headers = refused.status, "application/json", refused.headers
            body = write_json({"error": str(refused)})
        head = {"Content-Type": kind, "Content-Length": str(len(body)), **headers}
        start_response(f"{status} {HTTPStatus(status).phrase}", list(head.items()))
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else body]

    def _answer_request(self, environ):
        path, method = environ.get("PATH_INFO", "/"), environ["REQUEST_METHOD"]
        wanted, page = self._pages.get(path) or self._protocol.find_handler(path) or (None, None)
        if wanted is None:
            raise Refused(404, f"there is no {shown(path)}, only {', '.join(self._pages)}, /v2")
        if method != wanted and (method, wanted) != ("HEAD", "GET"):
            raise Refused(405, f"{path} takes {wanted}, got {shown(method)}", Allow=wanted)
        try:
            return page(environ)
        except Refused:
            raise
        except BusyError as error:
            raise Refused(503, str(error), **{"Retry-After": "1"}) from None
        except WaitedError as error:
            raise Refused(504, str(error)) from None
        except StateError as error:
            raise Refused(503, str(error)) from None
        except (ArgumentError, ArgumentTypeError, FormatError) as error:
            raise Refused(400, str(error)) from None
        except Exception as error:  # for example an error of the network
            _LOGGER.exception("%s %s", method, path)
            raise Refused(500, describe_error(error)) from None

    def close(self, timeout: float | None = None) -> bool:
        """Close all Predictors; False if some request had no answer.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait for the answers to requests under way, at most.

        Examples
        --------
        >>> from cynet.serving import Application
        >>> Application(mx.Predictor(mx.gluon.nn.Flatten(), shapes=(3,))).close()
        True
        """
        return self.models.close(timeout)

    def check_open(self) -> None:
        """Refuse a request for readiness, once the server is closing.

        Raises
        ------
        Refused
            With the status 503.

        Examples
        --------
        >>> from cynet.serving import Application
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize()
        >>> app = Application(mx.Predictor(net, shapes=(3,)))
        >>> app.check_open()
        >>> app.close()
        True
        >>> app.check_open()
        Traceback (most recent call last):
            ...
        cynet.serving.errors.Refused: shutting down
        """
        if self.closing or any(each.predictor.closed for each in self.models):
            raise Refused(503, "shutting down")

    def _health_page(self, environ):
        self.check_open()
        return 200, "application/json", write_json({"status": "ok"})

    def _metrics_page(self, environ):
        stats = [(each.name, each.version, each.predictor.stats()) for each in self.models]
        return 200, "text/plain; version=0.0.4", metrics_text(stats).encode()

    def _about_page(self, environ):
        page = about_page(self.models, self.cards)
        if "text/html" in environ.get("HTTP_ACCEPT", ""):
            return 200, "text/html; charset=utf-8", page_to_html(page)
        return 200, "application/json", page_to_json(page)

    def _predict_request(self, environ):
        body, kind = read_body(environ, self.max_body), media_type(environ)
        wants_npy = "application/x-npy" in environ.get("HTTP_ACCEPT", "")
        names = list(self.predictor.shapes)
        if kind in ("application/json", ""):
            inputs = read_json(check_json_size(body, self.max_body, "an .npy file"), names)
        elif kind in NPY_TYPES:
            inputs, wants_npy = {single_input_name(names): read_npy(body)}, True
        elif kind.startswith("image/") and self.images is not None:
            inputs = {single_input_name(names): self._decode_image(body)}
        else:
            raise Refused(
                415,
                f"a body of type {shown(kind)}; send application/json, application/x-npy"
                + (" or an image" if self.images is not None else ""),
            )
        outputs = self.predictor.predict(inputs)
        outputs = outputs if isinstance(outputs, list) else [outputs]
        if wants_npy:
            return 200, "application/x-npy", write_npy(outputs[0])
        for i, each in enumerate(outputs):
            refuse_not_finite(f"output {i}", each, "with Accept: application/x-npy")
        answer = {"outputs": [each.tolist() for each in outputs]}
        if self.classes is not None:
            answer["classes"] = [self._top_classes(row) for row in outputs[0]]
        return 200, "application/json", write_json(answer)

    def _decode_image(self, body):
        try:
            cv()
        except CynetError as error:  # an optional package is not installed
            raise Refused(415, str(error)) from None
        try:
            return self.images.read(body)
        except CynetError as error:
            raise FormatError(f"expected an image as the body: {error}") from None

    def _top_classes(self, row):
        best = np.argsort(row)[::-1][: self.top]
        return [{"class": self.classes[i], "value": float(row[i])} for i in best.tolist()]
