"""The recorded calls of test/golden/cases, made again in today's PyTorch."""
import base64
import gzip
import json
import math
import os
import struct

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = {"f32": (np.float32, torch.float32), "f64": (np.float64, torch.float64), "i64": (np.int64, torch.int64), "i32": (np.int32, torch.int32), "i16": (np.int16, torch.int16),
         "i8": (np.int8, torch.int8), "u8": (np.uint8, torch.uint8), "bool": (np.bool_, torch.bool), "f16": (np.float16, torch.float16), "c64": (np.complex64, torch.complex64), "c128": (np.complex128, torch.complex128)}
DTYPES = {**{k: v[1] for k, v in KINDS.items()}, "bf16": torch.bfloat16}


class Unknown(Exception):
    pass


def tensor(v):
    if v["t"] not in KINDS:
        raise Unknown(v["t"])
    data = np.frombuffer(base64.b64decode(v["data"]), dtype=KINDS[v["t"]][0]).copy().reshape(v["shape"])
    return torch.from_numpy(data)


def decode(v, path, tensors):
    if v is None or isinstance(v, (bool, int, str)):
        return v
    if isinstance(v, list):
        return [decode(x, path + (i,), tensors) for i, x in enumerate(v)]
    if "t" in v:
        return tensors[path]
    k = v["k"]
    if k == "float":
        return float(v["v"]) if not isinstance(v["v"], str) else {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[v["v"]]
    if k == "int":
        return int(v["v"])
    if k == "complex":
        return complex(float(v["re"]), float(v["im"]))
    if k == "dtype":
        return DTYPES[v["v"]]
    if k == "tuple":
        return tuple(decode(x, path + (i,), tensors) for i, x in enumerate(v["v"]))
    if k == "slice":
        return slice(*v["v"])
    if k == "ellipsis":
        return Ellipsis
    if k == "memory_format":
        return getattr(torch, v["v"])
    if k == "dict":
        return {n: decode(x, path + (n,), tensors) for n, x in v["v"].items()}
    raise Unknown(k)


def tensors_of(v, path, found):
    """The tensors of a value by their paths, in the order in which dxtensor's tests find them."""
    if isinstance(v, list):
        for i, x in enumerate(v):
            tensors_of(x, path + (i,), found)
    elif isinstance(v, dict) and "t" in v:
        found[path] = tensor(v)
    elif isinstance(v, dict) and v.get("k") == "tuple":
        for i, x in enumerate(v["v"]):
            tensors_of(x, path + (i,), found)
    return found


def operands(c):
    found = {}
    tensors_of(c["input"], ("input",), found)
    for i, a in enumerate(c["args"]):
        tensors_of(a, ("args", i), found)
    for n, a in c["kwargs"].items():
        tensors_of(a, ("kwargs", n), found)
    return found


VARIADIC = {"atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod"}
RENAMED = {"nn.functional._scaled_dot_product_attention": None, "nn.functional.multi_head_attention_forward": None, "meshgrid/variadic_tensors": None, "slice": None, "fill": None}


def function(op):
    if op in RENAMED:
        raise Unknown(op)
    at = torch
    for part in op.split("."):
        at = getattr(at, part, None)
        if at is None:
            raise Unknown(op)
    return at


def call(c, tensors):
    """Makes the call, and gives its tensors in order."""
    value = decode(c["input"], ("input",), tensors)
    args = [decode(a, ("args", i), tensors) for i, a in enumerate(c["args"])]
    kwargs = {n: decode(a, ("kwargs", n), tensors) for n, a in c["kwargs"].items()}
    op, form = c["op"], c["form"]
    if form == "property":
        return flat(getattr(value, op))
    if form in ("method", "operator"):
        return flat(getattr(value, op)(*args, **kwargs))
    f = function(op)
    if op in VARIADIC and not isinstance(value, list):
        return flat(f(value, *args))
    return flat(f(value, *args, **kwargs))


def flat(r):
    if isinstance(r, torch.Tensor):
        return [r]
    if isinstance(r, (list, tuple)):
        return [t for x in r for t in flat(x)]
    return []


def cases(folder):
    with open(os.path.join(folder, "index.json")) as f:
        index = json.load(f)
    for entry in index["ops"]:
        if not entry["grad"]:
            continue
        with gzip.open(os.path.join(folder, entry["file"]), "rt") as f:
            yield entry["op"], [c for c in map(json.loads, f) if c["kind"] == "ok" and c.get("grads") and c.get("gradOutputs")]


def write(name, rows):
    body = "".join(json.dumps(r, separators=(",", ":")) + "\n" for r in rows).encode()
    with open(name, "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
        z.write(body)
