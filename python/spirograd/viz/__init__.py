"""Pictures of graphs, models, training and benchmarks. matplotlib and graphviz are imported when they draw.

Figures are made without pyplot, so no window system is needed and the caller's matplotlib settings stay as they are.
"""

from .boundary import plot_decision_boundary
from .curves import draw_times as draw_times
from .curves import plot_history, plot_loss, plot_lr_find, plot_times
from .graphs import draw_dot
from .matrices import plot_confusion_matrix, plot_filters
from .memory import plot_memory
from .style import COLOURS as COLOURS
from .style import PALE as PALE
from .style import label as label
from .style import panels as panels

__all__ = ["draw_dot", "plot_confusion_matrix", "plot_decision_boundary", "plot_filters", "plot_history", "plot_loss"]
__all__ += ["plot_lr_find", "plot_memory", "plot_times"]
