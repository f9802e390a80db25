"""The pages: their code runs, their links lead somewhere, their tables are those of the code."""

from __future__ import annotations

import doctest
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import spirograd as sg

Run = Callable[..., str]
ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1``` *$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# What a measurement looks like: a number and a unit of time or rate, or a ratio.
FIGURE = re.compile(
    r"\d\s*(?:ns|us|µs|ms|[GMT]B/s|GiB/s|[GT]FLOP/?s?|images/s|steps/s)\b|\d\s*(?:x|times) (?:as )?fast", re.I
)
RESULT = re.compile(r"benchmarks/results/[\w.-]+\.json")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def page(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def prose(text: str) -> str:
    """The page without its code blocks, line structure kept."""
    return FENCE.sub(lambda m: "\n" * m[0].count("\n"), text)


def run_blocks(path: Path, kinds: set[str]) -> int:
    """Runs the blocks of these kinds as one session; gives the number of examples."""
    text = path.read_text(encoding="utf-8")
    kept = ["\n"] * (text.count("\n") + 1)
    for block in FENCE.finditer(text):
        if block[2].strip() in kinds:
            first = text.count("\n", 0, block.start(3))
            for i, line in enumerate(block[3].splitlines()):
                kept[first + i] = line + "\n"
    test = doctest.DocTestParser().get_doctest("".join(kept), {}, name(path), str(path), 0)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert result.failed == 0, "".join(report)
    return result.attempted


def table(text: str, first: str) -> list[list[str]]:
    """The rows of the table whose first heading is `first`."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


@pytest.mark.parametrize("path", [p for p in PAGES if p.parent.name == "docs"], ids=name)
def test_code_fits_the_column_of_the_site(path: Path) -> None:
    """Statements and commands; what they print, and parts of files, may be longer."""
    for block in FENCE.finditer(path.read_text(encoding="utf-8")):
        kind = block[2].split(" ")[0].strip()
        for line in block[3].splitlines():
            if kind == "sh" or (kind == "python" and line.startswith((">>> ", "... "))):
                assert len(line) <= 88, line


WITH_CODE = [p for p in PAGES if "```python" in p.read_text(encoding="utf-8")]


def run_alone(run_python: Run, path: Path, kinds: set[str]) -> None:
    """In a fresh interpreter: pages show counters and plans, which other tests would change."""
    code = f"import pathlib, test_docs\nassert test_docs.run_blocks(pathlib.Path({str(path)!r}), {kinds})"
    run_python(code, PYTHONDONTWRITEBYTECODE="1")


@pytest.mark.parametrize("path", WITH_CODE, ids=name)
def test_code_runs(path: Path, run_python: Run) -> None:
    run_alone(run_python, path, {"python"})


@pytest.mark.gpu
@pytest.mark.parametrize("path", [p for p in WITH_CODE if "```python gpu" in p.read_text(encoding="utf-8")], ids=name)
def test_code_runs_on_a_gpu(path: Path, run_python: Run) -> None:
    run_alone(run_python, path, {"python", "python gpu"})


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_code_is_runnable_or_not_python(path: Path) -> None:
    for block in FENCE.finditer(path.read_text(encoding="utf-8")):
        kind = block[2].strip()
        assert kind in {"python", "python gpu", "cpp", "diff", "sh", "text", ""}, f"a block of kind '{kind}'"
        if kind.startswith("python"):
            assert ">>>" in block[3], "a Python block that nobody runs; write it as a session, or call it text"


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ +(.*)$", prose(path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(path.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        to = (path.parent / file).resolve() if file else path
        assert to.exists() and to.is_relative_to(ROOT), f"{name(path)} links to {target}, which does not exist"
        if anchor:
            assert anchor in anchors(to), (
                f"{name(path)} links to {target}; the headings there are {sorted(anchors(to))}"
            )


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_files_named_in_pages_exist(path: Path) -> None:
    for target in re.findall(
        r"`((?:cpp|shaders|python|tests|tools|benchmarks|docs)/[\w./*-]+)`", path.read_text(encoding="utf-8")
    ):
        assert list(ROOT.glob(target.rstrip("/"))) or target.startswith("benchmarks/results"), (
            f"{name(path)} names {target}, which does not exist"
        )


def test_every_page_is_linked_from_the_first() -> None:
    linked = {f"docs/{target}" for target in re.findall(r"\]\(([^):#]+)", page("docs/index.md"))}
    pages = {name(p) for p in PAGES if p.parent == ROOT / "docs"} - {"docs/index.md"}
    assert pages <= linked, f"docs/index.md does not link to {pages - linked}"


def test_environment_variables_are_documented() -> None:
    documented = [(row[0].strip("`"), row[1], row[2]) for row in table(page("docs/environment.md"), "name")]
    assert documented == [(n, fallback, doc) for n, _, fallback, doc in sg._core._environment()]


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_no_other_variable_is_named(path: Path) -> None:
    known = {n for n, *_ in sg._core._environment()} | set(
        re.findall(r"(?:option|set)\((SPIROGRAD_\w+)", page("CMakeLists.txt"))
    )
    named = set(re.findall(r"\bSPIROGRAD_[A-Z_]*[A-Z]\b", path.read_text(encoding="utf-8")))
    assert named <= known, f"{name(path)} names {named - known}, which nothing reads"


def test_counters_are_documented() -> None:
    assert [row[0].strip("`") for row in table(page("docs/gpu.md"), "counter")] == list(sg.stats())


def test_messages_are_those_of_the_code() -> None:
    """Each entry that begins with a message has its text in the source, but for what varies."""
    source = "".join(p.read_text(encoding="utf-8") for p in sorted((ROOT / "cpp").rglob("*.[ch]pp")))
    source = re.sub(r'"\s*"', "", source)  # adjacent literals are one
    section = re.sub(r"\n +", " ", page("docs/troubleshooting.md"))
    messages = re.findall(r"^- `([^`]+)`:", section, re.MULTILINE)
    messages += [m for m in re.findall(r"`([^`]*\.\.\.[^`]*)`", section) if m not in messages]
    assert len(messages) > 20
    for message in messages:
        for part in re.split(r"\s*\.\.\.\s*", message):
            assert part in source, f"'{part}' of '{message}' is in no source file"


def test_figures_have_their_file() -> None:
    for section in re.split(r"^#", prose(page("README.md")), flags=re.MULTILINE):
        found = FIGURE.search(section)
        if not found:
            continue
        files = RESULT.findall(section)
        assert files, f"'{found[0]}' in README.md: a figure needs a link to its file in benchmarks/results"
        missing = [f for f in files if not (ROOT / f).is_file()]
        assert not missing, f"README.md quotes {missing}, which do not exist"


def quoted_tables(text: str) -> Iterator[tuple[list[str], str]]:
    """The tables below a paragraph that names files of results, and these files."""
    files: list[str] = []
    for block in re.split(r"\n\s*\n", text):
        if block.startswith("#"):
            files = []
        elif not block.startswith("|"):
            files = RESULT.findall(block) or files
        elif files:
            yield files, block


def figures_by_row(path: str) -> dict[str, list[str]]:
    """Of the tables of measurements: the cells of each row with figures."""
    rows: dict[str, list[str]] = {}
    for _, table in quoted_tables(page(path)):
        for row in table.splitlines()[2:]:
            what, *cells = (cell.strip() for cell in row.strip("|").split("|"))
            rows.setdefault(what, cells)
    return rows


def test_the_readme_quotes_the_page_of_measurements() -> None:
    """One figure for one thing: what is quoted elsewhere changes with the page."""
    measured, quoted = figures_by_row("docs/benchmarks.md"), figures_by_row("README.md")
    assert 5 <= len(quoted) <= 8
    for what, cells in quoted.items():
        assert what in measured, f"'{what}' is not in docs/benchmarks.md"
        assert cells == measured[what][: len(cells)], f"'{what}' is {measured[what]} in docs/benchmarks.md"
    everything = " ".join(cell for row in measured.values() for cell in row)
    for what, (ours, theirs, _) in figures_by_row("docs/index.md").items():
        for figure in (ours.split()[0], theirs.split()[0]):
            assert figure in everything, f"{figure} of '{what}' is not in docs/benchmarks.md"


def figures_of(table: str) -> Iterator[str]:
    for row in table.splitlines()[2:]:
        for cell in row.strip("|").split("|")[1:]:
            if re.search(r"\d (?:us|ms|s|[GT]B/s|TFLOP/s|%)", cell):
                yield from re.findall(r"\d[\d,]*(?:\.\d+)?", cell)


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_figures_of_tables_are_those_of_their_files(path: Path) -> None:
    for files, table in quoted_tables(path.read_text(encoding="utf-8")):
        results = [r for file in files for r in json.loads((ROOT / file).read_text(encoding="utf-8"))["results"]]
        values = [r["value"] for r in results if r["value"] is not None]
        for figure in figures_of(table):
            shown, digits = float(figure.replace(",", "")), len(figure.partition(".")[2])
            assert any(abs(v - shown) <= 0.5 * 10**-digits + 1e-9 for v in values), f"{figure} is not in {files}"


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_times_in_sentences_are_those_of_their_files(path: Path) -> None:
    for block in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
        files = RESULT.findall(block)
        if block.startswith("|") or not files:
            continue
        contents = [json.loads((ROOT / f).read_text(encoding="utf-8")) for f in files]
        if not all("results" in c for c in contents):  # a profile
            continue
        values = [r["value"] for c in contents for r in c["results"]]
        for figure in re.findall(r"(\d[\d,]*(?:\.\d+)?) (?:us|ms)\b", block):
            shown, digits = float(figure.replace(",", "")), len(figure.partition(".")[2])
            near = [v for v in values if v is not None and abs(v - shown) <= 0.5 * 10**-digits + 1e-9]
            assert near, f"{figure} is not in {files}"
