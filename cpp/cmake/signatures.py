"""Writes what the core knows of its functions from python/spirograd/_core.pyi, their only source.

Called by the build: signatures.py _core.pyi FOLDER writes FOLDER/stub.hpp (names, and kinds of arguments, which
the compiler compares with the C++ functions), FOLDER/stub.cpp (signatures and texts) and FOLDER/_core.pyi, in
which each function and method has its whole docstring. In the source each text stands once:
- a method has none if a function of its name has one;
- the method `exp_` without one is `exp` in place;
- `arcsin = asin` is another name;
- "Args, Returns: as in sum." takes these sections from there, of arguments those that the function has and does not
  describe itself.
"""

from __future__ import annotations

import ast
import copy
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

WIDTH = 120
SECTIONS = ("", "Args", "Returns", "Raises", "Example")
_HEADER = re.compile(r"^(Args|Returns|Raises|Example):$", re.MULTILINE)
_AS_IN = re.compile(r"^((?:Args|Returns|Raises)(?:, (?:Args|Returns|Raises))*): as in (\w+)\.$\n*", re.MULTILINE)
IN_PLACE = """{name} in place: its result is written into this tensor.

{first}

Returns:
    The tensor itself.

Raises:
    Error: the tensor is a leaf that requires grad; write under no_grad().
    TypeError: the result would be of a higher kind than the tensor: bool, integer, floating.
    ValueError: the result has another shape, or elements of the tensor share memory."""
# NumPy's words for arguments, or the other ones that PyTorch uses.
OTHER_WORDS = {
    "array": "ndarray",
    "correction": "ddof",
    "dim": "axis",
    "dims": "axes",
    "end": "stop",
    "ext_tensor": "x",
    "fill_value": "value",
    "from_": "from",
    "keepdim": "keepdims",
    "max": "a_max",
    "min": "a_min",
    "other": "x2",
    "sections": "indices",
    "shape": "size",
    "size": "shape",
    "src": "value",
    "steps": "num",
    "tensors": "arrays",
}
# Kinds of values by the names of types in annotations: signature.hpp.
KINDS = {
    "Tensor": "kTensor",
    "int": "kInt",
    "float": "kFloat | kInt | kBool",
    "bool": "kBool",
    "str": "kStr",
    "None": "kNone",
    "Sequence": "kSequence",
    "list": "kSequence",
    "tuple": "kSequence",
    "_Number": "kFloat | kInt | kBool",
    "_ValuesAndIndices": "kSequence",
    "dtype": "kDType",
    "DTypeLike": "kDType",
    "Device": "kDevice",
    "DeviceLike": "kDevice",
    "Generator": "kGenerator",
    "Any": "kAnything",
}


class WrongStubError(Exception):
    """What is wrong with the stub, and where."""

    def __init__(self, node: ast.AST, what: str) -> None:
        super().__init__(f"{getattr(node, 'lineno', 1)}: {what}")


class Parameter(NamedTuple):
    """One argument besides the tensor."""

    name: str
    type: str
    default: str  # "" without one
    stars: str
    by_name: bool


class Function(NamedTuple):
    """A function of the module or a method of a class, as the stub has it."""

    node: ast.FunctionDef
    first: str  # "self", "input", or "" in a function that takes no tensor before the others
    first_type: str
    parameters: list[Parameter]
    result: str

    @property
    def doc(self) -> str:
        return ast.get_docstring(self.node) or ""


class Entry(NamedTuple):
    """One name of the module, of Tensor, or of both."""

    name: str
    scope: str
    function: Function
    doc: str


# ---- reading ---------------------------------------------------------------------------------------------------------
def plain(annotation: ast.expr | None) -> str:
    """A type as people write it: names that the module's own `int` and `float` would hide are qualified there."""
    return ast.unparse(annotation).replace("builtins.", "") if annotation else ""


def is_marked(node: ast.FunctionDef, decorator: str) -> bool:
    return any(ast.unparse(d) == decorator for d in node.decorator_list)


def read(node: ast.FunctionDef, method: bool) -> Function:
    a = node.args
    if a.kwarg:
        raise WrongStubError(node, f"{node.name}: rows take no '**'")
    args = [*a.posonlyargs, *a.args]
    defaults = [None] * (len(args) - len(a.defaults)) + a.defaults
    places = [(p, d, "", False) for p, d in zip(args, defaults, strict=True)]
    if a.vararg:
        places.append((a.vararg, None, "*", False))
    places += [(p, d, "", not a.vararg) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    parameters = [
        Parameter(p.arg, plain(p.annotation), ast.unparse(d) if d else "", stars, by_name)
        for p, d, stars, by_name in places
    ]
    if not node.returns or not all(p.type for p in parameters[method:]):
        raise WrongStubError(node, f"{node.name}: a type is missing")
    first = parameters.pop(0) if method else None
    return Function(node, "self" if first else "", "Tensor", parameters, plain(node.returns))


def functions_of(body: list[ast.stmt], method: bool) -> dict[str, Function]:
    """By name; of several overloads the last one, which takes whatever the others do."""
    found: dict[str, Function] = {}
    for node in body:
        if not isinstance(node, ast.FunctionDef) or is_marked(node, "property"):
            continue
        before = found.get(node.name)
        if before and not is_marked(before.node, "overload"):
            raise WrongStubError(node, f"{node.name} is defined twice")
        found[node.name] = read(node, method)
    return found


def aliases_of(body: list[ast.stmt]) -> dict[str, str]:
    """`arcsin = asin`"""
    return {
        node.targets[0].id: node.value.id
        for node in body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Name)
    }


# ---- texts -----------------------------------------------------------------------------------------------------------
def sections(text: str) -> dict[str, str]:
    first, *rest = _HEADER.split(text)
    return {"": first.strip(), **{name: part.strip("\n") for name, part in zip(rest[::2], rest[1::2], strict=True)}}


def entries(section: str) -> dict[str, str]:
    """The lines of each argument or error, by its name, or by several names with commas between."""
    parts = re.split(r"\n(?=    \S)", section)
    return {part.partition(":")[0].strip(): part for part in parts if part}


def joined(parts: dict[str, str]) -> str:
    texts = [f"{name}:\n{parts[name]}" if name else parts[name] for name in SECTIONS if parts.get(name)]
    return "\n\n".join(texts)


def in_place(name: str, text: str) -> str:
    """The text of a function as that of the method in place."""
    parts = sections(text)
    own = sections(IN_PLACE.format(name=name, first=parts[""]))
    raises = {**entries(own["Raises"]), **entries(parts.get("Raises", ""))}
    for error, line in entries(own["Raises"]).items():
        if raises[error] != line:
            raises[error] = f"{line.rstrip('.')}; or {raises[error].partition(': ')[2]}"
    arguments = [line for argument, line in entries(parts.get("Args", "")).items() if argument != "input"]
    return joined({**own, "Args": "\n".join(arguments), "Raises": "\n".join(raises.values())})


def members_of(node: ast.ClassDef) -> Iterator[tuple[str, str, ast.FunctionDef | None]]:
    """The class itself, its attributes and methods: names, docstrings, and what has a signature."""
    made = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name in ("__init__", "__new__")]
    yield node.name, ast.get_docstring(node) or "", made[0] if made else None
    for member, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(member, ast.FunctionDef):
            signed = None if is_marked(member, "property") else member
            yield f"{node.name}.{member.name}", ast.get_docstring(member) or "", signed
        elif isinstance(member, ast.AnnAssign) and isinstance(after, ast.Expr):
            yield f"{node.name}.{ast.unparse(member.target)}", str(ast.literal_eval(after.value)), None


class Stub:
    """The source, with the names that it defines and their whole texts."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tree = ast.parse(source)
        (self.tensor,) = (n for n in self.tree.body if isinstance(n, ast.ClassDef) and n.name == "Tensor")
        self.functions = functions_of(self.tree.body, method=False)
        self.methods = functions_of(self.tensor.body, method=True)
        of_tensor, of_module = aliases_of(self.tensor.body), aliases_of(self.tree.body)
        self.aliases = {
            n: of for n, of in {**of_tensor, **of_module}.items() if of in {**self.methods, **self.functions}
        }
        for name, of in self.aliases.items():
            if (name in of_tensor, name in of_module) != (of in self.methods, of in self.functions):
                raise WrongStubError(self.tree, f"{name} is not another name of {of} wherever that is")

    def function(self, name: str) -> Function:
        function, method = self.functions.get(name), self.methods.get(name)
        if not function or not method:
            if found := function or method:
                return found
            raise WrongStubError(self.tree, f"'{name}' is neither a function nor a method")
        own, others = function.parameters[:1], function.parameters[1:]
        if [p.name for p in own] != ["input"] or others != method.parameters or function.result != method.result:
            raise WrongStubError(method.node, f"{name}: the function and the method differ")
        if function.doc and method.doc:
            raise WrongStubError(method.node, f"{name}: its text belongs to the function alone")
        return function._replace(first="input", first_type=own[0].type, parameters=others)

    def text(self, name: str) -> str:
        """The whole docstring."""
        function = self.function(name)
        method = self.methods.get(name)
        own = function.doc or (method.doc if method else "")
        if not own:
            if name.endswith("_") and name[:-1] in {**self.functions, **self.methods}:
                return in_place(name[:-1], self.text(name[:-1]))
            raise WrongStubError(function.node, f"{name} has no docstring")
        parts = sections(_AS_IN.sub("", own))
        for names, model in _AS_IN.findall(own):
            theirs = sections(self.text(model))
            for section in names.split(", "):
                parts[section] = self._completed(section, function, parts.get(section, ""), theirs.get(section, ""))
        return joined(parts)

    @staticmethod
    def _completed(section: str, function: Function, own: str, theirs: str) -> str:
        if section == "Returns":
            return theirs
        found = {**entries(theirs), **entries(own)}
        if section == "Raises":
            return "\n".join(found.values())
        order = [function.first, *(p.name for p in function.parameters)]
        kept = [name for name in found if name.split(", ")[0] in order]
        return "\n".join(found[name] for name in sorted(kept, key=lambda name: order.index(name.split(", ")[0])))

    def entries(self) -> Iterator[Entry]:
        """In the order of their names. Operators, which are no rows, have no text."""
        names = {n for n, m in self.methods.items() if m.doc or not n.startswith("__")} | self.functions.keys()
        for name in sorted(names | self.aliases.keys()):
            of = self.aliases.get(name, name)
            text = self.text(of)
            if of != name and not of.endswith("_"):  # which would be a link in reStructuredText
                text = f"The same as {of}. {text}"
            scope = "method" if of not in self.functions else "both" if of in self.methods else "function"
            yield Entry(name, scope, self.function(of), text)

    def members(self) -> dict[str, tuple[str, str]]:
        """Of classes, besides the methods of Tensor: the line that CPython takes for a signature, and the docstring."""
        found = {}
        for node in (n for n in self.tree.body if isinstance(n, ast.ClassDef)):
            for name, doc, signed in members_of(node):
                if doc and name.partition(".")[2] not in (self.methods if node is self.tensor else ()):
                    line = ""
                    if signed:
                        parameters = parameters_of(signed, types=False, first=is_marked(signed, "staticmethod"))
                        line = f"{name.rpartition('.')[2]}({parameters})\n--\n\n"
                    found[name] = line, doc
        return dict(sorted(found.items()))

    def whole(self) -> str:
        """The source with all docstrings written out."""
        lines = self.source.split("\n")
        nodes = [(n, "    ") for n in self.tree.body] + [(n, " " * 8) for n in self.tensor.body]
        told = {entry.name for entry in self.entries()}
        for node, indent in sorted(nodes, key=lambda pair: pair[0].lineno, reverse=True):
            if not isinstance(node, ast.FunctionDef) or is_marked(node, "property") or node.name not in told:
                continue
            (body,) = node.body
            text = self.text(node.name)
            text = textwrap.indent(f'"""{text}\n"""' if "\n" in text else f'"""{text}"""', indent)
            last = lines[body.lineno - 1]
            before = last[: body.col_offset].rstrip()
            lines[body.lineno - 1 : body.end_lineno] = [*([before] if before else []), *text.split("\n")]
        return "\n".join(lines)


# ---- C++ -------------------------------------------------------------------------------------------------------------
def kinds(annotation: str, several: bool = False) -> str:
    """The set of kinds that a type stands for; the elements of containers are not looked at."""
    found, left = set(), [ast.parse(annotation, mode="eval").body]
    while left:
        part = left.pop()
        if isinstance(part, ast.BinOp):
            left += [part.left, part.right]
        else:
            found.add(KINDS.get(ast.unparse(part.value if isinstance(part, ast.Subscript) else part), "kOther"))
    return " | ".join(sorted(found | ({"kSequence"} if several else set())))


def quoted(text: str) -> str:
    r"""A C++ literal of several lines, each ending in \n but the last."""
    lines = text.replace("\\", "\\\\").replace('"', '\\"').split("\n")
    return "\n     ".join([*(f'"{line}\\n"' for line in lines[:-1]), f'"{lines[-1]}"'])


def parameters_of(node: ast.FunctionDef, types: bool, first: bool) -> str:
    """What stands between the parentheses."""
    a = copy.deepcopy(node.args)
    if not first:
        (a.posonlyargs or a.args).pop(0)
    for argument in (*a.posonlyargs, *a.args, *a.kwonlyargs, *([a.vararg] if a.vararg else [])):
        argument.annotation = argument.annotation if types else None
    return ast.unparse(a).replace("builtins.", "")


HEADER = """\
// Written by cpp/cmake/signatures.py: the names of _core.pyi, and the kinds of what they take and return.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sg::bind {{

inline constexpr Signature kSignatures[] = {{
{rows}
}};
inline constexpr uint16_t kTakes[] = {{
{takes}
}};
inline constexpr Alias kAliases[] = {{
{aliases}
}};
{declared}
inline constexpr Member kMembers[] = {{
{members}
}};

}}  // namespace sg::bind
"""
UNIT = """\
// Written by cpp/cmake/signatures.py: signatures and texts of _core.pyi.
#include "bind/signature.hpp"

namespace sg::bind {{
namespace {{

Parameter parameters[] = {{
{lists}
}};

}}  // namespace

const Text kTexts[] = {{
{texts}
}};
{members}

}}  // namespace sg::bind
"""


def header(stub: Stub) -> str:
    rows, takes = list[str](), list[str]()
    for name, scope, function, _ in stub.entries():
        own = [kinds(p.type, bool(p.stars)) for p in function.parameters]
        all_kinds = [kinds(function.first_type), *own] if function.first else own
        rows.append(f'    {{"{name}", Scope::{scope}, {kinds(function.result)}, {len(takes)}, {len(all_kinds)}}},')
        takes += all_kinds
    listed = "\n".join(f"    {kind}," for kind in takes)
    aliases = "\n".join(f'    {{"{name}", "{of}"}},' for name, of in stub.aliases.items())
    declared, members = list[str](), list[str]()
    for number, (name, (line, doc)) in enumerate(stub.members().items()):
        declared.append(f"extern const char kMember{number}[{len((line + doc).encode()) + 1}];")
        members.append(f'    {{"{name}", kMember{number}, {len(line.encode())}}},')
    return HEADER.format(
        rows="\n".join(rows),
        takes=listed,
        aliases=aliases,
        declared="\n".join(declared),
        members="\n".join(members),
    )


def unit(stub: Stub) -> str:
    lists, texts = [], []
    for _, _, function, doc in stub.entries():
        parameters = function.parameters
        for p in parameters:
            word = f'"{OTHER_WORDS[p.name]}"' if p.name in OTHER_WORDS else "nullptr"
            default = quoted(p.default) if p.default else "nullptr"
            lists.append(
                f'    {{"{p.name}", {word}, {str(bool(p.stars)).lower()}, {str(p.by_name).lower()}, {default}}},'
            )
        begin = len(lists) - len(parameters)
        texts_of = [quoted(parameters_of(function.node, types, not function.first)) for types in (False, True)]
        fields = [f"{{parameters + {begin}, {len(parameters)}}}", *texts_of, quoted(function.result), quoted(doc)]
        texts.append("    {" + ",\n     ".join(fields) + "},")
    members = [
        f"const char kMember{number}[] =\n    {quoted(line + doc)};"
        for number, (line, doc) in enumerate(stub.members().values())
    ]
    return UNIT.format(lists="\n".join(lists), texts="\n".join(texts), members="\n".join(members))


def write(path: Path, text: str) -> None:
    """Leaves a file alone that is as it should be, and so what is compiled from it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main(source: str, folder: str) -> None:
    try:
        stub = Stub(Path(source).read_text(encoding="utf-8"))
        write(Path(folder, "stub.hpp"), header(stub))
        write(Path(folder, "stub.cpp"), unit(stub))
        write(Path(folder, "_core.pyi"), stub.whole())
    except SyntaxError as error:
        raise SystemExit(f"{source}:{error.lineno}: {error.msg}") from None
    except WrongStubError as error:
        raise SystemExit(f"{source}:{error}") from None


if __name__ == "__main__":
    main(*sys.argv[1:3])
