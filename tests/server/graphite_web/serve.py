"""A real graphite-web over HTTP. Its argument is the text of a local_settings.py. Prints its port and serves until stdin ends."""

import os
import sys
import tempfile
import threading
import types
from wsgiref.simple_server import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


def configure(folder, local_settings):
    settings = types.ModuleType("served_settings")
    settings.SECRET_KEY = "served"
    settings.STORAGE_DIR = settings.LOG_DIR = settings.CONF_DIR = folder
    settings.DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.path.join(folder, "db")}}
    settings.DEFAULT_CACHE_DURATION = 0
    settings.CARBONLINK_HOSTS = []
    settings.LOG_INFO_PERFORMANCE = False
    exec(local_settings, vars(settings))
    sys.modules["served_settings"] = settings
    os.environ["GRAPHITE_SETTINGS_MODULE"] = "served_settings"
    os.environ["DJANGO_SETTINGS_MODULE"] = "graphite.settings"
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", run_syncdb=True, verbosity=0)


def main():
    with tempfile.TemporaryDirectory() as folder:
        configure(folder, sys.argv[1])
        from django.core.wsgi import get_wsgi_application

        server = make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Quiet)
        print(server.server_port, flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()


main()
