"""Records Muon, Adafactor and SparseAdam: python record-more.py > more.json (torch 2.15). Muon twice: as it is, in bfloat16, and with its Newton-Schulz steps in float64."""
import inspect
import json
import math
import re
import torch
from torch.optim import _muon

STEPS = 20
SHAPES = {"tall": [7, 4], "wide": [3, 6], "square": [4, 4], "vector": [5], "cube": [2, 3, 4], "scalar": []}


def values(seed, size):
    """As test/optim/recorded-optimizers.test.ts computes them."""
    return [math.sin(seed + 0.9 * i * i) * (1 + i % 3) for i in range(size)]


def tensor(seed, shape):
    return torch.tensor(values(seed, math.prod(shape)), dtype=torch.float64).to(torch.float32).reshape(shape)


def plain(t):
    return [float(f"{v:.8g}") for v in t.detach().double().flatten().tolist()]


def run(make, names):
    params = [torch.nn.Parameter(tensor(0.3 + k, SHAPES[name])) for k, name in enumerate(names)]
    optimizer = make(params)
    after = {}
    for step in range(STEPS):
        for k, p in enumerate(params):
            p.grad = tensor(1.7 * (step + 1) + 2.3 * k, p.shape)
        optimizer.step()
        if step in (0, 1, STEPS - 1):
            after[step] = [plain(p) for p in params]
    state = [{key: plain(v) for key, v in optimizer.state[p].items() if key != "step"} for p in params]
    return {"names": names, "after": after, "state": state}


MUON = {
    "default": dict(lr=0.02),
    "no nesterov": dict(lr=0.05, nesterov=False, weight_decay=0, momentum=0.8),
    "match_rms_adamw": dict(lr=0.01, adjust_lr_fn="match_rms_adamw", ns_steps=3),
    "spectral_unclamped": dict(lr=0.02, adjust_lr_fn="spectral_unclamped", ns_coefficients=(2.0, -1.5, 0.5), eps=1e-3),
}
ADAFACTOR = {
    "default": {},
    "decay": dict(lr=0.05, weight_decay=0.1, d=1.5, beta2_decay=-0.5),
    "eps": dict(lr=0.1, eps=(1e-2, 0.3), maximize=True),
}


def muons(names):
    return {key: run(lambda p: torch.optim.Muon(p, **o), names) for key, o in MUON.items()}


def embedding(o):
    """Rows that are looked up, some of them twice in a step."""
    layer = torch.nn.Embedding(6, 3, sparse=True, padding_idx=o.pop("padding_idx", None))
    with torch.no_grad():
        layer.weight.copy_(tensor(0.3, [6, 3]))
    optimizer = torch.optim.SparseAdam(layer.parameters(), **o)
    after = []
    for step, rows in enumerate([[0, 2], [2, 2, 5], [5], [1, 0, 4], [2], [3, 3, 3, 0]]):
        optimizer.zero_grad()
        out = layer(torch.tensor(rows))
        (out * tensor(1.7 * (step + 1), list(out.shape))).sum().backward()
        optimizer.step()
        after.append(plain(layer.weight))
    state = optimizer.state[layer.weight]
    return {"after": after, "state": {key: plain(state[key]) for key in ("exp_avg", "exp_avg_sq")}}


matrices = ["tall", "wide", "square"]
recorded = muons(matrices)
exact = {}
source = inspect.getsource(_muon._zeropower_via_newtonschulz).replace("torch.bfloat16", "torch.float64")
exec(source, vars(_muon))
exact = muons(matrices)
print(
    re.sub(
        r"\s+",
        " ",
        json.dumps(
            {
                "muon": recorded,
                "muon in float64": exact,
                "adafactor": {key: run(lambda p: torch.optim.Adafactor(p, **o), list(SHAPES)) for key, o in ADAFACTOR.items()},
                "sparseAdam": {
                    "default": embedding({}),
                    "options": embedding(dict(lr=0.05, betas=(0.8, 0.95), eps=1e-3, maximize=True)),
                    "padding": embedding(dict(lr=0.05, padding_idx=2)),
                },
            }
        ),
    )
)
