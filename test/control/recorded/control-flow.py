"""Records values and gradients of PyTorch's torch.cond, while_loop and scan: python control-flow.py > control-flow.json"""

import json

import torch
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

X = [0.5, -1.25, 2.0]
W = [1.5, 0.75, -0.5]


def leaves():
    return [torch.tensor(v, requires_grad=True) for v in (X, W)]


def record(name, fn):
    inputs = leaves()
    results = fn(*inputs)
    loss = sum((r * r).sum() for r in results)
    grads = torch.autograd.grad(loss, inputs, allow_unused=True)
    return {
        "name": name,
        "results": [r.detach().tolist() for r in results],
        "gradients": [None if g is None else g.tolist() for g in grads],
    }


def chosen(taken):
    def fn(x, w):
        return torch.cond(
            torch.tensor(taken),
            lambda x, w: ((x * w).sin(), x.exp()),
            lambda x, w: (x - w * w, w.tanh()),
            (x, w),
        )

    return fn


def nested(x, w):
    inner = lambda x, w: torch.cond(x.sum() > 10, lambda x, w: x * w, lambda x, w: x + 2 * w, (x, w))
    return (torch.cond(x.sum() > 0, inner, lambda x, w: x - w, (x, w)),)


def recurrence(reverse):
    def fn(x, w):
        xs = torch.stack([x, x * x, x.sin(), w])

        def step(h, v):
            h = torch.tanh(h * w + v)
            return h, h * v

        last, ys = scan(step, x, xs, dim=0, reverse=reverse)
        return last, ys

    return fn


def scan_columns(x, w):
    xs = torch.stack([x, w, x * w])

    def step(h, v):
        n = h * 0.5 + v
        return n, n.cos()

    last, ys = scan(step, w, xs, dim=1)
    return last, ys


def halving(x, w):
    state = while_loop(
        lambda x, n: x.abs().sum() > 0.5,
        lambda x, n: (x * 0.5 + w * 0.01, n + 1),
        (x, torch.tensor(0)),
    )
    return (state[0], state[1].float())


rows = [
    record("cond, true", chosen(True)),
    record("cond, false", chosen(False)),
    record("cond in cond", nested),
    record("scan", recurrence(False)),
    record("scan, reverse", recurrence(True)),
    record("scan along columns", scan_columns),
    record("whileLoop", halving),
]
print(json.dumps({"x": X, "w": W, "rows": rows}, indent=1))
