"""Records 100 losses of PyTorch's sharded training over Gloo, two and four ranks, the mean over ranks: fully_shard with and without resharding after forward,
and ZeroRedundancyOptimizer. python test/distributed/record-sharded.py > test/distributed/sharded-losses.json"""

import json
import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer

STEPS, BATCH = 100, 8
KINDS = ("fullyShard", "zero2", "zero1")


def batch(step, rank, ranks):
    part = BATCH // ranks
    n = torch.arange(part) + rank * part + step * BATCH
    x = torch.sin(n[:, None].double() * 1.3 + torch.arange(6)[None].double() * 0.7).float()
    return x, (x[:, 0] > 0).long() + (x[:, 1] > 0.5).long()


def network():
    torch.manual_seed(5)
    return torch.nn.Sequential(torch.nn.Linear(6, 9), torch.nn.LayerNorm(9), torch.nn.GELU(), torch.nn.Linear(9, 3))


def training(kind):
    model = network()
    if kind == "zero1":
        ddp = torch.nn.parallel.DistributedDataParallel(model)
        return ddp, ZeroRedundancyOptimizer(ddp.parameters(), torch.optim.AdamW, lr=0.02, weight_decay=0.1)
    for layer in (model[0], model[1], model[3]):
        fully_shard(layer, reshard_after_forward=kind == "fullyShard")
    fully_shard(model, reshard_after_forward=kind == "fullyShard")
    return model, torch.optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.1)


def run(rank, port, ranks, queue):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    for kind in KINDS:
        model, optimizer = training(kind)
        losses = []
        for step in range(STEPS):
            x, y = batch(step, rank, ranks)
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total = loss.detach().clone()
            dist.all_reduce(total)
            losses.append(round(total.item() / ranks, 7))
        if rank == 0:
            queue.put((kind, losses))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    losses = {}
    for ranks in (2, 4):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        queue = mp.get_context("spawn").SimpleQueue()
        context = mp.start_processes(run, (port, ranks, queue), ranks, join=False, start_method="spawn")
        losses[ranks] = dict(queue.get() for _ in KINDS)
        context.join()
    state = {name: t.tolist() for name, t in network().state_dict().items()}
    json.dump({"torch": torch.__version__, "state": state, "losses": losses}, sys.stdout)
    print()
