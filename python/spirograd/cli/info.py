"""`info`: devices, environment and versions."""

from __future__ import annotations

import argparse

from ..base.config import show_config


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command of `python -m spirograd`."""
    commands.add_parser("info", help="devices, versions and environment").set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the report."""
    print(show_config())
    return 0
