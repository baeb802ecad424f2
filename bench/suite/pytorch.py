"""PyTorch as a peer on the processor: the protocol is worker.ts's, the data data.ts's. Argument: the number of threads."""
import json
import math
import resource
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

import trainings

torch.set_num_threads(int(sys.argv[1]))


def uniform(seed, shape, scale=1.0, offset=0.0):
    h = np.arange(int(np.prod(shape)), dtype=np.uint32)
    h *= np.uint32(2654435761)
    h += np.uint32((seed * 0x9E3779B1 + 12345) & 0xFFFFFFFF)
    h ^= h >> np.uint32(15)
    h *= np.uint32(2246822519)
    h ^= h >> np.uint32(13)
    h >>= np.uint32(8)
    values = (h.astype(np.float64) / 2**24 - 0.5) * scale + offset
    return torch.from_numpy(values.astype(np.float32).reshape(shape))


def whole(seed, count, below):
    values = uniform(seed, (count,), 1, 0.5).double().numpy()
    return torch.from_numpy(np.minimum(below - 1, np.floor(values * below)).astype(np.int64))


def digest(t):
    a = t.detach().double().numpy().ravel()
    return dict(size=a.size, norm=float(np.sqrt((a * a).sum())), samples=[float(a[(i * (a.size - 1)) // 7]) for i in range(8)])


ACTIVATIONS = dict(relu=F.relu, relu6=F.relu6, none=lambda x: x)


def layer(n):
    if n["op"] == "conv":
        fan = n["inputs"] / n["groups"] * n["kernel"] ** 2
        weight = uniform(n["seed"], (n["outputs"], n["inputs"] // n["groups"], n["kernel"], n["kernel"]), math.sqrt(12 * 1.2 / fan))
        bias, zeros, ones = uniform(n["seed"] + 1, (n["outputs"],), 0.2), torch.zeros(n["outputs"]), torch.ones(n["outputs"])
        activate = ACTIVATIONS[n["activation"]]
        return lambda v: activate(
            F.batch_norm(F.conv2d(v[n["x"]], weight, None, n["stride"], n["kernel"] // 2, 1, n["groups"]), zeros, ones, ones, bias)
        )
    if n["op"] == "maxpool":
        return lambda v: F.max_pool2d(v[n["x"]], 3, 2, 1)
    if n["op"] == "add":
        return lambda v: ACTIVATIONS[n["activation"]](v[n["x"]] + v[n["y"]])
    weight, bias = uniform(n["seed"], (n["outputs"], n["inputs"]), 2 / math.sqrt(n["inputs"])), uniform(n["seed"] + 1, (n["outputs"],), 0.2)
    return lambda v: F.linear(v[n["x"]].mean((2, 3)), weight, bias)


def net(w):
    layers, x = [layer(n) for n in w["nodes"]], uniform(7, (w["batch"], 3, 224, 224), 2)

    def run():
        values = [x]
        for each in layers:
            values.append(each(values))
        return values[-1]

    return run


def encoder(w):
    b, s, d, heads = w["batch"], w["length"], w["width"], w["heads"]
    shapes = [(3 * d, d), (d, d), (4 * d, d), (d, 4 * d)]
    weights = [
        [(uniform(2000 + 8 * l + 2 * i, shape, 2 * math.sqrt(3 / shape[1])), uniform(2001 + 8 * l + 2 * i, (shape[0],), 0.1)) for i, shape in enumerate(shapes)]
        for l in range(w["layers"])
    ]
    first = uniform(7, (b, s, d), 2)

    def run():
        x = first
        for parts, out, wide, narrow in weights:
            q, k, v = F.linear(x, *parts).reshape(b, s, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
            attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, s, d)
            x = F.layer_norm(x + F.linear(attended, *out), (d,))
            x = F.layer_norm(x + F.linear(F.relu(F.linear(x, *wide)), *narrow), (d,))
        return x

    return run


def elementwise(w):
    x, a, b, c = (uniform(i + 1, (w["n"],), 4.0) if i < dict(add=2, tanh=1, scalars=1, tensors=4)[w["op"]] else None for i in range(4))
    return dict(
        add=lambda: x + a,
        tanh=lambda: torch.tanh(x),
        scalars=lambda: torch.relu(x * 1.5 + 0.25) * 0.75 + torch.tanh(x),
        tensors=lambda: torch.relu(a * x + b) * c + torch.tanh(x),
    )[w["op"]]


def make(w):
    k = w["kind"]
    if k == "matmul":
        s = (w["batch"],) if w["batch"] > 1 else ()
        a, b = uniform(1, s + (w["m"], w["k"])), uniform(2, s + (w["k"], w["n"]))
        return lambda: torch.matmul(a, b)
    if k == "matvec":
        a, x = uniform(1, (w["n"], w["n"])), uniform(2, (w["n"],))
        return lambda: torch.mv(a, x)
    if k == "elementwise":
        return elementwise(w)
    if k == "sum":
        x = uniform(1, (w["m"], w["n"]), 1.0, 0.25)
        return (lambda: x.sum()) if w["axis"] is None else (lambda: x.sum(w["axis"]))
    if k == "softmax":
        x = uniform(1, (w["m"], w["n"]), 8.0)
        return lambda: torch.softmax(x, -1)
    if k == "layernorm":
        x, weight, bias = uniform(1, (w["m"], w["n"]), 4.0), uniform(2, (w["n"],), 1.0, 1.0), uniform(3, (w["n"],))
        return lambda: F.layer_norm(x, (w["n"],), weight, bias)
    if k == "transpose":
        x = uniform(1, (w["m"], w["n"]))
        return lambda: x.t().contiguous()
    if k == "gather":
        table, indices = uniform(1, (w["rows"], w["columns"])), whole(2, w["count"], w["rows"])
        return lambda: F.embedding(indices, table)
    if k == "concat":
        a, b = uniform(1, (w["m"], w["n"])), uniform(2, (w["m"], w["n"]))
        return lambda: torch.cat((a, b), w["axis"])
    if k == "cast":
        x = uniform(1, (w["n"],), 8.0)
        return lambda: x.half()
    if k == "conv":
        x = uniform(1, (w["batch"], w["inputs"], w["size"], w["size"]), 2.0)
        weight = uniform(2, (w["outputs"], w["inputs"] // w["groups"], w["kernel"], w["kernel"]))
        return lambda: F.conv2d(x, weight, None, w["stride"], w["kernel"] // 2, 1, w["groups"])
    if k == "maxpool":
        x = uniform(1, (w["batch"], w["channels"], w["size"], w["size"]), 2.0)
        return lambda: F.max_pool2d(x, 3, 2, 1)
    if k == "net":
        return net(w)
    if k == "encoder":
        return encoder(w)
    if k == "lstm":
        lstm = torch.nn.LSTM(w["inputs"], w["width"])
        shapes = dict(weight_ih_l0=(4 * w["width"], w["inputs"]), weight_hh_l0=(4 * w["width"], w["width"]), bias_ih_l0=(4 * w["width"],), bias_hh_l0=(4 * w["width"],))
        lstm.load_state_dict({name: uniform(i + 2, shape, 0.125) for i, (name, shape) in enumerate(shapes.items())})
        x = uniform(1, (w["length"], w["batch"], w["inputs"]), 2.0)
        return lambda: lstm(x)[0]
    if k == "sort":
        x = uniform(1, (w["rows"], w["columns"]), 4.0)
        return lambda: torch.sort(x).values
    if k == "topk":
        x = uniform(1, (w["rows"], w["columns"]), 4.0)
        return lambda: torch.topk(x, w["count"]).values
    if k == "resize":
        x = uniform(1, (w["batch"], w["channels"], w["size"], w["size"]), 2.0)
        return lambda: F.interpolate(x, (2 * w["size"],) * 2, mode=w["mode"])
    if k == "attention":
        q, key, v = (uniform(i, (w["batch"], w["heads"], w["length"], w["width"]), 2.0) for i in (1, 2, 3))
        return lambda: F.scaled_dot_product_attention(q, key, v)
    if k == "scatter":
        zeros, index = torch.zeros(w["rows"], w["columns"]), whole(2, w["count"], w["rows"]).reshape(-1, 1).repeat(1, w["columns"])
        values = uniform(1, (w["count"], w["columns"]))
        return lambda: zeros.scatter_add(0, index, values)
    if k == "tiny":
        a, b = uniform(1, (w["n"],)), uniform(2, (w["n"],))
        return lambda: a + b
    return None


def train(what):
    """-> a step, and what four of them gave."""
    torch.set_grad_enabled(True)
    step = trainings.make(what, uniform, whole)
    return step, digest(torch.tensor([float(step()) for _ in range(4)]))


run = None


def answer(request):
    global run
    if "prepare" in request:
        run, what = None, request["prepare"]["what"]
        if what["kind"] == "train":
            run, losses = train(what)
            return dict(digest=losses)
        torch.set_grad_enabled(False)
        run = make(what)
        return dict(lacks="not in this peer") if run is None else dict(digest=digest(run()))
    count, least = 1, request["round"]
    while True:
        start = time.perf_counter()
        for _ in range(count):
            run()
        seconds = time.perf_counter() - start
        if seconds >= least:
            return dict(seconds=seconds / count, resident=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
        count = max(count + 1, min(count * 20, math.ceil(count * least * 1.1 / max(seconds, 1e-6))))


for line in sys.stdin:
    request = json.loads(line)
    if request.get("end"):
        break
    try:
        reply = answer(request)
    except Exception as error:  # returned to the caller, which continues
        reply = dict(lacks=f"{type(error).__name__}: {error}")
    print(json.dumps(reply), flush=True)
