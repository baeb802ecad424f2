"""Records averages of weights, SWALR and updated statistics: python record-swa.py > swa.json (torch 2.15)."""
import json
import torch
from torch import nn
from torch.optim import swa_utils as swa


def model():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_((torch.arange(p.numel()).reshape(p.shape) + i) * 0.1 - 0.2)
    return net


def batch(step):
    return torch.sin(torch.arange(8.0).reshape(4, 2) * 0.7 + step)


def run(make):
    net = model()
    averaged = make(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    schedule = swa.SWALR(optimizer, swa_lr=0.02, anneal_epochs=8)
    after = []
    for step in range(50):
        loss = (net(batch(step)) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        averaged.update_parameters(net)
        if step in (0, 1, 9, 49):
            after.append({k: v.flatten().tolist() for k, v in averaged.state_dict().items()})
    swa.update_bn([[batch(i), None] for i in range(3)], averaged)
    buffers = {k: v.flatten().tolist() for k, v in averaged.named_buffers()}
    return dict(after=after, updated=buffers)


def rates(**options):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
    schedule = swa.SWALR(optimizer, **options)
    out = []
    for _ in range(14):
        out.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return out


print(json.dumps(dict(
    swa=run(lambda m: swa.AveragedModel(m)),
    ema=run(lambda m: swa.AveragedModel(m, multi_avg_fn=swa.get_ema_multi_avg_fn(0.9))),
    emaBuffers=run(lambda m: swa.AveragedModel(m, avg_fn=swa.get_ema_avg_fn(0.8), use_buffers=True)),
    cos=rates(swa_lr=0.05, anneal_epochs=6),
    linear=rates(swa_lr=0.05, anneal_epochs=6, anneal_strategy="linear"),
    none=rates(swa_lr=0.05, anneal_epochs=0),
)))
