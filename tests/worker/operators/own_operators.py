"""Operators of one's own, as a user would write them."""

import torch

import opbench


class ToldError(Exception):
    """What an operator was called with."""


@opbench.operator("own.plain")
def plain(x):
    return x * 2


@opbench.operator(
    "own.counted", flops=lambda x: 7 * x.numel(), bytes=1000, category="pointwise", tags=("mine", "quick")
)
def counted(x):
    return x + 1


@opbench.operator("own.filled", fill=lambda x, i: (x.fill_(3.0), i.clamp_(0, 4)))
def filled(x, i):
    raise ToldError(f"{x.unique().tolist()} {int(i.min()) >= 0} {int(i.max()) <= 4}")


@opbench.operator("own.set_up", fill=lambda x: x.fill_(2.0), setup=lambda x: (x * 10, "packed"))
def set_up(x, mode):
    raise ToldError(f"{x.unique().tolist()} {mode}")


@opbench.operator("own.random", setup=lambda x: (x, torch.rand(3).tolist()))
def random(x, drawn):
    raise ToldError(f"{x.sum().item()} {drawn}")


@opbench.operator("own.sneaky")
def sneaky(x):
    return x.mul_(1.0)


@opbench.operator("own.honest", mutates="x")
def honest(x):
    assert (x < 10).all(), "each call gets a fresh one"
    return x.add_(10)


@opbench.operator("own.gradient", setup=lambda x, w: (x, w.t().contiguous()))
def gradient(x, w):
    return x @ w


@opbench.operator("own.bad_count", flops=lambda x: "many")
def bad_count(x):
    return x


@opbench.operator("own.bad_setup", setup=lambda x: 1 / 0)
def bad_setup(x):
    return x


@opbench.operator("own.Scale")
class Scale(torch.nn.Module):
    def __init__(self, size, start=1.0):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((size,), start))

    def forward(self, x):
        return x * self.weight
