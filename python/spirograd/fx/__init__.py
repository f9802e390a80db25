"""Graphs of a module's Python code, under the names of torch.fx: traced once, looked at, changed, and run again.

They show calls of functions, methods and modules. What the engine makes of them is another graph: `y.graph()`.

Example:
    >>> class Net(sg.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.linear = sg.nn.Linear(4, 2)
    ...     def forward(self, x):
    ...         return sg.relu(self.linear(x) + 1)
    >>> traced = sg.fx.symbolic_trace(Net())
    >>> [node.op for node in traced.graph.nodes]
    ['placeholder', 'call_module', 'call_function', 'call_function', 'output']
    >>> print(traced.code.strip())
    def forward(self, x):
        linear = self.linear(x)
        add = linear + 1
        relu = sg.relu(add)
        return relu
"""

from .graph import Graph as Graph
from .graph import NodeList as NodeList
from .graph_module import GraphModule as GraphModule
from .interpreter import Interpreter as Interpreter
from .interpreter import Transformer as Transformer
from .node import Node as Node
from .node import map_arg as map_arg
from .proxy import Proxy as Proxy
from .proxy import TraceError as TraceError
from .proxy import TracerBase as TracerBase
from .subgraph_rewriter import Match as Match
from .subgraph_rewriter import replace_pattern as replace_pattern
from .tracer import Tracer as Tracer
from .tracer import symbolic_trace as symbolic_trace
from .tracer import wrap as wrap
