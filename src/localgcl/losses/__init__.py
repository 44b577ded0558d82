"""Losses: pure functions of embeddings, graph and hyper-parameters, each a sum of named terms."""

from localgcl.losses.infomax import dgi_loss as dgi_loss
from localgcl.losses.infomax import edge_reconstruction as edge_reconstruction
from localgcl.losses.infomax import jensen_shannon as jensen_shannon
from localgcl.losses.infomax import mvgrl_loss as mvgrl_loss
from localgcl.losses.infomax import random_others as random_others
from localgcl.losses.infomax import summary as summary
from localgcl.losses.infonce import PairTerms as PairTerms
from localgcl.losses.infonce import two_view_infonce as two_view_infonce
from localgcl.losses.infonce import two_view_terms as two_view_terms
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
from localgcl.losses.mixing import BetaMixture as BetaMixture
from localgcl.losses.mixing import fit_beta_mixture as fit_beta_mixture
from localgcl.losses.mixing import hard_log_sums as hard_log_sums
