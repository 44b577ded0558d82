"""Methods side by side: trained with several seeds on one graph (`compare`), or runs that there are (`compare_runs`)."""

from localgcl.experiments.compare.comparing import compare as compare
from localgcl.experiments.compare.comparison import Comparison as Comparison
from localgcl.experiments.compare.runs import compare_runs as compare_runs
from localgcl.experiments.compare.runs import score_table as score_table

__all__ = ["compare", "Comparison", "compare_runs", "score_table"]
