"""Records derivatives of torch.autograd.functional in float64, checked against differences: python functional.py > functional.json (torch 2.15)."""
import json
import torch
from torch.autograd import functional as F

UNARY = ["exp", "log", "sin", "cos", "tan", "tanh", "sinh", "cosh", "asin", "acos", "atan", "asinh", "atanh", "sqrt", "rsqrt", "square",
         "reciprocal", "neg", "abs", "sigmoid", "relu", "erf", "log1p", "expm1", "exp2", "log2", "log10", "cumsum", "cumprod", "softmax",
         "logSoftmax", "softplus", "gelu", "silu", "mean", "std", "logsumexp", "flip", "sort", "prod", "norm"]
BINARY = ["add", "sub", "mul", "div", "pow", "atan2", "maximum", "minimum", "hypot", "dot", "outer", "where"]

def unary(name):
    special = {
        "cumsum": lambda x: x.cumsum(0), "cumprod": lambda x: x.cumprod(0), "softmax": lambda x: x.softmax(0),
        "logSoftmax": lambda x: x.log_softmax(0), "softplus": torch.nn.functional.softplus, "gelu": torch.nn.functional.gelu,
        "silu": torch.nn.functional.silu, "logsumexp": lambda x: x.logsumexp(0), "flip": lambda x: x.flip(0), "sort": lambda x: x.sort().values,
    }
    return special.get(name, getattr(torch, name, None))

def binary(name):
    special = {"where": lambda x, y: torch.where(x > y, x * y, x - y)}
    return special.get(name, getattr(torch, name, None))

def differences(fn, xs, h=1e-6):
    found = []
    for k, x in enumerate(xs):
        columns = []
        for i in range(x.numel()):
            moved = [[t.clone() for t in xs] for _ in range(2)]
            moved[0][k].view(-1)[i] += h
            moved[1][k].view(-1)[i] -= h
            columns.append(((fn(*moved[0]) - fn(*moved[1])) / (2 * h)).flatten())
        found.append(torch.stack(columns, 1))
    return found

def flat(ts):
    return [t.flatten().tolist() for t in (ts if isinstance(ts, tuple) else (ts,))]

rows = []
for name in UNARY + BINARY:
    xs = (torch.tensor([0.3, 0.85, 0.55]).double(),) + ((torch.tensor([0.7, 0.2, 0.45]).double(),) if name in BINARY else ())
    fn = binary(name) if name in BINARY else unary(name)
    v = tuple(torch.tensor([1.0, -0.5, 2.0]).double() * (i + 1) for i in range(len(xs)))
    out = fn(*xs)
    w = torch.arange(1, out.numel() + 1).double().reshape(out.shape) * 0.5
    number = lambda *args: (fn(*args) * w).square().sum()
    jacobian = F.jacobian(fn, xs)
    for own, near in zip(jacobian, differences(fn, xs)):
        assert torch.allclose(own.reshape(near.shape), near, atol=1e-6, rtol=1e-6), name
    hessian = F.hessian(number, xs)
    rows.append(dict(name=name, inputs=[x.tolist() for x in xs], v=[t.tolist() for t in v], w=w.tolist(), value=flat(out),
                     jacobian=flat(jacobian), jvp=flat(F.jvp(fn, xs, v)[1]), vjp=flat(F.vjp(fn, xs, w)[1]),
                     hessian=[flat(row) for row in hessian], hvp=flat(F.hvp(number, xs, v)[1]), vhp=flat(F.vhp(number, xs, v)[1])))
print("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]")
