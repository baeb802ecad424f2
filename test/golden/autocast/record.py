"""
Records the result dtypes of PyTorch's CUDA autocast for the recorded calls of the folder above:

    python test/golden/autocast/record.py      # torch 2.15, no GPU: fake tensors on "cuda" infer dtypes only

Writes dtypes.jsonl.gz next to this file. The first line names the version and PyTorch's own lists (ATen/autocast_mode.h). Then one line a case:
{"id", "d": {"f16": [float32 operands, operands in float16, the first of them in float16, outside of autocast with those], "bf16": ...}}; each is
the result dtypes, comma-separated, or "!" where PyTorch refuses the call. The calls of an operation are few: those that differ in argument names.
"""
import gzip
import json
import os
import re
import sys
import warnings

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(here), "derivatives"))
import golden  # noqa: E402

warnings.simplefilter("ignore")
LOWER = {"f16": torch.float16, "bf16": torch.bfloat16}
CODES = {v: k for k, v in golden.DTYPES.items()}
MOST = 4


def lists():
    """The lists of ATen/autocast_mode.h, as installed with PyTorch."""
    path = os.path.join(os.path.dirname(torch.__file__), "include", "ATen", "autocast_mode.h")
    with open(path) as f:
        text = f.read()
    found = {}
    for name, body in re.findall(r"#define (AT_FORALL_\w+)\(_\)((?:.*\\\n)*.*\n)", text):
        found[name] = sorted(set(re.findall(r"_\((?:ADD_NS\()?(\w+)", body)))
    return found


def cast(tensors, which):
    """which(index among the float32 operands) is the operand's dtype."""
    made, i = {}, 0
    for path, t in tensors.items():
        dtype = t.dtype
        if dtype == torch.float32:
            dtype = which(i)
            i += 1
        made[path] = torch.empty_strided(t.shape, t.stride(), dtype=dtype, device="cuda")
    return made


def answer(c, real, which, lower, enabled):
    with FakeTensorMode():
        tensors = cast(real, which)
        torch.set_autocast_enabled("cuda", enabled)
        torch.set_autocast_dtype("cuda", lower)
        try:
            return ",".join(CODES.get(t.dtype, str(t.dtype)) for t in golden.call(c, tensors))
        except Exception as e:
            if "out=" in str(e):
                raise
            return "!"
        finally:
            torch.set_autocast_enabled("cuda", False)


def main():
    above = os.path.dirname(here)
    with open(os.path.join(above, "index.json")) as f:
        index = json.load(f)
    rows = [{"torch": torch.__version__, "lists": lists()}]
    for entry in index["ops"]:
        seen = {}
        with gzip.open(os.path.join(above, entry["file"]), "rt") as f:
            cases = [json.loads(line) for line in f]
        for c in cases:
            if c["kind"] != "ok" or c["dtype"] != "f32" or "mutated" in c:
                continue
            key = json.dumps([c["form"], c.get("names"), sorted(c["kwargs"]), c.get("variant")])
            if key in seen or len(seen) >= MOST:
                continue
            try:
                real = golden.operands(c)
                if not any(t.dtype == torch.float32 for t in real.values()):
                    continue
                found = {}
                for code, lower in LOWER.items():
                    single = lambda i: torch.float32
                    half = lambda i: lower
                    mixed = lambda i: lower if i == 0 else torch.float32
                    found[code] = [answer(c, real, single, lower, True), answer(c, real, half, lower, True), answer(c, real, mixed, lower, True),
                                   answer(c, real, half, lower, False), answer(c, real, mixed, lower, False)]
            except Exception as e:
                continue
            if all(a == "!" for v in found.values() for a in v):
                continue
            seen[key] = True
            rows.append({"id": c["id"], "d": found})
    golden.write(os.path.join(here, "dtypes.jsonl.gz"), rows)
    print(len(rows) - 1, "calls of", len({r["id"].split(":")[0] for r in rows[1:]}), "operations")


main()
