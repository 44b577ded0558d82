"""Sets up the CPU's vector mathematics on one thread, before several use it. Importing this module does it.

torch computes exp, log, sin... through MKL, whose vector functions choose their code for this processor at the first call,
and not safely for threads: when that first call is a parallel one, it happens now and then, in a fresh process with several
threads, that one thread's part comes back with less than single precision, once. In training that is the first step's loss,
and every bit that follows from it. A call on a single number stays on one thread and leaves everything set up.
"""

import torch

for _function in (torch.exp, torch.log, torch.sin, torch.cos, torch.tanh, torch.sqrt, torch.rsqrt):
    for _type in (torch.float32, torch.float64):
        _function(torch.ones(1, dtype=_type))
