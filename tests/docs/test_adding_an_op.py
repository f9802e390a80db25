"""docs/adding_an_op.md, followed: a copy of the tree gets an op of each kind, is built, and runs their tests.

Each change is to a file that the page's recipe names, beside a neighbour. The slow test builds the whole copy; with
ccache, which CMAKE_CXX_COMPILER_LAUNCHER may name, it compiles only the units that the changes touch.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from tree_copy import ROOT, copied, run

# A change: the file, a text in it, and what comes before that text.
Change = tuple[str, str, str]
STUB = "python/spirograd/_core.pyi"
FOLDED = "dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False"

POINTWISE: list[Change] = [
    (
        "cpp/math/activation.hpp",
        "struct Logsigmoid {",
        """struct Bent {
  static constexpr auto name = "bent", doc = "(sqrt(a * a + 1) - 1) / 2 + a.", result = "float", saves = "a";
  static auto fwd(auto a) { return (sqrt(a * a + 1) - 1) * 0.5 + a; }
  static auto vjp_a(auto g, auto a, auto) { return g * (a * 0.5 / sqrt(a * a + 1) + 1); }
};
""",
    ),
    ("cpp/math/names.hpp", "X(Softsign, softsign)", "X(Bent, bent) "),
    (
        STUB,
        "def selu(",
        '''def bent(input: Tensor) -> Tensor:
    """(sqrt(a * a + 1) - 1) / 2 + a, element by element.

    Args, Returns: as in exp.
    """

''',
    ),
    ("python/spirograd/nn/functional/activation.py", "    gelu,\n", "    bent,\n"),
    ("python/spirograd/nn/functional/activation.py", '__all__ += ["silu"', '__all__ += ["bent"]\n'),
    (
        "tests/reference/pointwise.py",
        '    activation("softsign"',
        '    activation("bent", lambda x: (np.sqrt(x * x + 1) - 1) / 2 + x),\n',
    ),
]
FOLD: list[Change] = [
    (
        "cpp/ops/reduce.cpp",
        'const OpInfo Min{.name = "amin"',
        """const OpInfo Peak{.name = "peak",
                  .doc = "The largest value over dimensions.",
                  .kind = Kind::reduce,
                  .arity = 1,
                  .saves = kSavesA | kSavesOutput,
                  .fold = Fold::maximum,
                  .vjp = vjp_extreme};
""",
    ),
    (
        "cpp/ops/reduce.cpp",
        "Tensor amin(const Tensor& x",
        """Tensor peak(const Tensor& x, const Axes& axes, bool keepdim) {
  return extreme(ops::Peak, x, axes.of("peak", x), keepdim);
}
""",
    ),
    ("cpp/ops/ops.hpp", "Median;", "Peak, "),
    ("cpp/ops/list.cpp", "&ops::Choose,", "&ops::Peak,\n      "),
    (
        "cpp/ops/list.hpp",
        "Tensor amin(const Tensor& x",
        "Tensor peak(const Tensor& x, const Axes& axes = {}, bool keepdim = false);\n",
    ),
    (
        "cpp/bind/reductions.cpp",
        '    {"amin", ',
        '    {"peak", bound<sg::peak>},\n',
    ),
    (STUB, "    def amin(", f"    def peak(self, {FOLDED}) -> Tensor: ...\n"),
    (
        STUB,
        "def amin(\n    input",
        f'''def peak(input: Tensor, {FOLDED}) -> Tensor:
    """The largest value over dimensions.

    Args, Returns: as in sum.
    """

''',
    ),
    (
        "tests/reference/statistics.py",
        '    *extreme("max"),',
        '    Row("peak", lambda x: x.peak(-1), lambda x: x.max(-1), FOLDED, EVERY),\n',
    ),
    ("tests/ops/extreme_integers.py", "    std std_mean ", "    peak\n"),
]
COMPOSITE: list[Change] = [
    (
        "cpp/ops/arithmetic.cpp",
        "Tensor addcmul(",
        "Tensor midpoint(const Tensor& a, const Tensor& b) { return (a + b) * Tensor(0.5); }\n",
    ),
    ("cpp/ops/list.hpp", "Tensor addcmul(", "Tensor midpoint(const Tensor& a, const Tensor& b);  // (a + b) / 2\n"),
    (
        "cpp/bind/pointwise.cpp",
        '    {"addcmul", ',
        '    {"midpoint", bound<sg::midpoint>},\n',
    ),
    (STUB, "    def addcmul(", "    def midpoint(self, other: Tensor | builtins.float) -> Tensor: ...\n"),
    (
        STUB,
        "def addcmul(input",
        '''def midpoint(input: Tensor, other: Tensor | builtins.float) -> Tensor:
    """(input + other) / 2."""

''',
    ),
    (
        "tests/reference/pointwise.py",
        '    binary("atan2"',
        '    binary("midpoint", sg.midpoint, lambda a, b: (a + b) / 2, FLOATS, ulp=1),\n',
    ),
]
RECIPES = {"## Pointwise": POINTWISE, "## A reduction with": FOLD, "## A composite": COMPOSITE}
EVERY_OP = "## Every op"


def section(page: str, head: str) -> str:
    begin = page.index(head)
    return page[begin : page.find("\n## ", begin + 1)]


def named(text: str) -> set[str]:
    """The files and folders that a recipe names; a bare file name is one of the folder before it."""
    found: set[str] = set()
    folder = ""
    for path in re.findall(r"`([\w./*]+)`", text):
        if "/" in path:
            found.add(path)
            folder = path if (ROOT / path).is_dir() else path.rpartition("/")[0]
        elif "." in path:
            found.add(f"{folder}/{path}")
    return found


@pytest.mark.parametrize("head", RECIPES)
def test_the_recipe_names_each_file(head: str) -> None:
    page = (ROOT / "docs/adding_an_op.md").read_text(encoding="utf-8")
    places = named(section(page, head)) | named(section(page, EVERY_OP))
    for file, _, _ in RECIPES[head]:
        assert any(file == place or file.startswith(f"{place}/") for place in places), f"{head} does not name {file}"


@pytest.mark.parametrize("head", RECIPES)
def test_each_change_has_its_neighbour(head: str) -> None:
    for file, anchor, _ in RECIPES[head]:
        assert anchor in (ROOT / file).read_text(encoding="utf-8"), f"{file} has no '{anchor}' any longer"


def change(tree: Path, changes: list[Change]) -> None:
    for file, anchor, text in changes:
        before = (tree / file).read_text(encoding="utf-8")
        assert anchor in before, f"{file} has no '{anchor}' any longer: choose another neighbour"
        (tree / file).write_text(before.replace(anchor, text + anchor, 1))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The copy with the new ops, built."""
    tree = copied(tmp_path_factory.mktemp("tree"))
    for changes in RECIPES.values():
        change(tree, changes)
    folder = "build/copy"
    run(tree, "cmake", "-S", ".", "-B", folder, "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}")
    run(tree, "cmake", "--build", folder, "--target", "_core")
    (built,) = (tree / folder).glob("_core.*.so")
    shutil.copy(built, tree / "python/spirograd")
    shutil.copy(tree / folder / "stub/_core.pyi", tree / "python/spirograd")
    return tree


@pytest.mark.needs("a build")
@pytest.mark.slow
def test_an_op_of_each_kind_is_added_by_the_page(tree: Path) -> None:
    python = {"PYTHONPATH": str(tree / "python")}
    (tree / "docs/ops.md").write_text(run(tree, sys.executable, "tools/ops_page.py", **python))
    for name in ("bent", "peak", "midpoint"):
        assert f"| `{name}` |" in (tree / "docs/ops.md").read_text(encoding="utf-8")
    words = "bent or peak or midpoint or every_op or current or extreme"
    tests = ["tests/ops/test_ops.py", "tests/ops/test_extreme_integers.py", "tests/autograd/test_grad.py", "tests/api"]
    run(tree, sys.executable, "-m", "pytest", "-q", "-m", "not gpu and not slow", "-k", words, *tests, **python)
