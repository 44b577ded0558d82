"""Losses: pure functions of embeddings, graph and hyper-parameters, each a sum of named terms."""

from localgcl.losses.bootstrap import found_pairs as found_pairs
from localgcl.losses.bootstrap import neighbour_prediction as neighbour_prediction
from localgcl.losses.bootstrap import pair_prediction as pair_prediction
from localgcl.losses.bootstrap import view_prediction as view_prediction
from localgcl.losses.decorrelation import CorrelationTerms as CorrelationTerms
from localgcl.losses.decorrelation import neighbour_correlation as neighbour_correlation
from localgcl.losses.decorrelation import view_correlation as view_correlation
from localgcl.losses.local import LocalTerms as LocalTerms
from localgcl.losses.local import local_contrastive as local_contrastive
from localgcl.losses.local import local_terms as local_terms
from localgcl.losses.local import negative_term as negative_term
from localgcl.losses.local import positive_term as positive_term
from localgcl.losses.local import unit_rows as unit_rows
