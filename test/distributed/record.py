"""Records 100 losses of PyTorch's DistributedDataParallel over Gloo, two ranks: python test/distributed/record.py > test/distributed/ddp-losses.json"""

import json
import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

STEPS, PART, RANKS = 100, 4, 2


def batch(step, rank):
    n = torch.arange(PART) + rank * PART + step * PART * RANKS
    x = torch.sin(n[:, None].double() * 1.3 + torch.arange(6)[None].double() * 0.7).float()
    return x, (x[:, 0] > 0).long() + (x[:, 1] > 0.5).long()


def network():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 3))


def run(rank, port, queue):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    model = torch.nn.parallel.DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    losses = []
    for step in range(STEPS):
        x, y = batch(step, rank)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    queue.put((rank, losses))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    queue = mp.get_context("spawn").SimpleQueue()
    context = mp.start_processes(run, (port, queue), RANKS, join=False, start_method="spawn")
    found = dict(queue.get() for _ in range(RANKS))
    context.join()
    state = {name: t.tolist() for name, t in network().state_dict().items()}
    json.dump({"torch": torch.__version__, "state": state, "losses": [found[r] for r in range(RANKS)]}, sys.stdout)
    print()
