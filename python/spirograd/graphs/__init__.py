"""Graphs and clouds of points: reductions of groups, neighbours, clusters and walks, as layers of graph networks need
them. Functions have the names, the arguments and the results of torch_scatter's and torch_cluster's.
"""

from .clusters import graclus_cluster as graclus_cluster
from .clusters import grid_cluster as grid_cluster
from .groups import gather_coo as gather_coo
from .groups import gather_csr as gather_csr
from .groups import scatter as scatter
from .groups import scatter_log_softmax as scatter_log_softmax
from .groups import scatter_logsumexp as scatter_logsumexp
from .groups import scatter_max as scatter_max
from .groups import scatter_min as scatter_min
from .groups import scatter_softmax as scatter_softmax
from .groups import scatter_std as scatter_std
from .groups import segment_coo as segment_coo
from .groups import segment_csr as segment_csr
from .points import fps as fps
from .points import knn as knn
from .points import knn_graph as knn_graph
from .points import nearest as nearest
from .points import radius as radius
from .points import radius_graph as radius_graph
from .walks import random_walk as random_walk
