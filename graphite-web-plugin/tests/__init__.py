"""Run by `python -m unittest` with src and tests/stand_in on PYTHONPATH."""
