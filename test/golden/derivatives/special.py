"""
Records values and gradients at special values: special.py OUT.jsonl.gz (PyTorch 2.15).

One line a case of ../cases and a kind: {"id", "k": kind, "o": results, "g": gradients by the case's paths}. The inputs are the case's
own, changed by the kind's rule (`changed` here, changedBy() in special.test.ts): nothing else of them is stored. A tensor is a list of
numbers of four digits, "n", "i", "-i", or null.
"""
import sys
import warnings

import torch

from golden import *

warnings.simplefilter("ignore")
torch.set_num_threads(1)

KINDS_OF_INPUT = ("nan", "inf", "zero", "ties", "all", "other", "seed")
VALUES = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0]
TIES = [1.0, -1.0, 1.0, 0.0, 2.0]


def changed(t, kind, j):
    """The elements of operand j by the kind's rule."""
    flat = t.clone().reshape(-1)
    n = flat.numel()
    for i in range(n):
        if kind == "nan":
            if i == (2 + 3 * j) % n:
                flat[i] = math.nan
        elif kind == "inf":
            if i == (1 + 2 * j) % n:
                flat[i] = math.inf
            elif i == (4 + 5 * j) % n:
                flat[i] = -math.inf
        elif kind == "zero":
            if (i + j) % 3 == 0:
                flat[i] = 0.0
            elif (i + j) % 3 == 1:
                flat[i] = -0.0
        elif kind == "ties":
            flat[i] = TIES[(i + 2 * j) % 5]
        elif kind == "all":
            flat[i] = VALUES[(i * (2 * j + 1) + 3 * j) % 10]
        elif kind == "other":
            flat[i] = VALUES[(i // (1 + 9 * (j % 2)) + 4 * i * (j // 2) + 7) % 10]
    return flat.reshape(t.shape)


def number(v):
    if math.isnan(v):
        return "n"
    if math.isinf(v):
        return "i" if v > 0 else "-i"
    v = float(f"{v:.4g}")
    return int(v) if v == int(v) and abs(v) < 1e6 else v


def listed(t):
    if t is None:
        return None
    if t.is_complex():
        raise Unknown("complex")
    return [number(float(v)) for v in t.detach().reshape(-1).tolist()]


def row(c, kind):
    paths = [tuple(g["path"]) for g in c["grads"]]
    tensors = {}
    for j, (p, t) in enumerate(operands(c).items()):
        tensors[p] = changed(t, kind, j) if p in paths and kind != "seed" else t
    leaves = [tensors[p].requires_grad_() for p in paths]
    outs = call(c, tensors)
    if len(c["gradOutputs"]) != len(outs):
        raise Unknown("results")
    roots, gradients = [], []
    for j, (t, s) in enumerate(zip(outs, c["gradOutputs"])):
        if s is not None and t.requires_grad:
            roots.append(t)
            gradients.append(changed(tensor(s), "all", j) if kind == "seed" else tensor(s))
    found = torch.autograd.grad(roots, leaves, gradients, allow_unused=True) if roots else [None] * len(leaves)
    return {"id": c["id"], "k": kind, "o": [] if kind == "seed" else [listed(t) for t in outs], "g": [listed(g) for g in found]}


def chosen(list_):
    """Small cases, of every variant and set of options a few."""
    seen, some = {}, []
    for c in list_:
        try:
            size = sum(t.numel() for t in operands(c).values())
        except Unknown:
            continue
        if size == 0 or size > 160:
            continue
        kwargs = json.dumps([c.get("variant"), sorted(c["kwargs"]), [a if not isinstance(a, dict) else 0 for a in c["args"]], len(c["grads"])], default=str)
        if seen.get(kwargs, 0) >= 1 or len(some) >= 6:
            continue
        seen[kwargs] = seen.get(kwargs, 0) + 1
        some.append(c)
    return some


def main(folder, out):
    rows, skipped, count = [], {}, 0
    for op, list_ in cases(folder):
        for c in chosen(list_):
            count += 1
            for kind in KINDS_OF_INPUT:
                try:
                    rows.append(row(c, kind))
                except Exception as e:
                    skipped.setdefault(op, []).append(f"{kind}: {str(e)[:70]}")
    write(out, rows)
    print(count, "cases;", len(rows), "rows; skipped:")
    for op, why in skipped.items():
        print(" ", op, len(why), why[0])


main(sys.argv[1], sys.argv[2])
