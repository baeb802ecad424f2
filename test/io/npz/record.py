"""Writes files.json, which test/io/npz reads: archives of NumPy 2, and what their arrays hold as little-endian bytes in C order. python record.py"""
import base64
import io
import json
import zipfile
from pathlib import Path

import numpy as np

rng = np.random.default_rng(2)
arrays = {
    "x": rng.standard_normal((3, 4)).astype("f4"),
    "big": np.arange(6, dtype=">i4").reshape(2, 3),
    "fortran": np.asfortranarray(np.arange(24, dtype="f8").reshape(2, 3, 4)),
    "scalar": np.array(2.5, dtype="f2"),
    "empty": np.zeros((0, 3), dtype="u1"),
    "flags": np.array([True, False, True]),
    "long": np.arange(3, dtype="i8") - 2**62,
    "größe/名": np.arange(5, dtype="u2"),
}
zeros = {"zeros": np.zeros(40_000, dtype="f8")}


def recorded(file, source):
    return {
        "file": base64.b64encode(file).decode(),
        "arrays": {
            name: {
                "dtype": "bool" if a.dtype.kind == "b" else a.dtype.newbyteorder("=").name,
                "shape": list(a.shape),
                "bytes": np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<")).tobytes().hex() if a.size < 1000 else "zeros",
            }
            for name, a in source.items()
        },
    }


def saved(save, *args, **named):
    file = io.BytesIO()
    save(file, *args, **named)
    return file.getvalue()


def repacked(*entries, level=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", level) as z:
        for name, data in entries:
            z.writestr(name, data)
    return file.getvalue()


files = {
    "savez": recorded(saved(np.savez, **arrays), arrays),
    "savez_compressed": recorded(saved(np.savez_compressed, **arrays), arrays),
    "positional": recorded(saved(np.savez, np.arange(3, dtype="f4"), np.ones(2, dtype="u1")), {"arr_0": np.arange(3, dtype="f4"), "arr_1": np.ones(2, dtype="u1")}),
    "no arrays": recorded(saved(np.savez), {}),
    "zeros": recorded(saved(np.savez_compressed, **zeros), zeros),
}
zipfile.ZIP64_LIMIT = 100
files["zip64"] = recorded(saved(np.savez_compressed, **arrays), arrays)
zipfile.ZIP64_LIMIT = (1 << 31) - 1
npy = saved(np.save, np.arange(3, dtype="f4"))
refused = {
    "object": saved(np.savez, a=np.array([{}], dtype=object)),
    "text": saved(np.savez, a=np.array(["ab"])),
    "bzip2": repacked(("a.npy", npy), level=zipfile.ZIP_BZIP2),
}
other = recorded(repacked(("a.npy", npy), ("notes.txt", b"hello")), {"a": np.arange(3, dtype="f4")})
target = Path(__file__).parent / "files.json"
encoded = {name: base64.b64encode(file).decode() for name, file in refused.items()}
target.write_text(json.dumps({"files": files, "refused": encoded, "other": other}, indent=1) + "\n")
