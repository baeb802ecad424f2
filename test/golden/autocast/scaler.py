"""
Records PyTorch's GradScaler over a training run with overflows:

    python test/golden/autocast/scaler.py      # torch 2.15 on the CPU

Writes scaler.json next to this file: the inputs of 16 steps of Adam and of SGD with momentum, and after each step the parameter, the scale, and the
number of steps since it changed. Steps 3, 4, 8 and 13 have an infinite or NaN input.
"""
import json
import math
import os

import torch

STEPS, BAD = 16, {3: math.inf, 4: math.nan, 8: -math.inf, 13: math.inf}
torch.manual_seed(2)
first = torch.randn(3, 2)
inputs = [torch.randn(4, 3) for _ in range(STEPS)]
for i, v in BAD.items():
    inputs[i][1, 2] = v


def text(t):
    return [None if math.isnan(v) else str(v) if math.isinf(v) else v for v in t.flatten().tolist()]


def run(make):
    w = first.clone().requires_grad_()
    optimizer = make([w])
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
    seen = []
    for x in inputs:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(x @ w, torch.ones(4, 2))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        state = scaler.state_dict()
        seen.append({"parameter": text(w.detach()), "scale": state["scale"], "growthTracker": state["_growth_tracker"]})
    return seen


runs = {"adam": run(lambda p: torch.optim.Adam(p, lr=0.1)), "sgd": run(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9))}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "scaler.json"), "w") as f:
    json.dump({"torch": torch.__version__, "first": text(first), "inputs": [text(x) for x in inputs], "runs": runs}, f, indent=1)
    f.write("\n")
print([s["scale"] for s in runs["adam"]])
