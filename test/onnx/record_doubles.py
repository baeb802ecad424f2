"""Records layers of float64 as test/onnx/doubles.jsonl.gz, with results of PyTorch or of numpy's formulas in float64.

    python3 -m venv VENV && VENV/bin/pip install -r test/onnx/requirements.txt onnxruntime torch
    VENV/bin/python test/onnx/record_doubles.py
"""

import torch
import torch.nn.functional as F
from runtime_cases import Cases, np, pathlib

r = np.random.RandomState(0)
cases = Cases("", 21)


def f(*shape):
    return r.standard_normal(shape)


def add(name, inputs, expected, **attributes):
    cases.add(name, inputs, attributes=attributes, expected=[np.asarray(expected, np.float64)], rtol=1e-12, atol=1e-12)


t = torch.tensor

x, w, b = f(2, 4, 6, 5), f(6, 4, 3, 2), f(6)
add("Conv", [x, w, b], F.conv2d(t(x), t(w), t(b)), kernel_shape=[3, 2])
add("Conv, strides, dilations, pads", [x, w], F.conv2d(F.pad(t(x), (0, 2, 1, 1)), t(w), stride=(2, 1), dilation=(1, 2)), strides=[2, 1], dilations=[1, 2], pads=[1, 0, 1, 2])
w = f(6, 2, 3, 3)
add("Conv, groups, same", [x, w, b], F.conv2d(t(x), t(w), t(b), padding=1, groups=2), group=2, auto_pad="SAME_UPPER")
w = f(8, 1, 2, 2)
add("Conv, depthwise", [x, w], F.conv2d(t(x), t(w), groups=4), group=4)
x1, w1 = f(1, 3, 9), f(2, 3, 4)
add("Conv, one axis", [x1, w1], F.conv1d(t(x1), t(w1), padding=2, stride=3), pads=[2, 2], strides=[3])
x3, w3 = f(1, 2, 3, 4, 3), f(3, 2, 2, 2, 2)
add("Conv, three axes", [x3, w3], F.conv3d(t(x3), t(w3)))
far = f(1, 1, 3, 3) * 1e200
add("Conv, beyond float32", [far, f(1, 1, 1, 1) * 0 + 1e-100], far * 1e-100)

w, b = f(4, 3, 3, 2), f(3)
add("ConvTranspose", [x, w, b], F.conv_transpose2d(t(x), t(w), t(b)))
add("ConvTranspose, strides, pads", [x, w, b], F.conv_transpose2d(t(x), t(w), t(b), stride=(2, 3), padding=(1, 1), output_padding=(1, 2)), strides=[2, 3], pads=[1, 1, 1, 1], output_padding=[1, 2])
w = f(4, 3, 3, 2)
add("ConvTranspose, groups, dilations", [x, w], F.conv_transpose2d(t(x), t(w), groups=2, dilation=(2, 1)), group=2, dilations=[2, 1])

add("AveragePool", [x], F.avg_pool2d(t(x), (3, 2), stride=(2, 1)), kernel_shape=[3, 2], strides=[2, 1])
add("AveragePool, pads", [x], F.avg_pool2d(t(x), 3, stride=2, padding=1, count_include_pad=False), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
add("AveragePool, pads that count", [x], F.avg_pool2d(t(x), 3, stride=2, padding=1), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4, count_include_pad=1)
add("AveragePool, ceil", [x], F.avg_pool2d(t(x), 2, stride=2, ceil_mode=True), kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
add("MaxPool", [x], F.max_pool2d(t(x), 3, stride=2, padding=1), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
add("MaxPool, dilations", [x], F.max_pool2d(t(x), 2, stride=1, dilation=2), kernel_shape=[2, 2], dilations=[2, 2])
nan = x.copy()
nan[0, 0, 2, 2] = np.nan
add("MaxPool, NaN", [nan], F.max_pool2d(t(nan), 2, stride=1), kernel_shape=[2, 2])
add("LpPool", [x], F.avg_pool2d(t(np.abs(x) ** 3), 2, stride=1, divisor_override=1).numpy() ** (1 / 3), kernel_shape=[2, 2], p=3)
add("GlobalAveragePool", [x], x.mean((2, 3), keepdims=True))
add("GlobalMaxPool", [x], x.max((2, 3), keepdims=True))
add("GlobalLpPool", [x], (x**2).sum((2, 3), keepdims=True) ** 0.5)

s, o, m, v = f(4), f(4), f(4), np.abs(f(4))
add("BatchNormalization", [x, s, o, m, v], F.batch_norm(t(x), t(m), t(v), t(s), t(o), eps=2**-10), epsilon=2**-10)
add("InstanceNormalization", [x, s, o], F.instance_norm(t(x), weight=t(s), bias=t(o)))
add("GroupNormalization", [x, s, o], F.group_norm(t(x), 2, t(s), t(o)), num_groups=2)
s, o = f(5), f(5)
add("LayerNormalization", [x, s, o], F.layer_norm(t(x), [5], t(s), t(o)))
s, o = f(6, 5), f(6, 5)
add("LayerNormalization, two axes", [x, s, o], F.layer_norm(t(x), [6, 5], t(s), t(o), eps=2**-7), axis=2, epsilon=2**-7)

cases.write(pathlib.Path(__file__).with_name("doubles.jsonl.gz"))
