"""Cases of single nodes whose results ONNX Runtime computes, in the format of cases.jsonl.gz (see record.py)."""

import base64
import gzip
import json
import pathlib

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper


def text(b: bytes) -> str:
    return base64.b64encode(b).decode()


class Cases:
    def __init__(self, domain: str, version: int):
        self.domain, self.version = domain, version
        self.tensors: dict[bytes, int] = {}
        self.lines: list[dict] = []

    def value(self, array) -> int:
        t = array if isinstance(array, onnx.TensorProto) else numpy_helper.from_array(np.asarray(array))
        return self.tensors.setdefault(t.SerializeToString(deterministic=True), len(self.tensors))

    def add(self, name, inputs, outputs=1, attributes=None, constants=(), rtol=1e-4, atol=1e-5, expected=None, op=None, domain=None, wanted=None):
        """inputs: arrays, None for one that is left out. constants: indices of those that are initializers. expected: results of a formula
        in numpy, for operators that ONNX Runtime has no kernel for on CPUs. wanted: which outputs are asked for."""
        op = op or name.split(",")[0].split(" ")[0]
        domain = self.domain if domain is None else domain
        names = ["" if x is None else f"i{i}" for i, x in enumerate(inputs)]
        wanted = list(range(outputs)) if wanted is None else wanted
        all_outputs = [f"o{i}" if i in wanted else "" for i in range(max(wanted) + 1)]
        node = helper.make_node(op, names, all_outputs, domain=domain, **(attributes or {}))
        protos = [None if x is None else x if isinstance(x, onnx.TensorProto) else numpy_helper.from_array(np.asarray(x), f"i{i}") for i, x in enumerate(inputs)]
        for i, p in enumerate(protos):
            if p is not None:
                p.name = f"i{i}"
        given = [i for i, x in enumerate(inputs) if x is not None and i not in constants]
        graph = lambda results: helper.make_graph(
            [node],
            "g",
            [helper.make_tensor_value_info(f"i{i}", protos[i].data_type, list(protos[i].dims)) for i in given],
            results,
            [protos[i] for i in constants if protos[i] is not None],
        )
        opsets = [helper.make_opsetid("", 21)] + ([helper.make_opsetid(domain, self.version)] if domain else [])
        if expected is None:
            untyped = [onnx.ValueInfoProto(name=f"o{i}") for i in wanted]
            options = ort.SessionOptions()
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.log_severity_level = 4
            made = helper.make_model(graph(untyped), opset_imports=opsets, ir_version=10)
            try:
                session = ort.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
                results = session.run(None, {f"i{i}": numpy_helper.to_array(protos[i]) for i in given})
            except Exception as error:
                raise RuntimeError(f"{name}: {error}") from error
        else:
            results = expected
        typed = [helper.make_tensor_value_info(f"o{i}", helper.np_dtype_to_tensor_dtype(np.asarray(r).dtype), np.asarray(r).shape) for i, r in zip(wanted, results, strict=True)]
        model = helper.make_model(graph(typed), opset_imports=opsets, ir_version=10, producer_name="")
        if any(c["name"] == name for c in self.lines):
            raise ValueError(f"two cases {name}")
        sets = [{"inputs": [self.value(strip(protos[i])) for i in given], "outputs": [self.value(r) for r in results]}]
        self.lines.append({"name": name, "rtol": rtol, "atol": atol, "model": text(model.SerializeToString(deterministic=True)), "sets": sets})

    def write(self, target: pathlib.Path) -> None:
        body = "\n".join(json.dumps(x, separators=(",", ":")) for x in [[text(t) for t in self.tensors], *self.lines]) + "\n"
        with open(target, "wb") as f, gzip.GzipFile(filename="", fileobj=f, mode="wb", compresslevel=9, mtime=0) as z:
            z.write(body.encode())
        print(f"{len(self.lines)} cases, {len(self.tensors)} tensors, {target.stat().st_size / 1024:.0f} KiB: {target}")


def strip(t: onnx.TensorProto) -> onnx.TensorProto:
    copy = onnx.TensorProto()
    copy.CopyFrom(t)
    copy.ClearField("name")
    return copy


def narrow(data_type: int, shape, values) -> onnx.TensorProto:
    """A tensor of a type that numpy has none for."""
    return helper.make_tensor("", data_type, shape, values)


__all__ = ["Cases", "narrow", "np", "TensorProto", "pathlib"]
