"""
Records what PyTorch's CPU gives for the recorded float32 calls of the folder above when their operands are bfloat16:

    python test/golden/bfloat16/record.py      # torch 2.x, no GPU

Writes index.json and cases/ next to this file, in the same format. The first calls of each operation that bfloat16 can take, of few elements.
A result is recorded as "exact" where PyTorch rounds once, so that it is the rounded result of float32, and as "close" elsewhere.
"""

import base64
import gzip
import hashlib
import json
import pathlib
import warnings

import torch

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
here = pathlib.Path(__file__).parent
above = here.parent

MOST_CASES = 3
MOST_ELEMENTS = 300
# Drawn, filled with what is there, or made without operands.
SKIPPED = ("rand", "dropout", "multinomial", "bernoulli", "normal", "empty", "new_", "uniform", "exponential", "cauchy", "log_normal",
           "geometric", "bfloat16", "half", "float", "double", "rrelu", "alpha")
NAMES = {
    "f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
    "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
}
CODES = {v: k for k, v in NAMES.items()}


class Skip(Exception):
    pass


def tensor(v, dtype):
    data = bytearray(base64.b64decode(v["data"]))
    if v["t"] not in NAMES:
        raise Skip("complex")
    t = torch.frombuffer(data, dtype=NAMES[v["t"]]) if len(data) > 0 else torch.empty(0, dtype=NAMES[v["t"]])
    t = t.reshape(v["shape"]).clone()
    return t.to(torch.bfloat16).to(dtype) if t.dtype == torch.float32 else t


def decode(v, dtype, path, leaves):
    if v is None or isinstance(v, (bool, int, float, str)):
        return v
    if isinstance(v, list):
        return [decode(x, dtype, path + [i], leaves) for i, x in enumerate(v)]
    if "t" in v:
        leaves[json.dumps(path)] = t = tensor(v, dtype)
        return t
    k = v["k"]
    if k == "float":
        return float(v["v"])
    if k == "int":
        return int(v["v"])
    if k == "tuple":
        return tuple(decode(x, dtype, path + [i], leaves) for i, x in enumerate(v["v"]))
    if k == "slice":
        return slice(*v["v"])
    if k == "ellipsis":
        return ...
    raise Skip(k)


def encode(v):
    """An operand with its float32 tensors in bfloat16."""
    if isinstance(v, list):
        return [encode(x) for x in v]
    if isinstance(v, dict):
        if "t" in v:
            return written(tensor(v, torch.bfloat16))
        return {**v, "v": encode(v["v"])} if isinstance(v.get("v"), list) else v
    return v


def written(t):
    t = t.detach().contiguous()
    raw = t.reshape(-1).view(torch.uint8) if t.numel() > 0 else torch.empty(0, dtype=torch.uint8)
    return {"t": CODES[t.dtype], "shape": list(t.shape), "data": base64.b64encode(bytes(raw.tolist())).decode()}


def callee(op, form):
    if form in ("method", "operator"):
        return lambda x, *args, **kwargs: getattr(x, op.split(".")[-1])(*args, **kwargs)
    if form != "function":
        raise Skip(form)
    at = torch
    for name in op.split("."):
        at = getattr(at, name, None)
        if at is None:
            raise Skip("no such function")
    return at


def outputs(v):
    if isinstance(v, torch.Tensor):
        return [v]
    if isinstance(v, (list, tuple)):
        return [t for x in v for t in outputs(x)]
    raise Skip("no tensors")


def result(v):
    return written(v) if isinstance(v, torch.Tensor) else {"k": "tuple", "v": [result(x) for x in v]}


def run(c, dtype):
    leaves = {}
    x = decode(c["input"], dtype, ["input"], leaves)
    args = [decode(v, dtype, ["args", i], leaves) for i, v in enumerate(c["args"])]
    kwargs = {k: decode(v, dtype, ["kwargs", k], leaves) for k, v in c["kwargs"].items()}
    for g in c.get("grads", []):
        leaves[json.dumps(g["path"])].requires_grad_()
    y = callee(c["op"], c["form"])(x, *args, **kwargs)
    return y, leaves


def recorded(c):
    if c["kind"] != "ok" or c["dtype"] != "f32" or any(m in ("meta", "gauge", "index") for m in c.get("compare", [])) or "mutated" in c:
        raise Skip("not of this kind")
    if sum(len(t) for t in json.dumps([c["input"], c["args"]]).split('"data"')) > 12 * MOST_ELEMENTS:
        raise Skip("large")
    y, leaves = run(c, torch.bfloat16)
    wide, _ = run(c, torch.float32)
    found, exact = outputs(y), outputs(wide)
    if not any(t.dtype == torch.bfloat16 for t in [*found, *leaves.values()]) or any(t.dtype not in CODES for t in found):
        raise Skip("nothing of bfloat16")
    compare = [
        "exact" if torch.equal(a.detach().nan_to_num(), b.detach().to(a.dtype).nan_to_num()) else "close" for a, b in zip(found, exact)
    ]
    out = {
        "id": None, "kind": "ok", "op": c["op"], "form": c["form"], "dtype": "bf16", "source": c["id"],
        "input": encode(c["input"]), "args": encode(c["args"]), "kwargs": {k: encode(v) for k, v in c["kwargs"].items()},
        "names": c["names"], "out": result(y), "compare": compare, "tol": {"rtol": 2**-7, "atol": 1e-6, "from": "dtype"},
        "tags": c.get("tags", []),
    }
    seeds = c.get("gradOutputs")
    if seeds is not None and all(t.requires_grad == (s is not None) for t, s in zip(found, seeds)):
        flowing = [tensor(s, torch.bfloat16) for s in seeds if s is not None]
        wanted = [leaves[json.dumps(g["path"])] for g in c["grads"]]
        grads = torch.autograd.grad([t for t in found if t.requires_grad], wanted, flowing, allow_unused=True)
        out["gradOutputs"] = [None if s is None else written(tensor(s, torch.bfloat16)) for s in seeds]
        out["grads"] = [{"path": g["path"], "grad": None if t is None else written(t)} for g, t in zip(c["grads"], grads)]
        largest = max([float(t.float().abs().nan_to_num(0, 0, 0).max()) for t in grads if t is not None and t.numel() > 0] + [0.0])
        # Both sides round each step of their own rule for the derivative.
        out["gradTol"] = {"rtol": 4 * 2**-8, "atol": 4 * 2**-8 * max(largest, 1.0)}
    digest = hashlib.sha256(json.dumps([out["input"], out["args"], out["kwargs"]]).encode()).hexdigest()[:10]
    out["id"] = f"{c['op']}:bf16:{digest}"
    return out


def main():
    index = json.loads((above / "index.json").read_text())
    ops, total = [], 0
    (here / "cases").mkdir(exist_ok=True)
    for old in (here / "cases").glob("*.gz"):
        old.unlink()
    for entry in index["ops"]:
        op = entry["op"]
        if any(op.split(".")[-1].startswith(s) for s in SKIPPED) or op.startswith(("fft.", "linalg.eig")):
            continue
        cases = [json.loads(line) for line in gzip.open(above / entry["file"], "rt")]
        kept = []
        for c in cases:
            if len(kept) == MOST_CASES:
                break
            try:
                torch.manual_seed(0)
                kept.append(recorded(c))
            except (Skip, RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AttributeError, KeyError):
                continue
        if not kept:
            continue
        with open(here / entry["file"], "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as f:
            for c in kept:
                f.write((json.dumps(c, separators=(",", ":")) + "\n").encode())
        ops.append({"op": op, "category": entry["category"], "form": entry["form"], "file": entry["file"], "cases": len(kept)})
        total += len(kept)
    note = {"version": 1, "reference": f"PyTorch {torch.__version__.split('+')[0]} (CPU)", "totals": {"ops": len(ops), "cases": total}}
    lines = ",\n".join(json.dumps(o) for o in ops)
    (here / "index.json").write_text(f"{json.dumps(note)[:-1]}, \"ops\": [\n{lines}\n]}}\n")
    print(note)


main()
