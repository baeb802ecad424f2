"""Records ONNX's own tests, those of single nodes as test/onnx/cases.jsonl.gz.

    python3 -m venv VENV && VENV/bin/pip install -r test/onnx/requirements.txt
    VENV/bin/python test/onnx/record.py [--odd] [FILE]
    VENV/bin/python test/onnx/record.py --kinds light,pytorch-converted,pytorch-operator,simple FILE

Takes the node cases whose names hash (FNV-1a, 32 bits, of the name's UTF-8 bytes) to an even number; with --odd, the others; with --kinds, all
models of these kinds that the package contains.
The first line of the archive is a list of TensorProtos (base64), each once; every further line is a case:
{name, rtol, atol, model (base64), sets: [{inputs, outputs}]}, where a value is the number of a TensorProto, a list of values
(a sequence), or null (an optional that is not there).
"""

import argparse
import base64
import gzip
import itertools
import json
import pathlib
import typing
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


class Recorded(typing.NamedTuple):
    name: str
    rtol: float
    atol: float
    model: onnx.ModelProto
    data_sets: list


def node_cases(parity: int):
    from onnx.backend.test.case.node import collect_testcases

    for case in collect_testcases():
        if fnv1a(case.name) % 2 == parity:
            yield Recorded(case.name, case.rtol, case.atol, case.model, case.data_sets)


def read_value(path: pathlib.Path, kind: onnx.TypeProto):
    """A value of a file, of the type that the model states."""
    data = path.read_bytes()
    if kind.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return onnx.TensorProto.FromString(data)


def model_cases(kind: str):
    """Models that the package contains with their inputs and outputs. Those of "light" have one output each, and inputs that ONNX's runner makes."""
    from onnx.backend.test.runner import Runner

    folder = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / kind
    for path in sorted(folder.glob("light_*.onnx")):
        model = onnx.load(path)
        weights = {i.name for i in model.graph.initializer}
        inputs = [i for i in model.graph.input if i.name not in weights]
        del model.graph.input[:]
        model.graph.input.extend(inputs)
        name = path.stem.removeprefix("light_")
        made = [numpy_helper.from_array(Runner.generate_dummy_data(x, seed=0, name=name, random=False)) for x in inputs]
        outputs = [read_value(path.with_name(f"{path.stem}_output_{i}.pb"), o.type) for i, o in enumerate(model.graph.output)]
        yield Recorded(path.stem, 1e-3, 1e-7, model, [(made, outputs)])
    for path in sorted(folder.glob("*/model.onnx")):
        model = onnx.load(path)
        sets = []
        for data in sorted(path.parent.glob("test_data_set_*")):
            inputs = [read_value(data / f"input_{i}.pb", x.type) for i, x in enumerate(model.graph.input) if (data / f"input_{i}.pb").exists()]
            sets.append((inputs, [read_value(data / f"output_{i}.pb", x.type) for i, x in enumerate(model.graph.output)]))
        options = path.with_name("data.json")
        tolerances = json.loads(options.read_text()) if options.exists() else {}
        # Weights with values are inputs, too, in early files.
        given = len(sets[0][0])
        rest = list(model.graph.input)[:given]
        del model.graph.input[:]
        model.graph.input.extend(rest)
        yield Recorded(path.parent.name, tolerances.get("rtol", 1e-3), tolerances.get("atol", 1e-7), model, sets)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--odd", action="store_true")
    parser.add_argument("--kinds", default="")
    parser.add_argument("file", nargs="?", default=pathlib.Path(__file__).parent / "cases.jsonl.gz")
    arguments = parser.parse_args()
    target = pathlib.Path(arguments.file)

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
    kinds = [kind for kind in arguments.kinds.split(",") if kind]
    cases = itertools.chain.from_iterable(map(model_cases, kinds)) if kinds else node_cases(int(arguments.odd))
    for case in cases:
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
