"""One function a mathematical operation, with its own backward where autograd's would cost memory or determinism."""

from localgcl.ops.edges import edge_dot as edge_dot
from localgcl.ops.edges import pair_dot as pair_dot
from localgcl.ops.edges import segment_logsumexp as segment_logsumexp
from localgcl.ops.edges import segment_max as segment_max
from localgcl.ops.edges import segment_sum as segment_sum
from localgcl.ops.frequencies import hadamard as hadamard
from localgcl.ops.negatives import exact_log_sums as exact_log_sums
from localgcl.ops.negatives import kernel_log_sums as kernel_log_sums
from localgcl.ops.negatives import kernel_node_log_sums as kernel_node_log_sums
from localgcl.ops.sampling import sample_neighbours as sample_neighbours
from localgcl.ops.sampling import sample_trees as sample_trees
from localgcl.ops.sparse import SparseMatrix as SparseMatrix
from localgcl.ops.sparse import spmm as spmm
