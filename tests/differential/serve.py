"""A real graphite-web over HTTP, with the data set of the goldens. Prints its port and serves until stdin ends."""

import os
import sys
import tempfile
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "crates", "graphite-render", "tests", "golden"))
import capture  # noqa: E402


class Quiet(WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


def main():
    data, events = capture.read_data(os.path.join(capture.HERE, "data.test"))
    with tempfile.TemporaryDirectory() as folder:
        capture.start_graphite(folder, data, events)
        from django.core.wsgi import get_wsgi_application

        server = make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Quiet)
        print(server.server_port, flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()


main()
