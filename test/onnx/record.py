"""Records ONNX's own node tests as test/onnx/cases.jsonl.gz.

    python3 -m venv VENV && VENV/bin/pip install -r test/onnx/requirements.txt
    VENV/bin/python test/onnx/record.py [--odd] [FILE]

Takes the cases whose names hash (FNV-1a, 32 bits, of the name's UTF-8 bytes) to an even number; with --odd, the others.
The first line of the archive is a list of TensorProtos (base64), each once; every further line is a case:
{name, rtol, atol, model (base64), sets: [{inputs, outputs}]}, where a value is the number of a TensorProto, a list of values
(a sequence), or null (an optional that is not there).
"""

import base64
import gzip
import json
import pathlib
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

warnings.filterwarnings("ignore")


def fnv1a(name: str) -> int:
    h = 0x811C9DC5
    for byte in name.encode():
        h = ((h ^ byte) * 0x01000193) & 0xFFFFFFFF
    return h


def main() -> None:
    arguments = [a for a in sys.argv[1:] if a != "--odd"]
    parity = 1 if "--odd" in sys.argv else 0
    target = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parent / "cases.jsonl.gz")
    from onnx.backend.test.case.node import collect_testcases

    tensors: dict[bytes, int] = {}

    def text(b: bytes) -> str:
        return base64.b64encode(b).decode()

    def value(v, kind):
        if v is None:
            return None
        if kind.HasField("optional_type"):
            return value(v, kind.optional_type.elem_type)
        if kind.HasField("sequence_type"):
            return [value(x, kind.sequence_type.elem_type) for x in v]
        if not isinstance(v, onnx.TensorProto):
            v = numpy_helper.from_array(np.asarray(v))
            # numpy has no types of its own for these: what the model says they are.
            wanted = kind.tensor_type.elem_type
            if v.data_type != wanted:
                raise ValueError(f"an element type of {v.data_type} instead of {wanted}")
        v.ClearField("name")
        return tensors.setdefault(v.SerializeToString(deterministic=True), len(tensors))

    lines = []
    for case in collect_testcases():
        if fnv1a(case.name) % 2 != parity:
            continue
        graph = case.model.graph
        sets = []
        for inputs, outputs in case.data_sets:
            try:
                sets.append(
                    {
                        "inputs": [value(v, i.type) for v, i in zip(inputs, graph.input, strict=True)],
                        "outputs": [value(v, o.type) for v, o in zip(outputs, graph.output, strict=True)],
                    }
                )
            except ValueError as error:
                raise ValueError(f"{case.name}: {error}") from error
        lines.append({"name": case.name, "rtol": case.rtol, "atol": case.atol, "model": text(case.model.SerializeToString(deterministic=True)), "sets": sets})

    body = "\n".join(json.dumps(x, separators=(",", ":")) for x in [[text(t) for t in tensors], *lines]) + "\n"
    with open(target, "wb") as f, gzip.GzipFile(filename="", fileobj=f, mode="wb", compresslevel=9, mtime=0) as z:
        z.write(body.encode())
    print(f"{len(lines)} cases, {len(tensors)} tensors, {target.stat().st_size / 2**20:.2f} MiB: {target}")


main()
