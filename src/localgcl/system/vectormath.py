"""Sets up the CPU's vector functions on one thread. Importing this module does it.

torch computes exp, log, sin... through MKL. At the first call, MKL's vector functions choose their code for this processor, and
that choice is not thread-safe: if the first call runs on several threads, one thread's part of the result sometimes has less
than single precision. In training that changes the loss of the first step, and with it every later bit. A first call with
a single number runs on one thread and sets everything up.
"""

import torch

for _function in (torch.exp, torch.log, torch.sin, torch.cos, torch.tanh, torch.sqrt, torch.rsqrt):
    for _type in (torch.float32, torch.float64):
        _function(torch.ones(1, dtype=_type))
