"""For test_at_once.py: statements in which a kernel finds something, and a training. Prints what they did."""

from __future__ import annotations

import sys
import traceback

import spirograd as sg

# An operation that reports what a kernel finds, and a statement in which it finds something.
REPORTING = {
    "bernoulli": "y = sg.bernoulli(x + 2)",
    "bernoulli_": "x.clone().bernoulli_(x + 2)",
    "binary_cross_entropy": "y = F.binary_cross_entropy(x + 2, x)",
    "binomial": "y = sg._core._check_parameter('binomial', x, x > 1)",
    "cross_entropy": "y = F.cross_entropy(sg.ones(3, 2), at)",
    "embedding": "y = F.embedding(at, sg.ones(2, 2))",
    "gather": "y = x.gather(0, at)",
    "getitem": "y = x[at]",
    "index_add": "y = x.index_add(0, at, x)",
    "index_copy": "y = x.index_copy(0, at, x)",
    "index_fill": "y = x.index_fill(0, at, 2)",
    "index_put": "x[at] = 2",
    "index_select": "y = x.index_select(0, at)",
    "masked_scatter": "y = sg.zeros(3).masked_scatter(sg.ones(3, dtype=sg.bool), x[:2])",
    "multinomial": "y = sg.multinomial(x - 2, 1)",
    "nll_loss": "y = F.nll_loss(sg.ones(3, 2), at)",
    "normal": "y = sg.normal(x, x - 2)",
    "one_hot": "y = F.one_hot(at, 2)",
    "poisson": "y = sg._core._check_parameter('poisson', x, x > 1)",
    "scatter": "y = x.scatter(0, at, x)",
    "scatter_add": "y = x.scatter_add(0, at, x)",
    "scatter_reduce": "y = x.scatter_reduce(0, at, x, 'sum')",
    "take": "y = x.take(at)",
    "take_along_dim": "y = x.take_along_dim(at, 0)",
}
PROGRAM = "x, at = sg.ones(3), sg.tensor([0, 9, 1])\n{}\nreached = True\n"


def outcome(statement: str) -> str:
    """ "": the statement raised at its line."""
    names = {"sg": sg, "F": sg.nn.functional}
    try:
        exec(compile(PROGRAM.format(statement), "<program>", "exec"), names)
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<program>"]
        if lines == [2] and " at <program>:2" in str(error):
            return ""
        return f"raised at {lines}: {error}"
    return "did not raise"


def train() -> list[float]:
    """The losses of some steps, some of them compiled, and the weights after them."""
    sg.manual_seed(0)
    net = sg.nn.Sequential(sg.nn.Linear(8, 16), sg.nn.BatchNorm1d(16), sg.nn.ReLU(), sg.nn.Linear(16, 4))
    optimizer = sg.optim.AdamW(net.parameters(), lr=0.01)
    x, y = sg.randn(32, 8), sg.randint(0, 4, (32,))

    def step() -> sg.Tensor:
        loss = sg.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step().item() for _ in range(5)]
    compiled = sg.compile(step)
    losses += [compiled().item() for _ in range(5)]
    sg.fit(net, x, y, epochs=2, batch_size=8, optimizer=optimizer, loss=sg.nn.functional.cross_entropy, verbose=0)
    return losses + [v for p in net.parameters() for v in p.flatten().tolist()]


if __name__ == "__main__":
    if sys.argv[1] == "errors":
        found = {name: outcome(statement) for name, statement in REPORTING.items()}
        print("\n".join(f"{name}: {text}" for name, text in found.items() if text))
    else:
        print([value.hex() for value in train()])
