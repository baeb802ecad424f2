#!/usr/bin/env python3
"""One rank, or one process without a group, of rank.ts's job "network" in PyTorch: eager steps, one thread. Takes the job, prints its answer."""
import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers" / "torch"))
from torch_peer import CASES  # noqa: E402

job = json.loads(sys.argv[1])
torch.set_num_threads(1)
is_parallel = "WORLD_SIZE" in os.environ
if is_parallel:
    dist.init_process_group("gloo")
torch.manual_seed(0)
build, shape, kind = CASES[job["network"]]
network = build().train()
if is_parallel:
    network = torch.nn.parallel.DistributedDataParallel(network, broadcast_buffers=False)
x = torch.randn(job["batch"], *shape[1:])
y = torch.arange(job["batch"]) % 10
if kind == "sgd":
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
else:
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)


def measure(steps):
    start, before = time.perf_counter(), time.process_time()
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        loss.item()
    return (time.perf_counter() - start) / steps, (time.process_time() - before) / steps


def meet(folder, processes):
    files = [pathlib.Path(folder, f"begin.{i}") for i in range(processes)]
    files[int(os.environ["PROCESS"])].touch()
    while not all(file.exists() for file in files):
        time.sleep(0.001)


measure(2)
count = max(2, round(job["seconds"] / measure(1)[0]))
if is_parallel:
    agreed = torch.tensor([count])
    dist.all_reduce(agreed, dist.ReduceOp.MIN)
    count = int(agreed)
if job["meeting"] is not None:
    meet(**job["meeting"])
wall, processor = measure(count)
print(json.dumps({"wall": [wall], "processor": [processor]}))
if is_parallel:
    dist.destroy_process_group()
