"""
Records which results, gradients, and gradients of gradients depend on what: graph.py OUT.jsonl.gz (PyTorch 2.15).

One line a case of ../cases: {"id", "q": [question, ...]}; a question is [which of the case's gradient paths require a gradient ("1" or "0"
for each), whether the incoming gradients do (0 or 1), answer]. An answer is "results/gradients/second": for each result whether it
requires a gradient; for each path "-" (none), "0" (there is one, which requires none), "1" (it requires one); and the same of the sum of the
gradients' own gradients, by the paths and by the incoming gradients.
"""
import sys
import warnings

import torch

from golden import *

warnings.simplefilter("ignore")
torch.manual_seed(0)


def mark(g):
    return "-" if g is None else "1" if g.requires_grad else "0"


def answer(c, paths, which, seeded):
    tensors = {p: t.clone() for p, t in operands(c).items()}
    leaves = [tensors[p] for p, w in zip(paths, which) if w]
    for t in leaves:
        t.requires_grad_()
    outs = call(c, tensors)
    seeds = c["gradOutputs"]
    if len(seeds) != len(outs):
        raise Unknown("results")
    flags = "".join("1" if t.requires_grad else "0" for t in outs)
    roots, gradients = [], []
    for t, s in zip(outs, seeds):
        if s is not None and t.requires_grad:
            roots.append(t)
            gradients.append(tensor(s).requires_grad_(seeded))
    if not roots:
        return flags + "//"
    first = torch.autograd.grad(roots, leaves, gradients, create_graph=True, allow_unused=True)
    text = flags + "/" + "".join(map(mark, first)) + "/"
    again = [g for g in first if g is not None and g.requires_grad]
    if not again:
        return text
    second = torch.autograd.grad(again, leaves + (gradients if seeded else []), [torch.ones_like(g) for g in again], create_graph=True, allow_unused=True)
    return text + "".join(map(mark, second))


def main(folder, out):
    rows, skipped = [], {}
    for op, list_ in cases(folder):
        for c in list_:
            paths = [tuple(g["path"]) for g in c["grads"]]
            whole = [1] * len(paths)
            sets = [whole] + ([[int(i == j) for i in range(len(paths))] for j in range(min(len(paths), 6))] if len(paths) > 1 else [])
            questions = []
            try:
                for which in sets:
                    for seeded in (0, 1):
                        questions.append(["".join(map(str, which)), seeded, answer(c, paths, which, bool(seeded))])
            except Exception as e:
                skipped.setdefault(op, str(e)[:100])
                continue
            rows.append({"id": c["id"], "q": questions})
    write(out, rows)
    print(len(rows), "cases;", "skipped:", skipped)


main(sys.argv[1], sys.argv[2])
