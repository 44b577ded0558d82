"""Losses: pure functions of embeddings, graph and hyper-parameters, each a sum of named terms."""

from localgcl.losses.infomax import dgi_loss as dgi_loss
from localgcl.losses.infomax import edge_reconstruction as edge_reconstruction
from localgcl.losses.infomax import jensen_shannon as jensen_shannon
from localgcl.losses.infomax import mvgrl_loss as mvgrl_loss
from localgcl.losses.infomax import random_others as random_others
from localgcl.losses.infomax import summary as summary
from localgcl.losses.local import LocalTerms as LocalTerms
from localgcl.losses.local import local_contrastive as local_contrastive
from localgcl.losses.local import local_terms as local_terms
from localgcl.losses.local import negative_term as negative_term
from localgcl.losses.local import positive_term as positive_term
from localgcl.losses.local import unit_rows as unit_rows
