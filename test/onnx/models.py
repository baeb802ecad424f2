"""Records PyTorch's exports of small models with their results as test/onnx/models.json.gz.

    VENV/bin/python test/onnx/models.py        (PyTorch 2.15 and the packages of requirements.txt)
"""

import base64
import gzip
import io
import json
import pathlib
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.second = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ReLU())
        self.third = nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1, groups=4), nn.GroupNorm(4, 16), nn.Hardswish())
        self.last = nn.Linear(16, 5)

    def forward(self, x):
        x = self.first(x)
        x = self.third(x + self.second(x))
        x = nn.functional.interpolate(x, scale_factor=2, mode="bilinear")
        return self.last(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        layer = nn.TransformerEncoderLayer(16, 4, 24, 0.0, batch_first=True, activation="gelu")
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.last = nn.Linear(16, 20)

    def forward(self, tokens):
        h = self.embedding(tokens) + torch.arange(tokens.shape[1]).float()[None, :, None] * 0.01
        return self.last(self.layers(h)).log_softmax(-1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 5, 2, bidirectional=True)
        self.gru = nn.GRU(10, 7)
        self.rnn = nn.RNN(7, 4)

    def forward(self, x):
        return self.rnn(self.gru(self.lstm(x)[0])[0])


class Mixed(nn.Module):
    def forward(self, x):
        products = torch.einsum("bij,bkj->bik", x, x)
        marks = torch.zeros_like(x).scatter(2, x.argsort(-1)[:, :, :2], 1.0)
        stacked = torch.stack([x, x.roll(1, 1)], 1).permute(0, 2, 1, 3).reshape(x.shape[0], -1)
        padded = nn.functional.pad(torch.where(x > 0, x, x * 0.1), (1, 2), mode="reflect")
        return x.topk(3, -1)[0], x.cumsum(1), padded, products, x.std(-1), x[:, ::2, -3:], stacked, marks, x.clamp(-0.5, 0.5), x.norm(dim=-1), torch.tril(products)


def record(name, model, x, axes):
    model.eval()
    with torch.no_grad():
        results = model(x)
    results = results if isinstance(results, tuple) else (results,)
    file = io.BytesIO()
    names = [f"y{i}" for i in range(len(results))]
    torch.onnx.export(model, (x,), file, opset_version=17, input_names=["x"], output_names=names, dynamic_axes={"x": axes}, dynamo=False)
    return {
        "name": name,
        "model": base64.b64encode(file.getvalue()).decode(),
        "x": {"dtype": str(x.dtype).removeprefix("torch."), "shape": list(x.shape), "data": x.flatten().tolist()},
        "y": [{"shape": list(y.shape), "data": y.double().flatten().tolist()} for y in results],
    }


models = [
    record("residual network", Residual(), torch.randn(2, 3, 32, 32), {0: "n"}),
    record("transformer", Transformer(), torch.randint(0, 20, (2, 7)), {0: "n", 1: "t"}),
    record("recurrent layers", Recurrent(), torch.randn(4, 3, 6), {0: "t", 1: "n"}),
    record("mixed operations", Mixed(), torch.randn(2, 6, 7), {0: "n"}),
]
target = pathlib.Path(__file__).parent / "models.json.gz"
with open(target, "wb") as f, gzip.GzipFile(filename="", fileobj=f, mode="wb", compresslevel=9, mtime=0) as z:
    z.write(json.dumps(models).encode())
print(f"{target.stat().st_size / 1024:.0f} KiB: {target}")
