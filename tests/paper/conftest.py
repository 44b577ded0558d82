from tests.evaluation.conftest import _one_thread as _one_thread  # the tensors here are as tiny
