"""Records gradients and values of modules with hooks: python hooks.py > hooks.json (torch 2.15)."""
import json
import torch
from torch import nn


def linear(rows, columns, start):
    layer = nn.Linear(columns, rows)
    with torch.no_grad():
        layer.weight.copy_(torch.arange(rows * columns).reshape(rows, columns) * 0.1 + start)
        layer.bias.copy_(torch.arange(rows) * 0.2 - start)
    return layer


def run(hooks, requires_grad=True):
    log = []
    inner, outer = linear(3, 2, 0.1), linear(2, 3, -0.2)
    net = nn.Sequential(inner, nn.Tanh(), outer)
    x = torch.tensor([[0.5, -1.0], [2.0, 0.25]], requires_grad=requires_grad)
    hooks(net, inner, outer, log)
    y = net(x)
    (y * y).sum().backward()
    parts = [None if t is None else t.flatten().tolist() for t in (y, x.grad, inner.weight.grad, outer.weight.grad)]
    return dict(y=parts[0], x=parts[1], inner=parts[2], outer=parts[3], log=log)


def numbers(ts):
    return [None if t is None else t.flatten().tolist() for t in ts]


def forward(net, inner, outer, log):
    inner.register_forward_pre_hook(lambda m, i: log.append("pre 1") or (i[0] * 2,))
    inner.register_forward_pre_hook(lambda m, i: log.append("pre 0"), prepend=True)
    inner.register_forward_pre_hook(lambda m, i: log.append("pre 2") or i[0] + 1)
    outer.register_forward_hook(lambda m, i, o: log.append("after 1") or o * 3)
    outer.register_forward_hook(lambda m, i, o: log.append("after 2"))
    net.register_forward_hook(lambda m, i, o: log.append("net") or o - 1)
    outer.register_forward_hook(lambda m, i, o: log.append("after 0") or o + 1, prepend=True)


def backward(net, inner, outer, log):
    outer.register_full_backward_pre_hook(lambda m, g: log.append(["pre", numbers(g)]) or (g[0] * 0.5,))
    outer.register_full_backward_hook(lambda m, gi, go: log.append(["outer", numbers(gi), numbers(go)]) or (gi[0] * 2,))
    outer.register_full_backward_hook(lambda m, gi, go: log.append(["again", numbers(gi), numbers(go)]))
    inner.register_full_backward_hook(lambda m, gi, go: log.append(["inner", numbers(gi), numbers(go)]))


print(json.dumps(dict(forward=run(forward), backward=run(backward), constant=run(backward, False))))
