"""What the commands share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from .. import _core, models


class UserError(Exception):
    """A mistake that the user of the command can correct."""


def add_list_of_models(parser: argparse.ArgumentParser) -> None:
    """--list-models of the program, and of the commands that use models."""
    parser.add_argument("--list-models", action=_ListModels, help="list the published models of sg.models, and end")


class _ListModels(argparse.Action):
    """Lists the published models, and ends."""

    def __init__(self, option_strings: list[str], dest: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *args: Any) -> None:
        kinds = [k for k in vars(models).values() if isinstance(k, type) and issubclass(k, models.Pretrained)]
        width = max(len(name) for kind in kinds for name in kind.published)
        for kind in kinds:
            for name, sizes in kind.published.items():
                shown = ", ".join(f"{key} {value}" for key, value in sizes.items())
                print(f"{name:<{width}} {kind.__name__:<6} {shown}".rstrip())
        parser.exit()


class Parser(argparse.ArgumentParser):
    """Prints usage errors with the usage of the command in which they occur."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Reads the arguments of a command, and refuses what it does not know."""
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}; {self.prog} --help lists what there is")
        return found, rest


def check_writable(command: str, path: str | os.PathLike[str], folder: bool) -> None:
    """Checks before the work that its result can be written to a folder or a file; creates nothing.

    Raises:
        UserError: it cannot.
    """
    place = Path(path).absolute() if folder else Path(path).absolute().parent
    while not place.exists() and place != place.parent:
        place = place.parent  # the folders below will be made
    why = "" if place.is_dir() else f"{place} is not a folder"
    if not why and not os.access(place, os.W_OK):
        why = f"{place} is not writable"
    if not folder and Path(path).is_dir():
        why = "it is a folder"
    if why:
        raise UserError(f"{command}: cannot write to {path}: {why}; give another path")


def add_device(parser: argparse.ArgumentParser, default: str, doc: str) -> None:
    """Adds --device to a command."""
    parser.add_argument("--device", default=default, metavar="DEVICE", help=f"{doc} (default {default})")


def one_device(name: str) -> _core.Device:
    """The device of this name; "best" is a GPU if there is one."""
    try:
        return _core.Device.best() if name == "best" else _core.Device(name)
    except ValueError as error:
        raise UserError(f"--device {name}: {error}") from None


def devices(name: str) -> list[_core.Device]:
    """The devices of this name; "all" means all of them."""
    return _core.Device.list() if name == "all" else [one_device(name)]


def positive(text: str) -> int:
    """A whole number of one or more."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value
