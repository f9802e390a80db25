"""What the commands share."""

from __future__ import annotations

import argparse

from .. import _core


class UserError(Exception):
    """A mistake that the user of the command can correct."""


def add_device(parser: argparse.ArgumentParser, default: str, doc: str) -> None:
    """--device of a command."""
    parser.add_argument("--device", default=default, metavar="DEVICE", help=f"{doc} (default {default})")


def one_device(name: str) -> _core.Device:
    """The device of this name; "best" is a GPU where there is one."""
    try:
        return _core.Device.best() if name == "best" else _core.Device(name)
    except ValueError as error:
        raise UserError(f"--device {name}: {error}") from None


def devices(name: str) -> list[_core.Device]:
    """The devices of this name; "all" are all."""
    return _core.Device.list() if name == "all" else [one_device(name)]


def positive(text: str) -> int:
    """A whole number of one or more."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value
