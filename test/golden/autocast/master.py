"""
Records PyTorch's optimizers on float32 copies of half-precision parameters:

    python test/golden/autocast/master.py      # torch 2.15 on the CPU

Writes master.json next to this file: for each dtype the gradients of 30 steps as float32 numbers that the dtype holds, and for each optimizer the float32
copy after the last step.
"""
import json
import os

import torch

torch.manual_seed(3)
STEPS = 30
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-4),
    "adamW": lambda p: torch.optim.AdamW(p, lr=1e-4, weight_decay=0.1),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=1e-4),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=1e-4),
    "nadam": lambda p: torch.optim.NAdam(p, lr=1e-4),
    "radam": lambda p: torch.optim.RAdam(p, lr=1e-4),
    "adamax": lambda p: torch.optim.Adamax(p, lr=1e-4),
    "adadelta": lambda p: torch.optim.Adadelta(p, lr=1e-2),
}
runs = {}
for name, dtype in (("float16", torch.float16), ("bfloat16", torch.bfloat16)):
    first = torch.randn(7).to(dtype).float()
    gradients = [torch.randn(7).to(dtype).float() for _ in range(STEPS)]
    masters = {}
    for key, make in OPTIMIZERS.items():
        p = first.clone().requires_grad_()
        optimizer = make([p])
        for g in gradients:
            p.grad = g.clone()
            optimizer.step()
        masters[key] = p.detach().tolist()
    runs[name] = {"first": first.tolist(), "gradients": [g.tolist() for g in gradients], "masters": masters}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "master.json"), "w") as f:
    json.dump({"torch": torch.__version__, "runs": runs}, f)
    f.write("\n")
