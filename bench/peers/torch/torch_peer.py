#!/usr/bin/env python3
"""The shapes and training steps of bench/device in PyTorch on CUDA, float32 with TF32 off. Prints one line of JSON.

Every measurement is guarded: one that fails becomes an entry of "failures"."""
import json
import statistics
import sys
import time
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.filterwarnings("ignore")
DEVICE = "cuda"


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.norm2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.shortcut = None if stride == 1 else nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64)
        blocks, inputs = [], 64
        for stage in range(4):
            for block in range(2):
                outputs = 64 << stage
                blocks.append(Block(inputs, outputs, 2 if stage and not block else 1))
                inputs = outputs
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(512, 10)

    def forward(self, x):
        return self.head(self.blocks(F.relu(self.norm(self.conv(x)))).mean((2, 3)))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(128, 4, 512, 0.0, "gelu", batch_first=True) for _ in range(2))
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


def quickstart():
    return nn.Sequential(nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10))


def mlp():
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def lenet():
    return nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5, padding=2), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 49, 10))


CASES = {
    "quickstart": (quickstart, (64, 1, 28, 28), "adam"),
    "mlp": (mlp, (64, 784), "sgd"),
    "lenet": (lenet, (64, 1, 28, 28), "adam"),
    "resnet": (ResNet, (16, 3, 32, 32), "sgd"),
    "encoder": (Encoder, (8, 64, 128), "adam"),
}


def make(name, compiled=False, capturable=False):
    torch.manual_seed(0)
    build, shape, kind = CASES[name]
    network = build().to(DEVICE).train()
    x = torch.randn(*shape, device=DEVICE)
    y = torch.arange(shape[0], device=DEVICE) % 10
    if kind == "sgd":
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    else:
        optimizer = torch.optim.Adam(network.parameters(), lr=0.001, capturable=capturable)
    forward = torch.compile(network) if compiled else network
    update = torch.compile(lambda: optimizer.step()) if compiled else optimizer.step

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(forward(x), y)
        loss.backward()
        update()
        return loss

    return step


def captured(step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(4):
            step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def step_ms(step, least=0.3):
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    count = max(10, min(2000, int(least / max((time.perf_counter() - start) / 5, 1e-6))))
    rounds = []
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            step()
        torch.cuda.synchronize()
        rounds.append((time.perf_counter() - start) / count * 1e3)
    return min(rounds)


def kernel_ms(once, least=0.1):
    """The median of five rounds of many launches queued behind each other."""
    for _ in range(3):
        once()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(4):
        once()
    torch.cuda.synchronize()
    count = max(4, min(5000, int(least / ((time.perf_counter() - start) / 4))))
    rounds = []
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            once()
        torch.cuda.synchronize()
        rounds.append((time.perf_counter() - start) / count * 1e3)
    return statistics.median(rounds)


def kernels(add):
    for n in (512, 1024, 2048, 8192):
        a, b = torch.rand(n, n, device=DEVICE), torch.rand(n, n, device=DEVICE)
        add(f"gemm float32 {n}", 2 * n**3 / kernel_ms(lambda: a @ b) / 1e9, "TFLOP/s")
    for batch, channels, size, kernel in ((8, 64, 56, 3), (8, 256, 56, 1)):
        x = torch.rand(batch, channels, size, size, device=DEVICE)
        w = torch.rand(channels, channels, kernel, kernel, device=DEVICE)
        add(f"conv2d float32 {batch}x{channels}x{size}x{size} {kernel}x{kernel}", kernel_ms(lambda: F.conv2d(x, w, padding=kernel // 2)), "ms")
    for batch, n in ((1, 1024), (64, 1024), (1, 65536), (16, 65536)):
        z = torch.rand(batch, n, dtype=torch.complex64, device=DEVICE)
        x = torch.rand(batch, n, device=DEVICE)
        add(f"fft complex64 {batch}x{n}", kernel_ms(lambda: torch.fft.fft(z)), "ms")
        add(f"rfft float32 {batch}x{n}", kernel_ms(lambda: torch.fft.rfft(x)), "ms")
    n = 64 << 20
    a, b = torch.rand(n, device=DEVICE), torch.rand(n, device=DEVICE)
    for name, moved, once in (("add", 3, lambda: a + b), ("relu", 2, lambda: F.relu(a)), ("clone", 2, lambda: a.clone()), ("sum", 1, lambda: a.sum())):
        add(f"{name} float32 {n}", moved * 4 * n / kernel_ms(once) / 1e6, "GB/s")
    one = torch.ones(16, device=DEVICE)
    count = 20000
    for name, dependent in (("add of 16, dependent chain, wall", True), ("add of 16, independent, wall", False)):
        for _ in range(2):
            x = torch.zeros(16, device=DEVICE)
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(count):
                x = (x if dependent else one) + one
            torch.cuda.synchronize()
            elapsed = time.perf_counter() - start
        add(name, elapsed / count * 1e6, "us per call")


def main():
    if not torch.cuda.is_available():
        sys.exit("no CUDA device")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    figures, steps, failures = [], {}, []

    def attempt(name, once):
        try:
            return once()
        except Exception as error:  # one failed measurement is reported, not the end of all
            failures.append({"name": name, "message": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"})
            return None

    attempt("kernels", lambda: kernels(lambda name, value, unit: figures.append({"name": name, "value": value, "unit": unit})))
    for name in CASES:
        steps[name] = {
            "eager": attempt(f"{name} eager", lambda: step_ms(make(name))),
            "cudaGraph": attempt(f"{name} CUDA graph", lambda: step_ms(captured(make(name, capturable=True)))),
        }
        if "--compile" in sys.argv:
            torch._dynamo.reset()
            steps[name]["compiled"] = attempt(f"{name} torch.compile", lambda: step_ms(captured(make(name, compiled=True, capturable=True))))
    print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda, "device": torch.cuda.get_device_name(), "kernels": figures,
                      "steps": steps, "failures": failures}))


if __name__ == "__main__":
    main()
