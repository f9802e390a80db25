"""A module's parameters, buffers, modules and hooks as the dicts that PyTorch keeps them in: `_parameters`, `_modules`
and their like, also in the module's own `__dict__`."""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from ..nn import Module
from ..nn._attributes import OF_PYTORCH, set_held
from ..nn.hooks import Hook

__all__ = ["open_entries"]

Members = Callable[[Module], Any]
_FOUND: list[Members] = [lambda module: module._own()[1], Module._own_buffers, lambda module: module._own()[0]]
KEPT = dict(zip(OF_PYTORCH, _FOUND, strict=True))
# Hooks by PyTorch's name and by ours.
_HOOKS = {f"_{name}_hooks": name for name in ("forward_pre", "forward", "backward_pre", "backward")}
_HOOKS |= {"_state_dict_hooks": "state", "_state_dict_pre_hooks": "state_pre"}
_HOOKS |= {"_load_state_dict_pre_hooks": "load_pre", "_load_state_dict_post_hooks": "load"}


class _View(dict[Any, Any]):
    """A dict that holds nothing itself: it is read and written where a subclass says."""

    def __new__(cls, *given: Any) -> Any:
        """A view of a module's; of entries, as programs make one like it by `type(view)(entries)`, a dict."""
        return super().__new__(cls) if len(given) == 2 else dict(*given)

    def __init__(self, module: Callable[[], Any], name: str) -> None:
        self._module, self._name = module, name

    def _held(self) -> Mapping[Any, Any]:
        raise NotImplementedError

    def __getitem__(self, key: Any) -> Any:
        return self._held()[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._held()))

    def __reversed__(self) -> Iterator[Any]:
        return reversed(list(self._held()))

    def __len__(self) -> int:
        return len(self._held())

    def __repr__(self) -> str:
        return repr(dict(self.items()))

    def __reduce__(self) -> Any:
        return dict, (dict(self.items()),)

    def keys(self) -> Any:
        """As of a dict, of the present entries."""
        return dict(self._held()).keys()

    def values(self) -> Any:
        """As of a dict, of the present entries."""
        return dict(self._held()).values()

    def items(self) -> Any:
        """As of a dict, of the present entries."""
        return dict(self._held()).items()

    __contains__, __eq__, get = MutableMapping.__contains__, MutableMapping.__eq__, MutableMapping.get  # type: ignore[assignment]
    clear, update, setdefault = MutableMapping.clear, MutableMapping.update, MutableMapping.setdefault

    def pop(self, key: Any, *default: Any) -> Any:
        """An entry, which is deleted; else the default."""
        if key not in self and default:
            return default[0]
        value = self[key]
        del self[key]
        return value

    def popitem(self, last: bool = True) -> tuple[Any, Any]:
        """The last entry, or the first, which is deleted."""
        if not self:
            raise KeyError("popitem: there is no entry")
        key = next(reversed(self) if last else iter(self))
        return key, self.pop(key)

    def copy(self) -> dict[Any, Any]:
        """A dict of its own."""
        return dict(self.items())


class _Members(_View):
    """Parameters, buffers or modules. A class's own __setattr__() and __delattr__() are not called: they write here."""

    def _held(self) -> Mapping[Any, Any]:
        return dict(KEPT[self._name](self._module()))

    def __setitem__(self, name: str, value: Any) -> None:
        module = self._module()
        if self._name == "_buffers" and name not in module._persistent:
            vars(module)["_persistent"] = {**module._persistent, name: True}
        set_held(module, name, value)

    def __delitem__(self, name: str) -> None:
        Module.__delattr__(self._module(), name)


class _Hooks(_View):
    """Hooks of one kind by number: programs clear them, and put them back."""

    def _held(self) -> dict[int, Any]:
        hooks = self._module()._hooks
        return {number: hook.function for number, hook in getattr(hooks, _HOOKS[self._name]).items()} if hooks else {}

    def __setitem__(self, number: int, hook: Any) -> None:
        getattr(self._module()._with_hooks(), _HOOKS[self._name])[number] = Hook(hook)

    def __delitem__(self, number: int) -> None:
        hooks = self._module()._hooks
        del (getattr(hooks, _HOOKS[self._name]) if hooks else {})[number]

    def __repr__(self) -> str:
        return repr(OrderedDict(self.items()))


def _attribute(kind: type[_View], name: str) -> property:
    """The entries; a dict that is assigned takes their place."""

    def get(self: Module) -> _View:
        return kind(lambda: self, name)

    def replace(self: Module, entries: Mapping[Any, Any]) -> None:
        entries = dict(entries.items())
        view = get(self)
        view.clear()
        view.update(entries)

    return property(get, replace)


def _with_kwargs(names: tuple[str, ...], self: Module) -> dict[int, bool]:
    """The numbers of hooks that see arguments by name, or are always called."""
    kind, option = names
    hooks: dict[int, Hook] = getattr(self._hooks, kind) if self._hooks else {}
    return {number: True for number, hook in hooks.items() if getattr(hook, option)}


def _init(original: Callable[[Module], None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: Module) -> None:
        original(self)
        _show(self)

    return __init__


def _show(module: Module) -> None:
    """Puts the dicts into the module's own."""
    this = weakref.ref(module)
    vars(module).update({name: _Members(this, name) for name in KEPT})


def _state(self: Module) -> dict[str, Any]:
    """What copies and pickles keep of a module, as PyTorch lays it out: programs change it."""
    own = vars(self)
    kept = {key: {n: own[n] for n in getattr(self, key) if n in own} for key in KEPT}
    apart = {name for names in kept.values() for name in names}
    state = {**{n: value for n, value in own.items() if n not in apart}, **kept}
    return {**state, "_held_names": sorted(self._held_names), "_order": [name for name in own if name not in KEPT]}


def _set_state(self: Module, state: Mapping[str, Any]) -> None:
    own = {name: value for name, value in state.items() if name not in (*KEPT, "_order")}
    members = {"_held_names": frozenset(own.get("_held_names", ())).union(*(state.get(key, {}) for key in KEPT))}
    for key in KEPT:
        own.update(state.get(key, {}))
    own |= members
    ordered = [name for name in state.get("_order", ()) if name in own]
    vars(self).update({**{name: own[name] for name in ordered}, **own})
    _show(self)


def open_entries() -> None:
    """Gives modules these dicts."""
    for name in KEPT:
        setattr(Module, name, _attribute(_Members, name))
    for name in _HOOKS:
        setattr(Module, name, _attribute(_Hooks, name))
    for option, names in {
        "_forward_hooks_with_kwargs": ("forward", "with_kwargs"),
        "_forward_pre_hooks_with_kwargs": ("forward_pre", "with_kwargs"),
        "_forward_hooks_always_called": ("forward", "always_call"),
    }.items():
        setattr(Module, option, property(functools.partial(_with_kwargs, names)))
    Module.__getstate__ = _state  # type: ignore[method-assign, assignment]
    Module.__setstate__ = _set_state  # type: ignore[method-assign]
    Module._is_full_backward_hook = None  # type: ignore[attr-defined]
    Module.__init__ = _init(Module.__init__)  # type: ignore[method-assign]
