"""Programs to run: `python -m spirograd.examples.NAME`."""
