"""Records LBFGS and GradScaler runs of PyTorch in lbfgs.json. Run: python record-lbfgs.py"""

import json
import pathlib

import torch

torch.set_default_dtype(torch.float64)
START = [[-1.2, 1.0], [0.5]]


def loss_of(a, b):
    """Rosenbrock's valley and a quartic."""
    return (1 - a[0]) ** 2 + 20 * (a[1] - a[0] ** 2) ** 2 + ((b - 2) ** 4).sum() + (a[0] * b).sum()


def run(options, steps):
    params = [torch.tensor(s, requires_grad=True) for s in START]
    optimizer = torch.optim.LBFGS(params, **options)
    losses, after = [], []

    def closure():
        optimizer.zero_grad()
        loss = loss_of(*params)
        loss.backward()
        return loss

    for _ in range(steps):
        losses.append(float(optimizer.step(closure)))
        after.append([p.detach().tolist() for p in params])
    state = optimizer.state[params[0]]
    return {"options": options, "losses": losses, "after": after, "counts": [state["n_iter"], state["func_evals"]]}


RUNS = [
    ({"line_search_fn": "strong_wolfe"}, 3),
    ({"line_search_fn": "strong_wolfe", "max_iter": 4, "history_size": 2}, 6),
    ({"lr": 0.02, "max_iter": 5}, 4),
    ({"lr": 0.05, "max_iter": 10, "history_size": 1, "tolerance_change": 1e-3}, 3),
]
here = pathlib.Path(__file__).parent
runs = [run(*r) for r in RUNS]
(here / "lbfgs.json").write_text(json.dumps({"start": START, "runs": runs}, indent=1) + "\n")
