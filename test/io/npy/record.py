"""Writes files.json, which test/io/npy reads: files of NumPy 2, and what they hold as little-endian bytes in C order. python record.py"""
import base64
import io
import json
from pathlib import Path

import numpy as np



def saved(a, version=None, **options):
    file = io.BytesIO()
    np.lib.format.write_array(file, a, version=version, **options)
    return base64.b64encode(file.getvalue()).decode()


rng = np.random.default_rng(1)
arrays = {}
for name in ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]:
    dtype = np.dtype(name)
    a = rng.integers(0, 2 if name == "bool" else 100, (2, 3)).astype(dtype)
    if dtype.kind == "f":
        a[0] = [np.nan, -np.inf, -0.0]
    arrays[name] = a
    if dtype.itemsize > 1:
        arrays[f"{name}-big"] = a.astype(dtype.newbyteorder(">"))
arrays["fortran"] = np.asfortranarray(np.arange(24, dtype="f4").reshape(2, 3, 4))
arrays["fortran-big"] = np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3))
arrays["scalar"] = np.array(2.5, dtype="f4")
arrays["vector"] = np.arange(5, dtype="i8")
arrays["empty"] = np.zeros((0, 3), dtype="f4")
arrays["deep"] = np.arange(4, dtype="u1").reshape((1,) * 20 + (4,))
expected = {}
for name, a in arrays.items():
    little = np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<"))
    expected[name] = {
        "file": saved(a),
        "dtype": "bool" if a.dtype.kind == "b" else a.dtype.newbyteorder("=").name,
        "shape": list(a.shape),
        "strides": [s // a.itemsize for s in a.strides],
        "bytes": little.tobytes().hex(),
    }
for version in [(2, 0), (3, 0)]:
    expected[f"version {version[0]}"] = expected["f4"] | {"file": saved(arrays["f4"], version)}
refused = {
    "complex": saved(np.ones(2, dtype="c8")),
    "object": saved(np.array([{}], dtype=object), allow_pickle=True),
    "records": saved(np.zeros(2, dtype=[("a", "f4"), ("b", "i4", (2,))])),
    "text": saved(np.array(["ab"])),
}
target = Path(__file__).parent / "files.json"
target.write_text(json.dumps({"files": expected, "refused": refused}, indent=1) + "\n")
