"""Asks an application without a socket."""

import io

import numpy as np


def ask(app, method, path, body=b"", kind="application/json", **more):
    """(status, headers, body) of a request."""
    found = []
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "CONTENT_TYPE": kind,
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
        **more,
    }
    parts = app(environ, lambda status, headers: found.append((status, dict(headers))))
    ((status, headers),), body = found, b"".join(parts)
    if method != "HEAD":
        assert headers["Content-Length"] == str(len(body))
    return int(status.split()[0]), headers, body


def npy(array, **settings):
    file = io.BytesIO()
    np.save(file, array, **settings)
    return file.getvalue()
