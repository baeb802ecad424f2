"""Records networks as ONNX Runtime optimizes them for this machine, with their results, as test/onnx/channel-blocks.json.gz.

    python3 -m venv VENV && VENV/bin/pip install -r test/onnx/requirements.txt onnxruntime
    VENV/bin/python test/onnx/record_channel_blocks.py

On a CPU with AVX-512, or an arm64, blocks have 16 channels, on others 8.
"""

import base64
import collections
import gzip
import json
import pathlib
import tempfile

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, load_from_string, numpy_helper

r = np.random.RandomState(0)


class Net:
    def __init__(self, *shape):
        self.nodes, self.weights, self.count = [], [], 0
        self.shape = shape

    def add(self, kind, inputs, **attributes):
        self.count += 1
        name = f"v{self.count}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=f"{kind}{self.count}", **attributes))
        return name

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def conv(self, x, i, o, k=3, group=1, bias=True, **attributes):
        w = self.weight(r.standard_normal((o, i // group, k, k)) / np.sqrt(i // group * k * k))
        inputs = [x, w] + ([self.weight(r.standard_normal(o))] if bias else [])
        return self.add("Conv", inputs, group=group, kernel_shape=[k, k], pads=[k // 2] * 4, **attributes)

    def record(self, y):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        out = helper.make_tensor_value_info(y, TensorProto.FLOAT, None)
        model = helper.make_model(helper.make_graph(self.nodes, "g", [x], [out], self.weights), opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        data = r.standard_normal(self.shape).astype(np.float32)
        plain = onnxruntime.SessionOptions()
        plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        [wanted] = onnxruntime.InferenceSession(model.SerializeToString(), plain).run(None, {"x": data})
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "model.onnx"
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
            options.optimized_model_filepath = str(file)
            options.log_severity_level = 3
            onnxruntime.InferenceSession(model.SerializeToString(), options)
            blocked = file.read_bytes()
        kinds = collections.Counter(n.op_type for n in load_from_string(blocked).graph.node if n.domain == "com.microsoft.nchwc")
        text = lambda a: base64.b64encode(a).decode()
        return {
            "model": text(blocked), "operators": dict(kinds), "y": y,
            "input": text(data.tobytes()), "shape": list(self.shape), "wanted": text(wanted.tobytes()), "wantedShape": list(wanted.shape),
        }


def convolutions():
    n = Net(2, 3, 12, 11)
    a = n.add("Relu", [n.conv("x", 3, 24, strides=[2, 2])])
    b = n.conv(a, 24, 24, group=24)
    c = n.add("Add", [n.conv(n.add("Relu", [b]), 24, 24, 1), a])
    d = n.add("Sigmoid", [n.conv(c, 24, 40, 1, bias=False)])
    return n.record(n.add("Clip", [n.conv(d, 40, 20), n.weight(np.array(-0.5)), n.weight(np.array(0.75))]))


def groups():
    n = Net(1, 32, 7, 7)
    a = n.conv("x", 32, 64, 3, group=2, dilations=[2, 2])
    return n.record(n.add("LeakyRelu", [n.conv(a, 64, 24, 1)], alpha=0.1))


def pools():
    n = Net(1, 3, 17, 16)
    a = n.conv("x", 3, 48)
    b = n.add("MaxPool", [a], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    c = n.add("AveragePool", [a], kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 0])
    d = n.add("AveragePool", [a], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1)
    e = n.add("Concat", [b, c, d], axis=1)
    f = n.add("Add", [n.add("GlobalAveragePool", [n.conv(e, 144, 32, 1)]), n.add("GlobalMaxPool", [n.conv(e, 144, 32, 1)])])
    return n.record(n.conv(f, 32, 24, 1))


def upsampled(mode, scale, transform):
    n = Net(1, 3, 5, 6)
    a = n.conv("x", 3, 24)
    more = {"nearest_mode": "floor"} if mode == "nearest" else {}
    b = n.add("Resize", [a, "", n.weight(np.array([1, 1, scale, 2]))], mode=mode, coordinate_transformation_mode=transform, **more)
    return n.record(n.conv(b, 24, 8))


def ambiguous():
    n = Net(1, 3, 8, 8)
    return n.record(n.conv(n.add("Relu", [n.conv("x", 3, 16)]), 16, 32))


cases = {
    "convolutions": convolutions(),
    "groups": groups(),
    "pools": pools(),
    "nearest": upsampled("nearest", 3, "asymmetric"),
    "linear, half pixel": upsampled("linear", 2, "half_pixel"),
    "linear, align corners": upsampled("linear", 2, "align_corners"),
    "linear, asymmetric": upsampled("linear", 3, "asymmetric"),
    "multiples of 16": ambiguous(),
}
file = pathlib.Path(__file__).with_name("channel-blocks.json.gz")
file.write_bytes(gzip.compress(json.dumps(cases).encode(), mtime=0))
for name, case in cases.items():
    print(name, case["operators"])
