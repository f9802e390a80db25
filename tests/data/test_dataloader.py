"""DataLoader: the same batches in the same order whoever makes them; errors arrive; nothing hangs."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from interrupts import ctrl_c
from spirograd.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    default_collate,
    get_worker_info,
)

WORKERS = [
    pytest.param({}, id="alone"),
    pytest.param({"num_workers": 3}, id="threads"),
    pytest.param({"num_workers": 1, "multiprocessing_context": "spawn"}, id="process"),
]
TWO = [
    pytest.param({"num_workers": 2, **more}, id=id)
    for id, more in (("threads", {}), ("processes", {"multiprocessing_context": "spawn"}))
]


class Squares(Dataset[Any]):
    """Samples of arrays and numbers; `bad` raises."""

    def __init__(self, count: int, bad: int | None = None, slow: float = 0) -> None:
        self.count, self.bad, self.slow = count, bad, slow

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> tuple[np.ndarray, int]:
        if i == self.bad:
            raise KeyError(f"sample {i} is bad")
        if self.slow:
            time.sleep(self.slow * (1 + i % 3))
        return np.full(2, i, np.float32), i * i


def counted_steps(loader: DataLoader, net: sg.nn.Module) -> list[tuple[int, ...]]:
    """Submissions, new plans and bytes read of each training step."""
    optimizer = sg.optim.SGD(net.parameters(), lr=0.1)
    counts = []
    for (batch,) in loader:
        before = sg.stats()
        loss = net(batch).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        after = sg.stats()
        counts.append(tuple(after[k] - before[k] for k in ("submissions", "plan_misses", "bytes_read")))
    return counts


class Shared(IterableDataset[int]):
    """0 to count - 1, shared out among the workers."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        return iter(range(self.count)) if info is None else iter(range(info.id, self.count, info.num_workers))


class Who(Dataset[Any]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Any:
        info = get_worker_info()
        return (0, 0, 0, random.random()) if info is None else (info.id, info.num_workers, info.seed, random.random())


KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # on Windows each number ends a process, and is its exit code


class Dies(Squares):
    def __getitem__(self, i: int) -> Any:
        if i == 3:
            os.kill(os.getpid(), KILL)
        return super().__getitem__(i)


class Ends(Squares):
    def __getitem__(self, i: int) -> Any:
        raise StopIteration


class Awkward(Exception):
    """Cannot be pickled."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


class RaisesAwkward(Squares):
    def __getitem__(self, i: int) -> Any:
        raise Awkward(1, 2)


class WithTensors(Squares):
    def __getitem__(self, i: int) -> Any:
        return {"x": sg.full((2,), float(i)), "name": str(i)}


def as_text(batch: list[Any]) -> str:
    return f"{len(batch)} samples"


def keeps_arrays(batch: list[Any]) -> Any:
    return np.stack([x for x, _ in batch]), sg.tensor([y for _, y in batch])


def seeded(seed: int = 0) -> sg.Generator:
    return sg.Generator().manual_seed(seed)


def lists(loader: DataLoader) -> list[Any]:
    return [[part.tolist() for part in batch] for batch in loader]


def threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith("DataLoader")]


def eventually(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return true()


@pytest.fixture(autouse=True)
def nobody_stays() -> Iterator[None]:
    """After each test its threads and processes are gone."""
    yield
    gc.collect()
    assert eventually(lambda: not threads() and not multiprocessing.active_children())


class TestBatches:
    @pytest.mark.parametrize("workers", TWO)
    def test_same_batches_whoever_makes_them(self, workers: dict[str, Any]) -> None:
        data = Squares(23, slow=0.001)
        loader = DataLoader(data, 4, shuffle=True, generator=seeded(5), **workers)
        alone = DataLoader(data, 4, shuffle=True, generator=seeded(5))
        for _ in range(1 if "multiprocessing_context" in workers else 2):
            batches = lists(loader)
            assert batches == lists(alone)
            order = [int(v) for x, _ in batches for v, _ in x]
            assert sorted(order) == list(range(23)) != order
            assert [y for _, ys in batches for y in ys] == [i * i for i in order]
        assert loader.generator is not None and alone.generator is not None
        assert loader.generator.get_state().tolist() == alone.generator.get_state().tolist()

    def test_types_of_a_batch(self) -> None:
        x, y = next(iter(DataLoader(Squares(5), batch_size=2, num_workers=1)))
        assert isinstance(x, sg.Tensor) and x.dtype == sg.float32 and x.shape == (2, 2) and y.dtype == sg.int64

    @pytest.mark.parametrize(("size", "drop"), [(1, False), (4, False), (4, True), (5, True), (50, False), (50, True)])
    def test_length(self, size: int, drop: bool) -> None:
        loader = DataLoader(Squares(10), size, drop_last=drop)
        assert len(loader) == len(list(loader)) == (10 // size if drop else -(-10 // size))

    def test_samplers(self) -> None:
        assert [b.tolist() for b in DataLoader(np.arange(5), 2, sampler=[4, 0, 2])] == [[4, 0], [2]]
        loader = DataLoader(np.arange(5), batch_sampler=[[1], [2, 3]])
        assert [b.tolist() for b in loader] == [[1], [2, 3]] and len(loader) == 2 and loader.batch_size is None

    @pytest.mark.parametrize("workers", WORKERS[:2])
    def test_samples_without_batches(self, workers: dict[str, Any]) -> None:
        loader = DataLoader(Squares(3), batch_size=None, **workers)
        x, y = list(loader)[2]
        assert x.tolist() == [2, 2] and isinstance(x, sg.Tensor) and y == 4 and len(loader) == 3

    @pytest.mark.parametrize("workers", WORKERS)
    def test_own_collate(self, workers: dict[str, Any]) -> None:
        x, y = next(iter(DataLoader(Squares(3), 2, collate_fn=keeps_arrays, **workers)))
        assert isinstance(x, np.ndarray) and isinstance(y, sg.Tensor)
        assert list(DataLoader(Squares(3), 2, collate_fn=as_text)) == ["2 samples", "1 samples"]

    @pytest.mark.parametrize("workers", WORKERS)
    def test_samples_with_tensors_and_texts(self, workers: dict[str, Any]) -> None:
        batch = next(iter(DataLoader(WithTensors(4), 2, **workers)))
        assert batch["x"].tolist() == [[0, 0], [1, 1]] and batch["name"] == ["0", "1"]

    def test_many_at_once(self) -> None:
        class Many(Squares):
            def __getitems__(self, indices: list[int]) -> list[int]:
                return [10 * i for i in indices]

        assert [b.tolist() for b in DataLoader(Many(3), 2)] == [[0, 10], [20]]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"num_workers": -1}, "num_workers is -1"),
            ({"timeout": -1, "num_workers": 1}, "timeout is -1"),
            ({"prefetch_factor": 0, "num_workers": 1}, "prefetch_factor is 0"),
            ({"prefetch_factor": 2}, "prefetch_factor is for workers"),
            ({"persistent_workers": True}, "persistent_workers is for workers"),
            ({"multiprocessing_context": "spawn"}, "multiprocessing_context is for workers"),
            ({"timeout": 1}, "timeout is for workers"),
            ({"sampler": [0], "shuffle": True}, "sampler and shuffle"),
            ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler makes the batches"),
            ({"batch_sampler": [[0]], "drop_last": True}, "batch_sampler makes the batches"),
            ({"batch_size": None, "drop_last": True}, "no last one to drop"),
            ({"batch_size": 0}, "batch_size is 0"),
            ({"multiprocessing_context": "other", "num_workers": 1}, "cannot find context"),
        ],
    )
    def test_contradictions(self, arguments: dict[str, Any], words: str) -> None:
        with pytest.raises(ValueError, match=words):
            next(iter(DataLoader(Squares(3), **arguments)))

    def test_streams_have_their_order(self) -> None:
        for arguments in ({"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}):
            with pytest.raises(ValueError, match="a stream has its own order"):
                DataLoader(Shared(3), **arguments)
        with pytest.raises(ValueError, match="batch_size is 0"):
            DataLoader(Shared(3), batch_size=0)
        with pytest.raises(TypeError, match="no len"):
            len(DataLoader(Shared(3)))


class TestRows:
    """Rows of tensors and arrays are read a batch at a time."""

    class Counting(TensorDataset):
        asked = 0

        def __getitem__(self, index: Any) -> Any:
            TestRows.Counting.asked += 1
            return super().__getitem__(index)

    @pytest.mark.parametrize("workers", WORKERS)
    def test_as_one_by_one(self, workers: dict[str, Any]) -> None:
        x, y = np.random.default_rng(0).random((11, 3), np.float32), np.arange(11)
        pairs = Subset(Subset(TensorDataset(x, y), list(range(10, 0, -1))), [3, 0, 5, 1])
        by_sample = [pairs[i] for i in range(4)]
        (batch,) = DataLoader(pairs, 4, **workers)
        assert isinstance(batch, list)
        for got, parts in zip(batch, zip(*by_sample, strict=True), strict=True):
            assert got.tolist() == sg.stack(list(parts)).tolist() and got.dtype == parts[0].dtype

    def test_a_subclass_that_reads_in_its_own_way_is_asked(self) -> None:
        self.Counting.asked = 0
        list(DataLoader(self.Counting(np.arange(5)), 2))
        assert self.Counting.asked == 5
        assert len(list(DataLoader(Subset(self.Counting(np.arange(5)), [1, 2]), 1))) == 2
        assert self.Counting.asked == 7

    @pytest.mark.parametrize("dtype", [sg.bfloat16, sg.float16, sg.bool])
    def test_any_type(self, dtype: sg.dtype) -> None:
        rows = TensorDataset(sg.tensor([0.0, 1.0, 1.0]).to(dtype))
        (batch,) = DataLoader(rows, 3, num_workers=1)
        assert batch[0].dtype == dtype and batch[0].tolist() == [0, 1, 1]

    def test_gradients_reach_the_data(self) -> None:
        x = sg.ones(3, requires_grad=True)
        for (batch,) in DataLoader(TensorDataset(x), 2):
            (batch * 3).sum().backward()
        assert x.grad is not None and x.grad.tolist() == [3, 3, 3]

    def test_index_out_of_range(self) -> None:
        with pytest.raises(IndexError):
            list(DataLoader(np.arange(3), sampler=[3]))

    def test_strings_are_no_rows(self) -> None:
        assert list(DataLoader(["a", "b"], 2)) == [["a", "b"]]

    def test_one_submission_a_step(self) -> None:
        """Batches do not share memory with NumPy, so nothing of a step has to run at once."""
        x = np.random.default_rng(0).random((64, 8), np.float32)
        assert counted_steps(DataLoader(TensorDataset(x), 8), sg.nn.Linear(8, 1))[2:] == [(1, 0, 0)] * 6


class TestStreams:
    @pytest.mark.parametrize("workers", WORKERS)
    def test_each_sample_once(self, workers: dict[str, Any]) -> None:
        loader = DataLoader(Shared(11), 2, persistent_workers="num_workers" in workers, **workers)
        for _ in range(2):
            assert sorted(v for batch in loader for v in batch.tolist()) == list(range(11))

    def test_order_of_workers(self) -> None:
        batches = [b.tolist() for b in DataLoader(Shared(11), 2, num_workers=2)]
        assert batches == [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9]]

    def test_last_one_dropped(self) -> None:
        assert [b.tolist() for b in DataLoader(Shared(5), 2, drop_last=True)] == [[0, 1], [2, 3]]
        assert list(DataLoader(Shared(3), batch_size=None)) == [0, 1, 2]

    def test_a_generator_is_a_stream(self) -> None:
        assert [b.tolist() for b in DataLoader((i for i in range(3)), 2)] == [[0, 1], [2]]

    def test_length_of_a_stream_that_knows_it(self) -> None:
        class Sized(Shared):
            def __len__(self) -> int:
                return self.count

        assert len(DataLoader(Sized(5), 2)) == 3 and len(DataLoader(Sized(5), 2, drop_last=True)) == 2
        assert len(DataLoader(Sized(5), None)) == 5


class TestWorkers:
    @pytest.mark.parametrize("workers", TWO)
    def test_who_am_i(self, workers: dict[str, Any]) -> None:
        def seen() -> list[list[float]]:
            return [[v.item() for v in batch] for batch in DataLoader(Who(), generator=seeded(1), **workers)]

        first, count = seen(), workers["num_workers"]
        assert [b[0] for b in first] == [i % count for i in range(4)] and {b[1] for b in first} == {count}
        assert [b[2] for b in first] == [first[0][2] + i % count for i in range(4)]
        again = seen()
        assert [b[2] for b in first] == [b[2] for b in again]
        if "multiprocessing_context" in workers:  # seeded: the same numbers again
            assert first == again and first[0][3] != first[1][3]

    def test_init_is_called_in_each(self) -> None:
        called: list[tuple[int, str]] = []
        list(
            DataLoader(
                Squares(9), num_workers=3, worker_init_fn=lambda i: called.append((i, threading.current_thread().name))
            )
        )
        assert sorted(called) == [(i, f"DataLoader {i}") for i in range(3)]

    def test_made_ahead(self) -> None:
        done: list[int] = []

        class Noted(Squares):
            def __getitem__(self, i: int) -> Any:
                done.append(i)
                return i

        batches = iter(DataLoader(Noted(20), num_workers=2, prefetch_factor=3))
        next(batches)
        assert eventually(lambda: sorted(done) == list(range(7)))  # six ahead, and one more for the one that was taken
        time.sleep(0.02)
        assert len(done) == 7

    @pytest.mark.parametrize("workers", WORKERS[1:])
    def test_persistent(self, workers: dict[str, Any]) -> None:
        loader = DataLoader(Squares(8), 2, persistent_workers=True, **workers)
        whole = lists(loader)
        crew = loader._crew
        for batch in loader:  # an epoch that is left
            assert batch[1].tolist() == [0, 1]
            break
        assert lists(loader) == whole and crew is not None and loader._crew is crew
        outer = []
        for batch in loader:  # one inside the other
            assert outer or lists(loader) == whole
            outer.append([part.tolist() for part in batch])
        assert outer == whole
        assert len(threads()) == workers["num_workers"] or eventually(lambda: len(threads()) == workers["num_workers"])

    @pytest.mark.parametrize("workers", WORKERS[1:])
    def test_left_early(self, workers: dict[str, Any]) -> None:
        for _ in DataLoader(Squares(100), **workers):
            break
        assert eventually(lambda: not threads() and not multiprocessing.active_children())


class Noisy(Dataset[Any]):
    """Random numbers of both kinds: of the common stream, and of transforms of arrays."""

    def __len__(self) -> int:
        return 9

    def __getitem__(self, i: int) -> Any:
        flipped = sg.transforms.RandomHorizontalFlip(0.5)(np.arange(2, dtype=np.float32).reshape(1, 1, 2))
        return sg.rand(2), float(flipped[0, 0, 0])


def seeds_numpy(i: int) -> None:
    np.random.seed(sg.initial_seed() % 2**32)
    random.seed(sg.initial_seed())


class TestRandomNumbers:
    @pytest.mark.parametrize("init", [None, seeds_numpy])
    @pytest.mark.parametrize("workers", [*TWO, {"num_workers": 1}, {"num_workers": 3, "persistent_workers": True}])
    def test_same_whoever_makes_a_batch(self, workers: dict[str, Any], init: Any) -> None:
        def epochs(**options: Any) -> list[Any]:
            loader = DataLoader(Noisy(), 2, generator=seeded(3), **options)
            return [lists(loader), lists(loader)]

        alone = epochs()
        assert epochs(**workers, worker_init_fn=init) == alone and alone[0] != alone[1]

    @pytest.mark.parametrize("workers", [{"num_workers": 0}, *TWO])
    def test_those_of_the_program_are_its_own(self, workers: dict[str, Any]) -> None:
        def history(**options: Any) -> list[float]:
            sg.manual_seed(1)
            np.random.seed(2)
            random.seed(3)
            drawn = []
            for _ in DataLoader(Noisy(), 2, **options):
                drawn += [sg.rand(()).item(), np.random.rand(), random.random()]
            return drawn

        init = seeds_numpy if workers["num_workers"] else None
        assert history(**workers, worker_init_fn=init) == history()
        assert sg.initial_seed() == 1

    def test_seed_of_a_worker(self) -> None:
        seen: dict[int, int] = {}
        first: dict[int, Any] = {}

        def init(i: int) -> None:
            seen[i] = sg.initial_seed()
            sg.manual_seed(100 + i)

        for i, (x, _) in enumerate(DataLoader(Noisy(), 1, num_workers=2, worker_init_fn=init, generator=seeded(5))):
            first.setdefault(i % 2, x.tolist())
        assert seen[1] == seen[0] + 1
        for i in range(2):  # a seed that the user gives is kept
            sg.manual_seed(100 + i)
            assert first[i] == [sg.rand(2).tolist()]


class TestErrors:
    @pytest.mark.parametrize("workers", WORKERS)
    def test_of_the_data_set(self, workers: dict[str, Any]) -> None:
        batches = iter(DataLoader(Squares(10, bad=5), 2, **workers))
        assert [next(batches)[1].tolist() for _ in range(2)] == [[0, 1], [4, 9]]
        with pytest.raises(KeyError, match="sample 5 is bad") as caught:
            next(batches)
        text = "".join(traceback.format_exception(caught.value))
        assert "in __getitem__" in text and "raise KeyError" in text
        assert list(batches) == []

    @pytest.mark.parametrize("workers", WORKERS[:2])
    def test_stop_iteration_does_not_end_the_loop(self, workers: dict[str, Any]) -> None:
        with pytest.raises(RuntimeError, match="StopIteration"):
            list(DataLoader(Ends(3), **workers))

    def test_that_cannot_be_pickled(self) -> None:
        with pytest.raises(RuntimeError, match="Awkward: 1 and 2"):
            list(DataLoader(RaisesAwkward(3), num_workers=1, multiprocessing_context="spawn"))

    def test_data_set_that_cannot_be_pickled(self) -> None:
        class Here(Squares):
            pass

        with pytest.raises(TypeError, match=r"cannot be pickled .* or use threads"):
            list(DataLoader(Here(3), num_workers=1, multiprocessing_context="spawn"))

    def test_batch_that_cannot_be_pickled(self) -> None:
        with pytest.raises(TypeError, match="the batch cannot be pickled"):
            list(DataLoader(Squares(3), collate_fn=unpicklable, num_workers=1, multiprocessing_context="spawn"))

    def test_killed_worker(self) -> None:
        code = KILL if os.name == "nt" else -KILL
        with pytest.raises(RuntimeError, match=f"worker process 1 ended with exit code {code} "):
            list(DataLoader(Dies(6), num_workers=2, multiprocessing_context="spawn"))

    @pytest.mark.parametrize("workers", WORKERS[1:])
    def test_slow_worker(self, workers: dict[str, Any]) -> None:
        with pytest.raises(RuntimeError, match=r"worker 0 gave no batch within 0\.1 seconds"):
            list(DataLoader(Squares(1, slow=0.4), timeout=0.1, **workers))

    @pytest.mark.parametrize("workers", WORKERS[1:])
    def test_ctrl_c_ends_the_wait_for_a_batch(self, workers: dict[str, Any]) -> None:
        timer = threading.Timer(0.5, ctrl_c)
        timer.start()
        begin = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            next(iter(DataLoader(Squares(1, slow=4), **workers)))
        assert time.perf_counter() - begin < 2.5
        timer.join()

    def test_in_init(self) -> None:
        with pytest.raises(ZeroDivisionError):
            list(DataLoader(Squares(3), num_workers=1, worker_init_fn=lambda i: 1 // i))


def unpicklable(batch: list[Any]) -> Any:
    return lambda: batch


class TestEnd:
    """A program ends at once, whatever its workers do."""

    PROGRAM = """
import sys, time
from spirograd.utils.data import DataLoader
class Slow:
    def __len__(self): return 1000
    def __getitem__(self, i):
        if i: time.sleep(30)
        return i
if __name__ == "__main__":
    batches = iter(DataLoader(Slow(), num_workers=2, {more}))
    print(next(batches).item(), flush=True)
    {then}
"""

    def start(self, more: str, then: str, tmp_path: Any) -> subprocess.Popen[str]:
        path = tmp_path / "program.py"
        path.write_text(self.PROGRAM.format(more=more, then=then))
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        return subprocess.Popen(
            [sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
            start_new_session=True,
        )  # fmt: skip

    @pytest.mark.parametrize("more", ["", "multiprocessing_context='spawn'", "persistent_workers=True"])
    def test_at_exit(self, more: str, tmp_path: Any) -> None:
        process = self.start(more, "", tmp_path)
        out, err = process.communicate(timeout=180)
        assert (process.returncode, out, err) == (0, "0\n", "")

    @pytest.mark.needs("signals")
    @pytest.mark.parametrize("more", ["", "multiprocessing_context='spawn'"])
    def test_at_ctrl_c(self, more: str, tmp_path: Any) -> None:
        process = self.start(more, "next(batches)", tmp_path)
        assert process.stdout is not None and process.stdout.readline() == "0\n"
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
        _, err = process.communicate(timeout=180)
        assert process.returncode == -signal.SIGINT and err.count("KeyboardInterrupt") == 1


class TestForeign:
    def test_data_sets_of_pytorch(self) -> None:
        torch = pytest.importorskip("torch")
        data = torch.utils.data
        pairs = data.TensorDataset(torch.arange(6.0).reshape(3, 2), torch.arange(3))
        x, y = next(iter(DataLoader(pairs, 2, num_workers=1)))
        assert isinstance(x, sg.Tensor) and x.tolist() == [[0, 1], [2, 3]] and y.tolist() == [0, 1]
        subset = data.Subset(pairs, [2])
        assert next(iter(DataLoader(subset, sampler=data.SequentialSampler(subset))))[1].tolist() == [2]

        class Stream(data.IterableDataset):  # type: ignore[misc, name-defined]
            def __iter__(self) -> Iterator[Any]:
                return iter([torch.ones(2), torch.zeros(2)])

        (batch,) = DataLoader(Stream(), 2)
        assert batch.tolist() == [[1, 1], [0, 0]]

    def test_collate_given_by_name(self) -> None:
        (batch,) = DataLoader(np.arange(2), 2, collate_fn=default_collate)
        assert batch.tolist() == [0, 1]


class TestDevice:
    @pytest.mark.parametrize("workers", [{}, {"num_workers": 2}])
    def test_batches_are_there(self, device: sg.Device, workers: dict[str, Any]) -> None:
        loader = DataLoader(Squares(5), 2, device=device, **workers)
        batches = list(loader)
        assert all(part.device == device for batch in batches for part in batch)
        assert lists(loader) == lists(DataLoader(Squares(5), 2))

    def test_one_batch_ahead(self, device: sg.Device) -> None:
        taken: list[int] = []

        class Noted(Squares):
            def __getitem__(self, i: int) -> Any:
                taken.append(i)
                return np.full(3, i, np.float32)

        for i, batch in enumerate(DataLoader(Noted(4), device=device)):
            assert batch.tolist() == [[i] * 3] and taken == list(range(min(i + 2, 4)))

    def test_own_collate_moves_tensors_alone(self, device: sg.Device) -> None:
        x, y = next(iter(DataLoader(Squares(2), 2, collate_fn=keeps_arrays, device=device)))
        assert isinstance(x, np.ndarray) and y.device == device

    @pytest.mark.parametrize("workers", [{}, {"num_workers": 2}])
    def test_rows_on_the_device_stay_there(self, device: sg.Device, workers: dict[str, Any]) -> None:
        x = sg.arange(6.0).reshape(3, 2).to(device)
        batch = next(iter(DataLoader(TensorDataset(x, x[:, 0]), 2, sampler=[2, 0], **workers)))
        assert [b.tolist() for b in batch] == [[[4, 5], [0, 1]], [4, 0]] and batch[0].device == device

    @pytest.mark.gpu
    def test_step_with_uploads_is_one_submission(self) -> None:
        device = sg.Device.gpu()
        rows = TensorDataset(np.random.default_rng(0).random((48, 8), np.float32))
        loader = DataLoader(rows, 8, num_workers=1, device=device)
        assert counted_steps(loader, sg.nn.Linear(8, 1).to(device))[2:] == [(1, 0, 0)] * 4
