"""The Open Inference Protocol, version 2: the protocol of clients of Triton, KServe and
MLServer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import FormatError, shown
from ..libinfo import __version__
from .bodies import write_json
from .requests import check_json_size, read_body
from .tensors import datatype, fill_in_tensors, read_plan, read_raw_request, write_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from .models import Model
    from .tensors import RequestPlan
    from .web import Application

_LENGTH_HEADER = "Inference-Header-Content-Length"  # header with the length of the JSON text
# limits of the cache: number of texts and paths, and bytes of each
_MAX_CACHED_PLANS, _MAX_CACHED_BYTES = 256, 1024  # cached request texts; bytes of each
_JSON_TYPE, _BINARY_TYPE = "application/json", "application/octet-stream"  # media types


class Protocol:  # handlers of the Open Inference Protocol
    """The handlers of an Application's paths below ``/v2``."""

    def __init__(self, app: Application) -> None:
        self._app = app
        self._plans: dict[Any, RequestPlan] = {}
        self._paths: dict[str, Any] = {}  # path of a model -> its handler
        self._pages = {
            (): ("GET", self._server_metadata),
            ("health", "live"): ("GET", lambda environ: _json_response({"live": True})),
            ("health", "ready"): ("GET", self._server_ready),
            ("models",): ("GET", lambda environ: _json_response({"models": app.models.names})),
            ("repository", "index"): ("POST", self._repository_index),
        }
        self._of_model = {
            (): ("GET", self._model_metadata),
            ("ready",): ("GET", self._model_ready),
            ("infer",): ("POST", self._infer),
        }

    def find_handler(self, path: str) -> tuple[str, Callable[[dict[str, Any]], Any]] | None:
        """Return (method, handler) of a path, or None if the protocol does not have it.

        Raises
        ------
        Refused
            There is no such model, or no such version of it.
        """
        known = self._paths.get(path)
        if known is not None:
            return known
        first, *parts = path.removeprefix("/").split("/")
        if first != "v2":
            return None
        if tuple(parts) in self._pages:
            return self._pages[tuple(parts)]
        if len(parts) < 2 or parts[0] != "models":
            return None
        name, rest, version = _decode_path(parts[1]), parts[2:], None
        if len(rest) > 1 and rest[0] == "versions":
            version, rest = _decode_path(rest[1]), rest[2:]
        if tuple(rest) not in self._of_model:
            return None
        model = self._app.models.find(name, version)
        method, page = self._of_model[tuple(rest)]
        found = method, lambda environ: page(environ, model)
        if len(self._paths) < _MAX_CACHED_PLANS and len(path) <= _MAX_CACHED_BYTES:
            self._paths[path] = found
        return found

    def _server_metadata(self, environ):
        extensions = ["binary_tensor_data", "model_repository"]
        return _json_response({"name": "cynet", "version": __version__, "extensions": extensions})

    def _server_ready(self, environ):
        self._app.check_open()
        return _json_response({"ready": True})

    def _repository_index(self, environ):
        return _json_response(
            [
                {
                    "name": each.name,
                    "version": each.version,
                    "state": _model_state(each),
                    "reason": "",
                }
                for each in self._app.models
            ]
        )

    def _model_metadata(self, environ, model):
        found = model.predictor.signature()
        return _json_response(
            {
                "name": model.name,
                "versions": self._app.models.versions(model.name),
                "platform": "cynet",
                "inputs": [_tensor_metadata(each) for each in found.inputs],
                "outputs": [_tensor_metadata(each) for each in found.outputs],
            }
        )

    def _model_ready(self, environ, model):
        self._app.check_open()
        return _json_response({"name": model.name, "ready": True})

    def _infer(self, environ, model: Model):
        body = memoryview(read_body(environ, self._app.max_body))
        length = _json_text_length(environ, len(body))
        if length == 0:
            request = read_raw_request(body, model.predictor)
        else:
            head = bytes(body[:length])
            request = fill_in_tensors(self._parse_request(head, model.predictor), body[len(head) :])
        outputs = model.predictor.predict(
            request.inputs, *_request_timeout(request, model.predictor)
        )
        names = [each.name for each in model.predictor.signature().outputs]
        arrays = dict(zip(names, outputs if isinstance(outputs, list) else [outputs]))
        body, length = write_answer(model, request, arrays)
        if length is None:
            return 200, _JSON_TYPE, body
        return 200, _BINARY_TYPE, body, {_LENGTH_HEADER: str(length)}

    def _parse_request(self, head, predictor):
        """Parse the JSON text of a request; cached, as clients send the same text repeatedly."""
        plan = self._plans.get((predictor, head))
        if plan is None:
            plan = read_plan(check_json_size(head, self._app.max_body, "binary tensors"), predictor)
            if plan.is_cached and len(head) <= _MAX_CACHED_BYTES:
                if len(self._plans) >= _MAX_CACHED_PLANS:
                    self._plans.clear()
                self._plans[predictor, head] = plan
        return plan


def _json_response(value):
    return 200, _JSON_TYPE, write_json(value)


def _tensor_metadata(tensor):
    return {"name": tensor.name, "datatype": datatype(tensor.dtype), "shape": list(tensor.shape)}


def _model_state(model):
    return "UNAVAILABLE" if model.predictor.closed else "READY"


def _request_timeout(request, predictor):  # [seconds], or [] for none
    given = [each for each in (request.timeout, predictor.timeout) if each is not None]
    return [min(given)] if given else []


def _json_text_length(environ, total):
    """Return the length of a body's JSON text; None if the whole body is JSON."""
    text = environ.get("HTTP_INFERENCE_HEADER_CONTENT_LENGTH")
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal()) or int(text[:20]) > total:
        raise FormatError(
            f"{_LENGTH_HEADER} is a number of the body's {total} bytes, got {shown(text)}"
        )
    return int(text)


def _decode_path(part):
    """Decode a part of a path as UTF-8; WSGI has decoded it as latin-1."""
    try:
        return part.encode("latin-1").decode()
    except UnicodeError:
        return part
