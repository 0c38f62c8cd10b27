"""Downloads: all bytes of a URL, or an error."""

from ..base.errors import FileError

MAX_DOWNLOAD_BYTES = 1 << 31  # limit of one download
_CHUNK_BYTES = 1 << 20  # bytes that are read at once
_TIMEOUT_SECONDS = 10  # seconds without an answer


def fetch_bytes(url, verify_ssl=True):
    """Download the bytes of a URL.

    Raises
    ------
    FileError
        In one line, when it cannot be read, or is cut off.
    """
    import http.client
    import urllib.request  # imported late: it takes a tenth of `import cynet`

    options = {} if verify_ssl else {"context": _unverified_ssl_context()}
    pieces, count = [], 0
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "cynet"})
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS, **options) as answer:
            while piece := answer.read(_CHUNK_BYTES):
                pieces.append(piece)
                count += len(piece)
                if count > MAX_DOWNLOAD_BYTES:
                    raise FileError(f"{url}: more than {MAX_DOWNLOAD_BYTES} bytes")
            # missing bytes of a response with a declared length
            missing = getattr(answer, "length", None)
    except FileError:
        raise
    except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: no URL
        if hasattr(error, "close"):
            error.close()  # an HTTPError holds the connection open
        raise FileError(f"{url}: {_error_reason(error)}") from None
    if missing:
        raise FileError(f"{url}: cut off after {count} of {count + missing} bytes")
    return b"".join(pieces)


def _error_reason(error):
    reason = getattr(error, "reason", None) or error
    return str(reason) or type(reason).__name__


def _unverified_ssl_context():
    """Make an SSL context that accepts any certificate."""
    import ssl

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def fetch_first_valid(urls, fits, attempts=2):
    """Download from the first of several URLs whose content `fits`; try each URL `attempts` times.

    Parameters
    ----------
    urls : list of str
    fits : callable
        Whether bytes are those that are wanted.

    Raises
    ------
    FileError
        What was wrong with the first one.
    """
    errors = []
    for url in urls:
        for _ in range(attempts):
            try:
                content = fetch_bytes(url)
                if fits(content):
                    return content
                errors.append(FileError(f"{url}: wrong checksum"))
            except OSError as error:
                errors.append(error)
    raise errors[0]
