"""Records what PyTorch's optimizers and schedules do: python record.py > runs.json (torch 2.15, float64)."""
import json
import math
import torch
from torch.optim import lr_scheduler as S

STARTS = [[1.0, -2.0, 3.0, 0.5, -0.25], [[0.3, -0.6], [0.9, 1.2]]]
STEPS = 12


def gradient(step, index, like):
    flat = [math.sin(1.7 * step + 0.9 * i + 2.3 * index) * (1 + i) for i in range(like.numel())]
    return torch.tensor(flat, dtype=torch.float64).reshape(like.shape)


RUNS = [
    ("SGD", dict(lr=0.05, momentum=0.9), ("OneCycleLR", dict(max_lr=0.1, total_steps=13))),
    ("SGD", dict(lr=0.05, momentum=0.9, dampening=0.2), ("CyclicLR", dict(base_lr=0.01, max_lr=0.1, step_size_up=3))),
    ("SGD", dict(lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.1), ("CosineAnnealingLR", dict(T_max=5))),
    ("Adam", dict(lr=0.05), ("OneCycleLR", dict(max_lr=0.1, total_steps=13))),
    ("Adam", dict(lr=0.05, amsgrad=True, weight_decay=0.1, maximize=True), ("CyclicLR", dict(base_lr=0.01, max_lr=0.1, step_size_up=3))),
    ("AdamW", dict(lr=0.05), ("OneCycleLR", dict(max_lr=0.1, total_steps=13, three_phase=True, anneal_strategy="linear"))),
    ("Adadelta", dict(lr=0.5, weight_decay=0.1), None),
    ("Adagrad", dict(lr=0.1, lr_decay=0.3, initial_accumulator_value=0.2), ("LinearLR", dict())),
    ("Adagrad", dict(lr=0.1, weight_decay=0.1, maximize=True), None),
    ("Adamax", dict(lr=0.05, weight_decay=0.1), ("OneCycleLR", dict(max_lr=0.1, total_steps=13))),
    ("NAdam", dict(lr=0.05, weight_decay=0.1), ("OneCycleLR", dict(max_lr=0.1, total_steps=13))),
    ("NAdam", dict(lr=0.05, weight_decay=0.1, decoupled_weight_decay=True, momentum_decay=0.05), ("CosineAnnealingWarmRestarts", dict(T_0=4))),
    ("RAdam", dict(lr=0.05), ("OneCycleLR", dict(max_lr=0.1, total_steps=13))),
    ("RAdam", dict(lr=0.05, weight_decay=0.1, decoupled_weight_decay=True, betas=(0.8, 0.95)), None),
    ("ASGD", dict(lr=0.05, t0=4, lambd=0.1), ("ExponentialLR", dict(gamma=0.9))),
    ("ASGD", dict(lr=0.05, weight_decay=0.1), ("ConstantLR", dict())),
    ("RMSprop", dict(lr=0.02, momentum=0.5, centered=True), ("OneCycleLR", dict(max_lr=0.1, total_steps=13))),
    ("RMSprop", dict(lr=0.02, weight_decay=0.1, alpha=0.9), ("StepLR", dict(step_size=3))),
    ("Rprop", dict(lr=0.02), None),
    ("Rprop", dict(lr=0.02, etas=(0.3, 1.5), step_sizes=(1e-3, 0.05), maximize=True), ("ConstantLR", dict())),
]

COMPOSED = {
    "sequential": lambda o: S.SequentialLR(o, [S.ConstantLR(o, factor=0.1, total_iters=20), S.ExponentialLR(o, gamma=0.9), S.StepLR(o, 2)], milestones=[4, 9]),
    "sequential of cosines": lambda o: S.SequentialLR(o, [S.LinearLR(o, total_iters=4), S.CosineAnnealingLR(o, T_max=6)], milestones=[4]),
    "chained": lambda o: S.ChainedScheduler([S.ConstantLR(o, factor=0.1, total_iters=5), S.ExponentialLR(o, gamma=0.9)]),
    "lambda": lambda o: S.LambdaLR(o, lambda t: 0.95**t + 0.1 * t),
    "multiplicative": lambda o: S.MultiplicativeLR(o, lambda t: 1 / (1 + t)),
    "cyclic": lambda o: S.CyclicLR(o, base_lr=0.01, max_lr=0.1, step_size_up=3, step_size_down=4, mode="exp_range", gamma=0.9),
}


def run(name, options, schedule):
    parameters = [torch.nn.Parameter(torch.tensor(s, dtype=torch.float64)) for s in STARTS]
    optimizer = getattr(torch.optim, name)(parameters, **options)
    scheduler = None if schedule is None else getattr(S, schedule[0])(optimizer, **schedule[1])
    after = []
    for step in range(STEPS):
        for i, p in enumerate(parameters):
            # The second parameter misses a step.
            p.grad = None if (i, step) == (1, 5) else gradient(step, i, p)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        after.append([p.detach().flatten().tolist() for p in parameters])
    state = {k: v.flatten().tolist() for k, v in optimizer.state[parameters[0]].items() if isinstance(v, torch.Tensor)}
    return dict(name=name, options=options, schedule=schedule, after=[after[0], after[6], after[-1]], state=state)


def rates(make):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5, momentum=0.9)
    scheduler = make(optimizer)
    out = []
    for _ in range(16):
        group = optimizer.param_groups[0]
        out.append([group["lr"], group["momentum"]])
        optimizer.step()
        scheduler.step()
    return out


print(json.dumps(dict(starts=STARTS, steps=STEPS, runs=[run(*r) for r in RUNS], composed={k: rates(v) for k, v in COMPOSED.items()})))
