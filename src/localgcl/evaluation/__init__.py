"""Evaluation of embeddings: one evaluator, several named protocols.

`evaluate` scores embeddings against labels. `validate` does so on validation nodes and never reads test labels.
`evaluate_links` scores them against edges that were held out before training.
"""

from localgcl.evaluation.evaluator import evaluate as evaluate
from localgcl.evaluation.evaluator import validate as validate
from localgcl.evaluation.links import Holdout as Holdout
from localgcl.evaluation.links import evaluate_links as evaluate_links
from localgcl.evaluation.links import hold_out_edges as hold_out_edges
from localgcl.evaluation.presets import PRESETS as PRESETS
from localgcl.evaluation.scores import METRICS as METRICS
from localgcl.evaluation.scores import Metric as Metric
from localgcl.evaluation.scores import Scores as Scores

__all__ = ["evaluate", "validate", "hold_out_edges", "evaluate_links", "Holdout", "Scores", "PRESETS", "METRICS", "Metric"]
