"""What PyTorch says of programs: python record.py programs.json recorded.json

programs.json is a list of programs, as programs-main.ts writes it. recorded.json has each of them with what is there after its rounds.
"""
import json
import sys

import torch

UNARY = {
    "tanh": torch.tanh, "sin": torch.sin, "square": torch.square, "sigmoid": torch.sigmoid,
    "half": lambda x: x * 0.5, "next": lambda x: x + 1, "clone": torch.clone, "detach": lambda x: x.detach(),
}
BINARY = {"mul": torch.mul, "add": torch.add, "sub": torch.sub}
VIEWS = {
    "low": lambda x: x[0:2], "high": lambda x: x[2:4], "even": lambda x: x[0:4:2], "square": lambda x: x.view(2, 2),
    "flat": lambda x: x.view(x.numel()), "reversed": lambda x: x.narrow(0, 0, x.numel()).unsqueeze(0).select(0, 0),
}
WRITES = {
    "double": lambda x, y: x.mul_(2), "next": lambda x, y: x.add_(1), "tanh": lambda x, y: x.tanh_(), "sin": lambda x, y: x.sin_(),
    "zero": lambda x, y: x.zero_(), "add": lambda x, y: x.add_(y), "mul": lambda x, y: x.mul_(y), "copy": lambda x, y: x.copy_(y),
}


def perform(step, t):
    x = t[step["x"]]
    do = step["do"]
    if do == "unary":
        t[step["out"]] = UNARY[step["fn"]](x)
    elif do == "binary":
        t[step["out"]] = BINARY[step["fn"]](x, t[step["y"]])
    elif do == "view":
        with torch.set_grad_enabled(not step["silent"]):
            t[step["out"]] = VIEWS[step["fn"]](x)
    elif do == "write":
        with torch.set_grad_enabled(not step["silent"]):
            WRITES[step["fn"]](x, t[step["y"]])
    elif do == "backward":
        if not x.requires_grad:
            return
        options = {"retain_graph": step["retain"] or step["create"], "create_graph": step["create"]}
        if step["y"] is None:
            x.sum().backward(**options)
        else:
            x.backward(t[step["y"]].detach().clone(), **options)
    elif do == "grad":
        inputs = [t[n] for n in step["of"]]
        wanted = [i for i in inputs if i.requires_grad] if x.requires_grad else []
        grads = torch.autograd.grad(x.sum(), wanted, retain_graph=step["retain"], allow_unused=True) if wanted else []
        for name, i in zip(step["out"], inputs):
            at = next((k for k, w in enumerate(wanted) if w is i), None)
            g = None if at is None else grads[at]
            t[name] = i.detach() * 0 if g is None else g
    elif do == "edit":
        if x.grad is None:
            return
        with torch.no_grad():
            if step["fn"] == "double":
                x.grad.mul_(2)
            elif step["fn"] == "zero":
                x.grad.zero_()
            elif step["fn"] == "clip":
                torch.nn.utils.clip_grad_value_([x], 0.5)
            else:
                x.grad = None
    elif do == "hook":
        if x.requires_grad:
            x.register_hook(lambda g: g * 3)
    elif do == "retainGrad":
        if x.requires_grad:
            x.retain_grad()
    elif do == "other":
        t[step["out"]] = x * x.sigmoid()
    else:
        raise ValueError(do)


def read(x):
    return [float(f"{v:.6g}") for v in x.detach().reshape(-1).tolist()]


def look(t):
    seen = {}
    for name, x in t.items():
        seen[name] = read(x)
        seen[f"{name}.requiresGrad"] = x.requires_grad
        seen[f"{name}.grad"] = None if x.grad is None else read(x.grad)
    return seen


def run(program):
    t = {n: torch.tensor(v, requires_grad=True) for n, v in program["leaves"].items()}
    t.update({n: torch.tensor(v) for n, v in program["buffers"].items()})
    seen = []
    try:
        for r in program["rounds"]:
            for step in r["before"]:
                perform(step, t)
            inner = dict(t)
            for i, n in enumerate(r["args"]):
                inner[f"a{i}"] = t[n]
            for step in program["body"]:
                perform(step, inner)
            for k, n in enumerate(program["results"]):
                t[f"r{k}"] = inner[n]
            for step in r["after"]:
                perform(step, t)
            seen.append(look(t))
    except RuntimeError as e:
        seen.append({"refused": str(e).split("\n")[0][:60]})
    return seen


with open(sys.argv[1]) as f:
    programs = json.load(f)
with open(sys.argv[2], "w") as f:
    f.write("[\n" + ",\n".join(json.dumps({"program": p, "seen": run(p)}, separators=(",", ":")) for p in programs) + "\n]\n")
