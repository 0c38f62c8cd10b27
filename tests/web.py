"""A server of files for tests of downloads."""

import contextlib
import http.server
import threading


@contextlib.contextmanager
def serving(answers):
    """Serve ``answers``, a dict of paths to lists of answers, given one after the other; the last
    one again and again. An answer is bytes, or (status, bytes, length that is said).

    Yields
    ------
    (str, list of str)
        The URL before the paths, and the paths that were asked for.
    """
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            rest = answers.get(self.path, [(404, b"", 0)])
            answer = rest.pop(0) if len(rest) > 1 else rest[0]
            status, content, length = (
                (200, answer, len(answer)) if isinstance(answer, bytes) else answer
            )
            self.send_response(status)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
