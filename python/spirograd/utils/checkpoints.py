"""Training that can be interrupted anywhere: its whole state in a file, restored to the same bits.

`checkpoint`, without the s, is something else: it trades time for memory inside one step.
"""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import serialization
from .._core import CacheWarning, FileFormatError, Generator, _random_state, _set_random_state

__all__ = ["Restored", "latest", "peek", "restore", "save"]

_NAME = re.compile(r"step-(\d+)\.npz")


class Restored(NamedTuple):
    """The progress of a training when it was saved."""

    step: int  # steps done
    epoch: int  # epochs done
    extra: Any  # the `extra` that save() was given
    path: Path  # of the file


def save(
    folder: str | os.PathLike[str], step: int, *, epoch: int = 0, extra: Any = None, keep: int = 3, **objects: Any
) -> Path:
    """Writes the state of a training, with that of the common stream of random numbers, to `folder/step-NUMBER.npz`.

    The file is whole or not there, whenever the process is killed. Older ones are deleted, but for the last `keep`. One
    process at a time writes to a folder.

    Args:
        folder: is made if need be.
        step: steps done.
        epoch: epochs done.
        extra: anything that sg.save() takes.
        keep: how many files may stay; 0: all.
        objects: what has a state_dict(), such as model=, optimizer=, scheduler=; and generators of random numbers,
            spirograd's and NumPy's.

    Returns:
        The path of the file.

    Raises:
        TypeError: an object has no state that can be saved.
        ValueError: a negative step or keep.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> net = sg.nn.Linear(2, 1)
        >>> sg.utils.checkpoints.save(folder, 7, model=net).name
        'step-0000000007.npz'
        >>> sg.utils.checkpoints.restore(folder, model=net).step
        7
    """
    if step < 0 or keep < 0:
        raise ValueError(f"save: step is {step} and keep is {keep}; use 0 or more for both")
    states = {name: _state("save", name, thing) for name, thing in objects.items()}
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"step-{step:010}.npz"
    content = {"step": step, "epoch": epoch, "extra": extra, "random": _random_state(), "states": states}
    serialization.save(content, path)
    for part in folder.glob(".step-*.npz.*.part"):  # of a process that was killed while it wrote
        part.unlink(missing_ok=True)
    if keep:
        for old in [p for p in reversed(_all(folder)) if p != path][keep - 1 :]:
            old.unlink(missing_ok=True)
    return path


def restore(source: str | os.PathLike[str], **objects: Any) -> Restored | None:
    """Restores a training to where it was saved; it continues with the same bits as without the interruption.

    Args:
        source: the folder of save(), of which the last whole file is taken; or one file.
        objects: those of save(), by the same names; some may be left out.

    Returns:
        Where the training was; None when the folder has no file, or is not there.

    Raises:
        FileFormatError: a file is damaged, and there is none before it.
        ValueError: an object was not saved, and nothing was put back; or it does not fit.

    Warns:
        CacheWarning: the last file of the folder is damaged, and the one before it is taken.
    """
    found = _find(source)
    if found is None:
        return None
    content, path = found
    states = content["states"]
    for name, thing in objects.items():
        _state("restore", name, thing)  # it has one, or this raises
        if name not in states:
            raise ValueError(f"restore: {path} has no state of {name}, only of {', '.join(states) or 'nothing'}")
    for name, thing in objects.items():
        _take(thing, states[name])
    _set_random_state(content["random"])
    return Restored(content["step"], content["epoch"], content["extra"], path)


def peek(source: str | os.PathLike[str]) -> Restored | None:
    """What restore() would return, without restoring anything.

    Args:
        source: a folder of save(), or one file.

    Raises:
        FileFormatError: a file is damaged, and there is none before it.

    Example:
        >>> sg.utils.checkpoints.peek("no such folder") is None
        True
    """
    found = _find(source)
    return found and Restored(found[0]["step"], found[0]["epoch"], found[0]["extra"], found[1])


def latest(folder: str | os.PathLike[str]) -> Path | None:
    """The file of the last step in a folder of save(), unread; None when there is none.

    Example:
        >>> sg.utils.checkpoints.latest("no such folder") is None
        True
    """
    return next(reversed(_all(Path(folder))), None)


def _all(folder: Path) -> list[Path]:
    """The files of save(), by their step."""
    steps = {p: int(m[1]) for p in folder.glob("step-*.npz") if (m := _NAME.fullmatch(p.name))}
    return sorted(steps, key=steps.__getitem__)


def _find(source: str | os.PathLike[str]) -> tuple[dict[str, Any], Path] | None:
    """The content of a file, or of the last complete one in a folder."""
    folder = Path(source)
    if folder.is_file():
        return _read(folder)
    damaged: FileFormatError | None = None
    for path in reversed(_all(folder)):
        try:
            found = _read(path)
        except FileFormatError as error:
            damaged = damaged or error
            continue
        if damaged:
            warnings.warn(CacheWarning(f"restore: {damaged}; {path.name} is taken instead"), stacklevel=4)
        return found
    if damaged:
        raise damaged
    return None


def _read(path: Path) -> tuple[dict[str, Any], Path]:
    content = serialization.load(path)
    try:
        kinds = {"step": int, "epoch": int, "random": tuple, "states": dict}
        if all(isinstance(content[name], kind) for name, kind in kinds.items()) and "extra" in content:
            return content, path
    except (KeyError, TypeError):
        pass
    raise FileFormatError(f"restore: {path} does not hold the state of a training")


def _state(op: str, name: str, thing: Any) -> Any:
    if hasattr(thing, "state_dict") and hasattr(thing, "load_state_dict"):
        return thing.state_dict()
    if isinstance(thing, Generator):
        return thing.get_state()
    if isinstance(thing, np.random.Generator):
        return thing.bit_generator.state
    raise TypeError(f"{op}: {name} is a {type(thing).__name__} without state_dict() and load_state_dict()")


def _take(thing: Any, state: Any) -> None:
    if hasattr(thing, "load_state_dict"):
        thing.load_state_dict(state)
    elif isinstance(thing, Generator):
        thing.set_state(state)
    else:
        thing.bit_generator.state = state
