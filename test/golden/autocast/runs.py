"""
Records training runs of PyTorch's autocast:

    python test/golden/autocast/runs.py      # torch 2.15 on the CPU

Writes runs.json.gz next to this file: for each network its first parameters, its batches, and the losses of 24 steps of SGD in float32, float16 and
bfloat16. torch.autocast("cpu") has other lists than CUDA's, which dxtensor has: where they differ (layer norm, softmax), the network casts as
CUDA's lists do. Losses in float16 use GradScaler with its factor fixed.
"""
import base64
import gzip
import json
import os

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)
torch.set_num_threads(1)
STEPS, BATCHES = 24, 3


def mlp():
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3))
    batches = [(torch.randn(16, 8), torch.randn(16, 3)) for _ in range(BATCHES)]
    return model, lambda x, y: F.mse_loss(model(x), y), batches, 0.3


def conv():
    model = nn.Sequential(nn.Conv2d(2, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 5))
    batches = [(torch.randn(8, 2, 8, 8), torch.randint(0, 5, (8,))) for _ in range(BATCHES)]
    return model, lambda x, y: F.cross_entropy(model(x), y), batches, 0.05


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 16)
        self.norm1 = nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 16)
        self.norm2 = nn.LayerNorm(16)
        self.up = nn.Linear(16, 32)
        self.down = nn.Linear(32, 16)
        self.head = nn.Linear(16, 11)

    def forward(self, x):
        h = self.embedding(x)
        q, k, v = (t.reshape(t.shape[0], t.shape[1], 2, 8).transpose(1, 2) for t in self.qkv(norm(self.norm1, h)).chunk(3, -1))
        scores = torch.matmul(q, k.transpose(-1, -2)) * 8 ** -0.5
        seen = torch.matmul(F.softmax(scores.float(), -1), v)
        h = h + self.out(seen.transpose(1, 2).flatten(2))
        return self.head(h + self.down(F.gelu(self.up(norm(self.norm2, h)))))


def norm(layer, x):
    """layer_norm in float32, as on CUDA's list."""
    return F.layer_norm(x.float(), layer.normalized_shape, layer.weight, layer.bias, layer.eps)


def transformer():
    model = Block()
    batches = [(torch.randint(0, 11, (4, 6)), torch.randint(0, 11, (4, 6))) for _ in range(BATCHES)]
    return model, lambda x, y: F.cross_entropy(model(x).flatten(0, 1).float(), y.flatten()), batches, 0.5


def packed(t):
    t = t.detach().contiguous()
    return {"dtype": str(t.dtype)[6:], "shape": list(t.shape), "data": base64.b64encode((t.to(torch.int32) if t.dtype == torch.int64 else t).numpy().tobytes()).decode()}


def run(make, dtype):
    torch.manual_seed(7)
    model, loss_of, batches, lr = make()
    first = {n: packed(p) for n, p in model.named_parameters()}
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    scale = 1024.0 if dtype == torch.float16 else 1.0
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            loss = loss_of(*batches[step % BATCHES])
        (loss * scale).backward()
        for p in model.parameters():
            p.grad /= scale
        optimizer.step()
        losses.append(loss.item())
    return first, [[packed(x), packed(y)] for x, y in batches], lr, losses


def main():
    rows = {}
    for make in (mlp, conv, transformer):
        losses = {}
        for name, dtype in (("float32", None), ("float16", torch.float16), ("bfloat16", torch.bfloat16)):
            first, batches, lr, losses[name] = run(make, dtype)
        rows[make.__name__] = {"lr": lr, "first": first, "batches": batches, "losses": losses}
        print(make.__name__, {n: (l[0], l[-1], max(abs(a - b) for a, b in zip(l, losses["float32"]))) for n, l in losses.items()})
    text = json.dumps({"torch": torch.__version__, "runs": rows}, separators=(",", ":")).encode()
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "runs.json.gz"), "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
        z.write(text)


main()
