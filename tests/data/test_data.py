"""Data sets, samplers and collating."""

from __future__ import annotations

import collections
import typing

import numpy as np
import pytest

import spirograd as sg
from spirograd.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    random_split,
)


def seeded(seed: int = 0) -> sg.Generator:
    return sg.Generator().manual_seed(seed)


class Stream(IterableDataset[int]):
    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> typing.Iterator[int]:
        return iter(range(self.count))

    def __len__(self) -> int:
        return self.count


class TestDatasets:
    def test_bases_have_no_samples(self) -> None:
        with pytest.raises(NotImplementedError, match=r"Dataset has no __getitem__"):
            Dataset[int]()[0]
        with pytest.raises(NotImplementedError, match=r"IterableDataset has no __iter__"):
            iter(IterableDataset[int]())

    def test_rows_of_tensors(self) -> None:
        x, y = sg.arange(6.0).reshape(3, 2), sg.arange(3)
        pairs = TensorDataset(x, y)
        assert len(pairs) == 3 and [t.tolist() for t in pairs[-1]] == [[4.0, 5.0], 2]
        assert [t.tolist() for t in pairs[1:]] == [[[2.0, 3.0], [4.0, 5.0]], [1, 2]]
        assert pairs.tensors[0] is x

    def test_arrays_share_their_memory(self) -> None:
        a = np.zeros(2, np.float32)
        rows = TensorDataset(a)
        a[1] = 5
        assert rows[1][0].item() == 5

    def test_arrays_that_cannot_be_written_do_not_warn(self, recwarn: pytest.WarningsRecorder) -> None:
        a = np.ones(2, np.float32)
        a.flags.writeable = False
        assert TensorDataset(a)[0][0].item() == 1 and not recwarn.list

    def test_rows_of_unequal_number(self) -> None:
        with pytest.raises(ValueError, match=r"the tensors have \[3, 2\] rows"):
            TensorDataset(sg.ones(3), sg.ones(2))
        with pytest.raises(ValueError, match="at least one tensor"):
            TensorDataset()
        with pytest.raises(ValueError, match="rank 1 or more"):
            TensorDataset(sg.tensor(1.0))

    def test_subset_of_subset(self) -> None:
        inner = Subset("abcdef", [5, 4, 3])
        outer = Subset(inner, [2, 0])
        assert [outer[0], outer[1]] == ["d", "f"] and len(outer) == 2
        assert outer.__getitems__([1, 0]) == ["f", "d"]
        assert Subset(np.arange(5), [4, 2])[[1]].tolist() == [2]

    def test_concat(self) -> None:
        both = ConcatDataset(["abc", "", "de"])
        assert [both[i] for i in range(-5, 5)] == list("abcdeabcde")
        assert both.cumulative_sizes == [3, 3, 5]
        with pytest.raises(IndexError, match="index 5 is out of range for 5"):
            both[5]
        with pytest.raises(IndexError):
            both[-6]
        with pytest.raises(ValueError, match="give at least one"):
            ConcatDataset([])
        with pytest.raises(ValueError, match="use ChainDataset"):
            ConcatDataset([Stream(2)])

    def test_sums(self) -> None:
        pairs = TensorDataset(sg.arange(2)) + TensorDataset(sg.arange(3))
        assert isinstance(pairs, ConcatDataset) and len(pairs) == 5
        chain = Stream(2) + Stream(1)
        assert isinstance(chain, ChainDataset) and list(chain) == [0, 1, 0] and len(chain) == 3

    def test_stack(self) -> None:
        assert StackDataset("ab", [1, 2])[1] == ("b", 2)
        assert len(StackDataset(a="ab")) == 2
        for wrong in (lambda: StackDataset(), lambda: StackDataset("a", b="b"), lambda: StackDataset("a", "bc")):
            with pytest.raises(ValueError, match="StackDataset"):
                wrong()


class TestSplit:
    @pytest.mark.parametrize(
        ("count", "lengths", "sizes"),
        [
            (10, [7, 3], [7, 3]),
            (10, [0.7, 0.3], [7, 3]),
            (11, [0.5, 0.5], [6, 5]),
            (3, [0.4, 0.3, 0.3], [2, 1, 0]),
            (4, [4, 0], [4, 0]),
            (7, [0.1] * 10, [1] * 7 + [0] * 3),
            (1, [1], [1]),
        ],
    )
    def test_parts(self, count: int, lengths: list[float], sizes: list[int]) -> None:
        parts = random_split(range(count), lengths, seeded())
        assert [len(p) for p in parts] == sizes
        assert sorted(i for p in parts for i in p.indices) == list(range(count))

    def test_generator_decides(self) -> None:
        def of(seed: int) -> list[int]:
            return list(random_split(range(100), [50, 50], seeded(seed))[0].indices)

        assert of(1) == of(1) != of(2)

    @pytest.mark.parametrize("lengths", [[5, 4], [0.5, 0.4], [-1, 11], [1.5, -0.5], [9.5, 0.5]])
    def test_wrong_sums(self, lengths: list[float]) -> None:
        with pytest.raises(ValueError, match="random_split"):
            random_split(range(10), lengths)


class TestSamplers:
    def test_sequential(self) -> None:
        assert list(SequentialSampler("abc")) == [0, 1, 2] and len(SequentialSampler("abc")) == 3

    def test_random_gives_each_once(self) -> None:
        order = RandomSampler(range(50), generator=seeded(1))
        first, second = list(order), list(order)
        assert sorted(first) == sorted(second) == list(range(50)) and first != second
        assert first == list(RandomSampler(range(50), generator=seeded(1)))

    def test_random_without_generator_follows_the_common_seed(self) -> None:
        sg.manual_seed(3)
        first = list(RandomSampler(range(50)))
        assert list(RandomSampler(range(50))) != first
        sg.manual_seed(3)
        assert list(RandomSampler(range(50))) == first

    def test_random_of_another_length(self) -> None:
        assert len(list(RandomSampler(range(10), num_samples=4))) == 4
        order = list(RandomSampler(range(4), num_samples=10))
        assert sorted(order[:4]) == sorted(order[4:8]) == [0, 1, 2, 3] and len(order) == 10
        with pytest.raises(ValueError, match="num_samples is 0"):
            RandomSampler([1], num_samples=0)

    def test_random_with_replacement(self) -> None:
        order = list(RandomSampler(range(4), replacement=True, num_samples=70_000, generator=seeded()))
        counts = np.bincount(order, minlength=4)
        assert len(order) == 70_000 and abs(counts - 17_500).max() < 600  # 5 sigma
        for make in (lambda: RandomSampler([]), lambda: sg.utils.data.DataLoader([], shuffle=True)):
            with pytest.raises(ValueError, match="the data set is empty"):
                make()
        with pytest.raises(ValueError, match="from an empty data set"):
            list(RandomSampler([], replacement=True, num_samples=3))

    def test_some_indices(self) -> None:
        order = list(SubsetRandomSampler(list(range(100, 150)), seeded()))
        assert sorted(order) == list(range(100, 150)) != order

    def test_weights(self) -> None:
        counts = np.bincount(list(WeightedRandomSampler([1, 0, 3], 4000, generator=seeded())), minlength=3)
        assert counts[1] == 0 and abs(counts[2] - 3000) < 140  # 5 sigma
        assert sorted(WeightedRandomSampler([1, 2, 3], 3, replacement=False)) == [0, 1, 2]
        with pytest.raises(ValueError, match="num_samples is 0"):
            WeightedRandomSampler([1], 0)
        with pytest.raises(ValueError, match="multinomial"):
            list(WeightedRandomSampler([1, 2], 3, replacement=False))

    @pytest.mark.parametrize("drop", [False, True])
    @pytest.mark.parametrize("count", [0, 1, 4, 6, 7])
    def test_batches(self, count: int, drop: bool) -> None:
        sampler = BatchSampler(range(count), 3, drop)
        lists = [list(range(i, min(i + 3, count))) for i in range(0, count, 3)]
        assert list(sampler) == [x for x in lists if len(x) == 3 or not drop]
        assert len(sampler) == len(list(sampler))

    @pytest.mark.parametrize("size", [0, -1, 1.5, True])
    def test_batch_size_is_a_number(self, size: typing.Any) -> None:
        with pytest.raises(ValueError, match=f"batch_size is {size}"):
            BatchSampler(range(3), size)

    @pytest.mark.parametrize("shuffle", [False, True])
    @pytest.mark.parametrize(("count", "drop"), [(7, False), (7, True), (8, True), (2, False), (0, False)])
    def test_shares_are_equal_and_whole(self, count: int, drop: bool, shuffle: bool) -> None:
        shares = [DistributedSampler(range(count), 3, r, shuffle=shuffle, drop_last=drop) for r in range(3)]
        lists = [list(s) for s in shares]
        assert {len(x) for x in lists} == {len(shares[0])} and shares[0].total_size == 3 * len(shares[0])
        seen = [i for x in lists for i in x]
        assert len(set(seen)) == (count // 3 * 3 if drop else count)
        shares[0].set_epoch(1)
        assert count < 7 or (list(shares[0]) != lists[0]) == shuffle

    def test_shares_by_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("WORLD_SIZE", "2")
        monkeypatch.setenv("RANK", "1")
        assert list(DistributedSampler("abcd", shuffle=False)) == [1, 3]
        with pytest.raises(ValueError, match="rank is 2; it is from 0 to 1"):
            DistributedSampler("abcd", rank=2)


Point = collections.namedtuple("Point", "x y")


class TestCollate:
    @pytest.mark.parametrize(
        ("samples", "dtype"),
        [
            ([1, 2], sg.int64),
            ([True, False], sg.bool),
            ([1.5, 2], sg.float64),
            ([np.float32(1), np.float32(2)], sg.float32),
            ([np.zeros(2, np.uint8), np.ones(2, np.uint8)], sg.uint8),
            ([sg.zeros(2, dtype=sg.float16), sg.ones(2, dtype=sg.float16)], sg.float16),
        ],
    )
    def test_types(self, samples: list[typing.Any], dtype: sg.dtype) -> None:
        batch = default_collate(samples)
        assert batch.dtype == dtype
        assert batch.tolist() == [np.asarray(s).tolist() for s in samples]

    def test_structures(self) -> None:
        sample = {"p": Point(1, np.ones(2)), "l": [(1.0, "a")], "b": b"x"}
        batch = default_collate([sample, sample, sample])
        assert batch["p"].x.tolist() == [1, 1, 1] and batch["p"].y.shape == (3, 2)
        assert isinstance(batch["p"], Point)
        assert batch["l"][0][0].dtype == sg.float64 and batch["l"][0][1] == ("a", "a", "a")
        assert batch["b"] == [b"x"] * 3
        assert default_collate([np.str_("a"), np.str_("b")]) == ["a", "b"]

    def test_gradients_go_through(self) -> None:
        x = sg.ones(2, requires_grad=True)
        default_collate([x, x]).sum().backward()
        assert x.grad is not None and x.grad.tolist() == [2, 2]

    @pytest.mark.parametrize(
        ("samples", "error", "words"),
        [
            ([], ValueError, "no sample"),
            ([None, None], TypeError, "samples hold NoneType"),
            ([np.zeros(2), np.zeros(3)], ValueError, r"shapes \[\(2,\), \(3,\)\]; pad them"),
            ([(1, 2), (1,)], ValueError, r"\[1, 2\] parts"),
            ([np.array("a")], TypeError, "cannot become tensors"),
            ([sg.zeros(2), sg.zeros(3)], ValueError, "stack"),
            ([{"a": 1}, {"b": 1}], KeyError, "a"),
        ],
    )
    def test_refuses(self, samples: list[typing.Any], error: type[Exception], words: str) -> None:
        with pytest.raises(error, match=words):
            default_collate(samples)

    def test_convert(self) -> None:
        out = default_convert({"x": np.ones(2, np.float32), "y": (1, "a"), "z": np.array(["a"])})
        assert out["x"].tolist() == [1, 1] and out["y"] == (1, "a") and out["z"].tolist() == ["a"]

    def test_as_pytorch(self) -> None:
        torch = pytest.importorskip("torch")
        sample = {"f": 1.5, "i": 2, "b": True, "a": np.ones((2, 3), np.float32), "n": np.float32(3), "t": (1, [2.0])}
        theirs = torch.utils.data.default_collate([sample, sample])
        ours = default_collate([sample, sample])

        def same(a: typing.Any, b: typing.Any) -> None:
            assert type(a) is type(b) or isinstance(b, torch.Tensor)
            if isinstance(b, dict):
                assert list(a) == list(b)
                for k in b:
                    same(a[k], b[k])
            elif isinstance(b, list):
                for x, y in zip(a, b, strict=True):
                    same(x, y)
            else:
                assert str(a.dtype).split(".")[1] == str(b.dtype).split(".")[1] and a.tolist() == b.tolist()

        same(ours, theirs)
        tensors = default_collate([(torch.ones(2), 1), (torch.zeros(2), 2)])
        assert tensors[0].tolist() == [[1, 1], [0, 0]] and isinstance(tensors[0], sg.Tensor)
