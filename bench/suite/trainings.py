"""The training steps of trainings.ts in PyTorch: the same weights, data and optimizers."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class Weights:
    def __init__(self, uniform):
        self.uniform, self.all = uniform, []

    def add(self, values):
        self.all.append(values.requires_grad_())
        return values

    def drawn(self, seed, shape, scale):
        return self.add(self.uniform(seed, shape, scale))

    def adam(self):
        return torch.optim.Adam(self.all, lr=1e-3, eps=1e-8)

    def sgd(self, lr=0.01):
        return torch.optim.SGD(self.all, lr=lr, momentum=0.9)


def chain(weights, shapes):
    return [
        (weights.drawn(4000 + 2 * i, s, math.sqrt(12 / math.prod(s[1:]))), weights.drawn(4001 + 2 * i, (s[0],), 0.1))
        for i, s in enumerate(shapes)
    ]


def linears(x, layers):
    for i, (weight, bias) in enumerate(layers):
        x = F.linear(x, weight, bias)
        x = F.relu(x) if i + 1 < len(layers) else x
    return x


def mlp(uniform, whole, what):
    weights = Weights(uniform)
    layers = chain(weights, [(512, 784), (512, 512), (10, 512)])
    return uniform(8, (64, 784), 2), torch.arange(64) % 10, lambda x: linears(x, layers), weights.adam()


def lenet(uniform, whole, what):
    weights = Weights(uniform)
    first, second, *rest = chain(weights, [(6, 1, 5, 5), (16, 6, 5, 5), (120, 400), (84, 120), (10, 84)])

    def forward(x):
        x = F.max_pool2d(F.relu(F.conv2d(x, *first, padding=2)), 2)
        return linears(F.max_pool2d(F.relu(F.conv2d(x, *second)), 2).flatten(1), rest)

    return uniform(8, (64, 1, 28, 28), 2), torch.arange(64) % 10, forward, weights.sgd()


def resnet18(uniform, whole, what):
    weights, seeds = Weights(uniform), iter(range(5000, 5900))

    def convolution(inputs, outputs, kernel, stride):
        weight = weights.drawn(next(seeds), (outputs, inputs, kernel, kernel), math.sqrt(12 * 1.2 / (inputs * kernel**2)))
        scale, shift = weights.add(torch.ones(outputs)), weights.add(torch.zeros(outputs))
        mean, variance = torch.zeros(outputs), torch.ones(outputs)
        return lambda x: F.batch_norm(F.conv2d(x, weight, None, stride, kernel // 2), mean, variance, scale, shift, True)

    stem, blocks = convolution(3, 64, 3, 1), []
    for i, outputs in enumerate((64, 64, 128, 128, 256, 256, 512, 512)):
        stride = 2 if i > 0 and i % 2 == 0 else 1
        inputs = outputs // stride
        one, two = convolution(inputs, outputs, 3, stride), convolution(outputs, outputs, 3, 1)
        blocks.append((one, two, nn.Identity() if stride == 1 else convolution(inputs, outputs, 1, stride)))
    weight, bias = weights.drawn(5900, (10, 512), 2 / math.sqrt(512)), weights.add(torch.zeros(10))

    def forward(x):
        x = F.relu(stem(x))
        for one, two, shortcut in blocks:
            x = F.relu(two(F.relu(one(x))) + shortcut(x))
        return F.linear(x.mean((2, 3)), weight, bias)

    return uniform(8, (16, 3, 32, 32), 2), torch.arange(16) % 10, forward, weights.sgd()


ACTIVATIONS = dict(relu=F.relu, relu6=F.relu6, none=lambda x: x)


def net(uniform, whole, what):
    """A net's nodes, with channels last in memory, which is faster."""
    weights = Weights(uniform)

    def layer(n):
        if n["op"] == "maxpool":
            return lambda v: F.max_pool2d(v[n["x"]], 3, 2, 1)
        if n["op"] == "add":
            return lambda v: ACTIVATIONS[n["activation"]](v[n["x"]] + v[n["y"]])
        if n["op"] == "classify":
            weight, bias = weights.drawn(n["seed"], (n["outputs"], n["inputs"]), 2 / math.sqrt(n["inputs"])), weights.add(torch.zeros(n["outputs"]))
            return lambda v: F.linear(v[n["x"]].mean((2, 3)), weight, bias)
        inputs = n["inputs"] // n["groups"]
        drawn = uniform(n["seed"], (n["outputs"], inputs, n["kernel"], n["kernel"]), math.sqrt(12 * 1.2 / (inputs * n["kernel"] ** 2)))
        weight = weights.add(drawn.contiguous(memory_format=torch.channels_last))
        scale, shift = weights.add(torch.ones(n["outputs"])), weights.add(torch.zeros(n["outputs"]))
        mean, variance, activate = torch.zeros(n["outputs"]), torch.ones(n["outputs"]), ACTIVATIONS[n["activation"]]

        def run(v):
            y = F.conv2d(v[n["x"]], weight, None, n["stride"], n["kernel"] // 2, 1, n["groups"])
            return activate(F.batch_norm(y, mean, variance, scale, shift, True))

        return run

    layers = [layer(n) for n in what["nodes"]]

    def forward(x):
        values = [x]
        for each in layers:
            values.append(each(values))
        return values[-1]

    x = uniform(8, (what["batch"], 3, 224, 224), 2).contiguous(memory_format=torch.channels_last)
    return x, torch.arange(what["batch"]) % 10, forward, weights.sgd(1e-4)


def transformer(weights, seed, width, heads):
    shapes = [(3 * width, width), (width, width), (4 * width, width), (width, 4 * width)]
    parts, out, wide, narrow = [
        (weights.drawn(seed + 2 * i, s, 2 * math.sqrt(3 / s[1])), weights.drawn(seed + 2 * i + 1, (s[0],), 0.1)) for i, s in enumerate(shapes)
    ]
    one, two = [(weights.add(torch.ones(width)), weights.add(torch.zeros(width))) for _ in range(2)]

    def run(x, mask):
        batch, length, _ = x.shape
        size = width // heads
        q, k, v = F.linear(x, *parts).reshape(batch, length, 3, heads, size).permute(2, 0, 3, 1, 4)
        scores = torch.matmul(q * (1 / math.sqrt(size)), k.transpose(-1, -2)) + mask
        attended = torch.matmul(scores.softmax(-1), v).transpose(1, 2).reshape(batch, length, width)
        y = F.layer_norm(x + F.linear(attended, *out), (width,), *one)
        return F.layer_norm(y + F.linear(F.relu(F.linear(y, *wide)), *narrow), (width,), *two)

    return run


def language_model(uniform, whole, what):
    batch, length, width, heads, words = 8, 64, 128, 4, 1000
    weights, ids = Weights(uniform), whole(9, batch * (length + 1), words).reshape(batch, length + 1)
    table, positions = weights.drawn(3000, (words, width), 1), weights.drawn(3001, (length, width), 1)
    layers = [transformer(weights, seed, width, heads) for seed in (3100, 3108)]
    head = weights.drawn(3002, (words, width), 2 * math.sqrt(3 / width))
    mask = torch.triu(torch.full((length, length), -1e9), 1)

    def forward(tokens):
        x = F.embedding(tokens, table) + positions
        for layer in layers:
            x = layer(x, mask)
        return F.linear(x, head).reshape(-1, words)

    return ids[:, :-1].contiguous(), ids[:, 1:].reshape(-1), forward, weights.adam()


TRAININGS = dict(mlp=mlp, lenet=lenet, resnet18=resnet18, resnet50=net, mobileNetV2=net, languageModel=language_model)


def make(what, uniform, whole):
    """-> a step that gives its loss. what: the workload's."""
    x, y, forward, optimizer = TRAININGS[what["network"]](uniform, whole, what)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step
