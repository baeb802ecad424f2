"""
Records the losses of 200 training steps of six networks in PyTorch:

    python test/golden/trainings/record.py      # torch 2.15 on the CPU

Writes losses.json.gz next to this file. Weights and batches come from a formula (uniform) that trainings.ts has too. For each network: the losses in
float64; `noise`: for each ten steps the largest relative distance so far between PyTorch's float32 and float64 losses, of a run with oneDNN and one
without; and for the transformer and the MLP the losses under torch.autocast("cpu", bfloat16).
"""
import gzip
import json
import math
import os

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
STEPS, BATCHES, WINDOW = 200, 8, 10


def uniform(n, seed):
    """n multiples of 2^-15 in [-1, 1)."""
    i = torch.arange(n, dtype=torch.int64) + seed * 65537
    h = (i * 0x9E3779B1) & 0xFFFFFFFF
    h = ((h ^ (h >> 15)) * 0x85EBCA6B) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    return ((h >> 16).double() - 32768) / 32768


def begin(model):
    """Matrices: within sqrt(3 / fan-in); biases within 0.1; scales of norms: 1."""
    with torch.no_grad():
        for seed, (name, p) in enumerate(sorted(model.named_parameters(), key=lambda pair: pair[0])):
            values = uniform(p.numel(), 100 + seed).reshape(p.shape)
            if p.ndim > 1:
                values = values * math.sqrt(3 / (p.numel() // p.shape[0]))
            elif name.endswith("weight"):
                values = torch.ones_like(values)
            else:
                values = values * 0.1
            p.copy_(values.float().to(p.dtype))


def real(batch, shape):
    return uniform(math.prod(shape), batch).reshape(shape)


def classes(batch, shape, count):
    return ((uniform(math.prod(shape), 1000 + batch) + 1) / 2 * count).floor().long().reshape(shape)


def mlp():
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 4))
    make = lambda p: (torch.optim.SGD(p, lr=0.05, momentum=0.9), None)
    return model, make, lambda b: (real(b, (16, 16)), real(50 + b, (16, 4))), F.mse_loss, None


def lenet():
    model = nn.Sequential(
        nn.Conv2d(1, 4, 5, padding=2), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 5), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4),
    )
    make = lambda p: (torch.optim.Adam(p, lr=2e-3), None)
    return model, make, lambda b: (real(b, (8, 1, 12, 12)), classes(b, (8,), 4)), F.cross_entropy, None


class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o)
        self.skip = nn.Sequential() if stride == 1 else nn.Sequential(nn.Conv2d(i, o, 1, stride=stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + self.skip(x))


def resnet():
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), Block(8, 8, 1), Block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))

    def make(p):
        optimizer = torch.optim.SGD(p, lr=0.02, momentum=0.9, weight_decay=5e-4)
        return optimizer, torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)

    return model, make, lambda b: (real(b, (8, 3, 8, 8)), classes(b, (8,), 4)), F.cross_entropy, None


class Sequences(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.lstm, self.head = nn.Embedding(12, 8), nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 12)

    def forward(self, x):
        return self.head(self.lstm(self.embedding(x))[0]).flatten(0, 1)


def lstm():
    make = lambda p: (torch.optim.RMSprop(p, lr=3e-3), None)
    return Sequences(), make, lambda b: (classes(b, (8, 10), 12), classes(50 + b, (8, 10), 12)), lambda y, t: F.cross_entropy(y, t.flatten()), 1.0


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(12, 16)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(16, 2, 32, dropout=0, batch_first=True, norm_first=True) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 12)

    def forward(self, x):
        h = self.embedding(x)
        for layer in self.layers:
            h = layer(h)
        return self.head(self.norm(h)).flatten(0, 1)


def transformer():
    def make(p):
        optimizer = torch.optim.AdamW(p, lr=3e-3, weight_decay=0.01)
        return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: min((t + 1) / 20, math.sqrt(20 / (t + 1))))

    return Encoder(), make, lambda b: (classes(b, (4, 8), 12), classes(50 + b, (4, 8), 12)), lambda y, t: F.cross_entropy(y, t.flatten()), None


def autoencoder():
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.GELU(), nn.Conv2d(4, 8, 3, stride=2, padding=1), nn.GELU(),
        nn.ConvTranspose2d(8, 4, 4, stride=2, padding=1), nn.GELU(), nn.ConvTranspose2d(4, 1, 4, stride=2, padding=1), nn.Tanh(),
    )
    make = lambda p: (torch.optim.NAdam(p, lr=3e-3), None)
    return model, make, lambda b: (real(b, (8, 1, 8, 8)), None), F.mse_loss, None


def run(network, dtype, onednn=True, half=False):
    model, make, data, loss_of, clip = network()
    model.to(dtype)
    begin(model)
    optimizer, schedule = make(model.parameters())
    losses = []
    with torch.backends.mkldnn.flags(enabled=onednn):
        for step in range(STEPS):
            x, y = data(step % BATCHES)
            x = x.to(dtype) if x.is_floating_point() else x
            y = x if y is None else y.to(dtype) if y.is_floating_point() else y
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
                found = model(x)
            loss = loss_of(found.to(dtype), y)
            loss.backward()
            if clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            if schedule is not None:
                schedule.step()
            losses.append(loss.item())
    return losses


def main():
    runs = {}
    for network in (mlp, lenet, resnet, lstm, transformer, autoencoder):
        exact = run(network, torch.float64)
        singles = [run(network, torch.float32, onednn) for onednn in (True, False)]
        far = [max(abs(s[i] - exact[i]) / exact[i] for s in singles) for i in range(STEPS)]
        row = {"float64": [float(f"{v:.10g}") for v in exact], "noise": [float(f"{max(far[: i + WINDOW]):.2g}") for i in range(0, STEPS, WINDOW)]}
        if network in (mlp, transformer):
            row["bfloat16"] = [float(f"{v:.6g}") for v in run(network, torch.float32, half=True)]
        runs[network.__name__] = row
        print(network.__name__, exact[0], exact[-1], row["noise"][0], row["noise"][1], row["noise"][-1])
        if "bfloat16" in row:
            print("  bfloat16", max(abs(a - b) / b for a, b in zip(row["bfloat16"][:20], exact)), max(abs(a - b) / b for a, b in zip(row["bfloat16"], exact)))
    text = json.dumps({"torch": torch.__version__, "window": WINDOW, "runs": runs}, separators=(",", ":")).encode()
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "losses.json.gz"), "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
        z.write(text)


main()
