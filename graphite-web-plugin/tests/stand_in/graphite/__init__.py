"""The few classes of graphite-web 1.1.10 that the plug-in builds on, for Pythons on which that release does not run.

The plug-in is tested in the real one as well: tests/server/graphite_web of the server.
"""
