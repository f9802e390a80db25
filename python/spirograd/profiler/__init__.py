"""Where the time goes: on the GPU kernel by kernel, on the host stage by stage, and where neither worked.

Names are those of torch.profiler. Operations are recorded first and run later, fused, so a kernel is not inside the
operation that asked for it: operations, the engine's stages and kernels have rows of their own, which the column
Category tells apart.

Example:
    >>> with sg.profiler.profile() as prof:
    ...     y = (sg.ones(64, 64) @ sg.ones(64, 64)).sum().item()
    >>> text = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=5)
"""

from .events import Event as Event
from .events import ProfilerActivity as ProfilerActivity
from .measure import profile as profile
from .measure import record_function as record_function
from .schedule import ProfilerAction as ProfilerAction
from .schedule import schedule as schedule
from .schedule import tensorboard_trace_handler as tensorboard_trace_handler
from .table import EventList as EventList
from .table import Row as Row
