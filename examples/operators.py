"""Operators of one's own.

opbench run --operators examples/operators.py --op my.scale 'float32[1024,1024]'
opbench run --operators examples/operators.py examples/suites/own.json
"""

import torch

import opbench


# All that it takes: five lines with the imports.
@opbench.operator("my.scale")
def scale(x):
    return x * 2


# What one call computes and moves is known to its author only; with it, rates can be shown.
@opbench.operator(
    "my.saxpy",
    flops=lambda x, y, alpha: 2 * x.numel(),
    bytes=lambda x, y, alpha: 3 * x.numel() * x.element_size(),
    category="pointwise",
    mutates=(1,),
)
def saxpy(x, y, alpha):
    """Writes to its second argument, so every call gets a fresh one."""
    return y.add_(x, alpha=alpha)


def packed(weight, x):
    """Set-up is not timed: the weight is transposed once, as a library would do when a model is loaded."""
    return weight.t().contiguous(), x


@opbench.operator("my.packed_linear", setup=packed, category="matmul")
def packed_linear(weight, x):
    return x @ weight


@opbench.operator("my.GatedLayer", tags=["module"])
class GatedLayer(torch.nn.Module):
    """A module class is built from the `build` of its case, then called."""

    def __init__(self, size, bias=True):
        super().__init__()
        self.both = torch.nn.Linear(size, 2 * size, bias=bias)

    def forward(self, x):
        value, gate = self.both(x).chunk(2, dim=-1)
        return value * torch.sigmoid(gate)
