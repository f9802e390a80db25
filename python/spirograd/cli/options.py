"""What the commands share."""

from __future__ import annotations

import argparse
from typing import Any

from .. import _core, models


class UserError(Exception):
    """A mistake that the user of the command can correct."""


class ListModels(argparse.Action):
    """--list-models: the published models, and the end."""

    def __init__(self, option_strings: list[str], dest: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *args: Any) -> None:
        for kind in vars(models).values():
            if isinstance(kind, type) and issubclass(kind, models.Pretrained):
                for name, sizes in kind.published.items():
                    shown = ", ".join(f"{key} {value}" for key, value in sizes.items())
                    print(f"{name:<20} {kind.__name__:<8} {shown}".rstrip())
        parser.exit()


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
