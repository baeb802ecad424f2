"""
Records what a call saves for backward(), by what is refused afterwards: saved.py OUT.jsonl.gz (PyTorch 2.15).

One line a case of ../cases: {"id", "q": [question, ...]}; a question is [which of the case's gradient paths require a gradient, answer]. An
answer is "operands/results/again": "r" or "p" for each floating operand and then for each result, whether backward() is refused or passes
after the tensor was written to in place ("?": such a write is refused itself), and the same of a second backward().
"""
import sys
import warnings

import torch

from golden import *

warnings.simplefilter("ignore")


def tried(c, paths, which, write, again=False):
    tensors = {p: t.clone() for p, t in operands(c).items()}
    for p, w in zip(paths, which):
        if w:
            tensors[p].requires_grad_()
    outs = call(c, tensors)
    seeds = c["gradOutputs"]
    if len(seeds) != len(outs):
        raise Unknown("results")
    pairs = [(t, tensor(s)) for t, s in zip(outs, seeds) if s is not None and t.requires_grad]
    if not pairs:
        return None
    changed = write(tensors, outs)
    if changed is not None:
        try:
            with torch.no_grad():
                changed.add_(0)
        except RuntimeError:
            return "?"
    back = lambda: torch.autograd.backward([t for t, _ in pairs], [s for _, s in pairs])
    if again:
        back()
    try:
        back()
        return "p"
    except RuntimeError as e:
        if "modified by an inplace operation" in str(e) or "second time" in str(e):
            return "r"
        raise


def answer(c, paths, which):
    again = tried(c, paths, which, lambda t, o: None, True)
    if again is None:
        return None
    names = [p for p, t in operands(c).items() if t.is_floating_point()]
    first = "".join(tried(c, paths, which, lambda t, o, p=p: t[p]) for p in names)
    count = len(c["gradOutputs"])
    second = "".join(tried(c, paths, which, lambda t, o, i=i: o[i] if o[i].is_floating_point() else None) for i in range(count))
    return f"{first}/{second}/{again}"


def operands_or_none(c):
    """Nothing of a tensor without elements can change."""
    try:
        return operands(c).values()
    except Unknown:
        return []


def main(folder, out):
    rows, skipped = [], {}
    for op, list_ in cases(folder):
        for c in list_:
            if any(t.numel() == 0 for t in operands_or_none(c)):
                continue
            paths = [tuple(g["path"]) for g in c["grads"]]
            sets = [[1] * len(paths)] + ([[int(i == j) for i in range(len(paths))] for j in range(min(len(paths), 4))] if len(paths) > 1 else [])
            try:
                questions = [["".join(map(str, which)), a] for which in sets if (a := answer(c, paths, which)) is not None]
            except Exception as e:
                skipped.setdefault(op, str(e)[:100])
                continue
            if questions:
                rows.append({"id": c["id"], "q": questions})
    write(out, rows)
    print(len(rows), "cases;", "skipped:", skipped)


main(sys.argv[1], sys.argv[2])
