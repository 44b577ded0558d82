"""Losses: pure functions of embeddings, graph and hyper-parameters, each a sum of named terms."""

from localgcl.losses.local import LocalTerms as LocalTerms
from localgcl.losses.local import local_contrastive as local_contrastive
from localgcl.losses.local import local_terms as local_terms
from localgcl.losses.local import negative_term as negative_term
from localgcl.losses.local import positive_term as positive_term
from localgcl.losses.local import unit_rows as unit_rows
from localgcl.losses.margin import MarginTerms as MarginTerms
from localgcl.losses.margin import margin_terms as margin_terms
from localgcl.losses.spectral import SpectralTerms as SpectralTerms
from localgcl.losses.spectral import spectral_terms as spectral_terms
