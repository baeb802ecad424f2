"""Records torch.func.vmap, and vmap(grad), on operations: python vmap.py > vmap.json, then prettier (torch 2.15)."""
import itertools, json, math
import torch
import torch.nn.functional as F

B = 3
cases = {}

def case(name, *shapes, ints=(), grad=True):
    """fn of tensors of these shapes; ints: for each argument that has integers their limit, else None."""
    def add(fn): cases[name] = (fn, shapes, list(ints) + [None] * (len(shapes) - len(ints)), grad)
    return add

def values(shape, seed, limit):
    n = math.prod(shape)
    if limit is not None: return torch.tensor([(i * 7 + seed * 5 + i // 3) % limit for i in range(n)]).reshape(shape)
    return torch.tensor([((i * 37 + seed * 17 + (i * i) % 11) % 46 - 22.5) / 16 for i in range(n)]).reshape(shape)

c = case
c("add", (2, 3), (3,))(torch.add)
c("mul", (2, 3), (1, 3))(torch.mul)
c("divByScalarTensor", (4,), ())(lambda x, y: x / (y + 5))
c("sin", (2, 3))(torch.sin)
c("expOfScalar", ())(torch.exp)
c("pow", (3,), (2, 3))(lambda x, y: (x.abs() + 1) ** y)
c("atan2", (3,), (3,))(torch.atan2)
c("where", (2, 3), (3,))(lambda x, y: torch.where(x > 0.1, x, y))
c("clamp", (5,))(lambda x: x.clamp(-0.5, 0.5))
c("maximum", (5,), (5,))(torch.maximum)
c("lerp", (3,), (3,), ())(torch.lerp)
c("addcmul", (3,), (2, 3), (3,))(lambda x, y, z: torch.addcmul(x, y, z, value=2))
c("gelu", (6,))(F.gelu)
c("silu", (6,))(F.silu)
c("leakyRelu", (6,))(lambda x: F.leaky_relu(x, 0.2))
c("glu", (3, 4))(lambda x: F.glu(x, 1))
c("compare", (4,), (4,), grad=False)(lambda x, y: (x > y))
c("sum", (2, 3))(lambda x: x.sum())
c("sumOfAxis", (2, 3))(lambda x: x.sum(1))
c("sumKeepDims", (2, 3))(lambda x: x.sum(0, keepdim=True))
c("mean", (2, 3))(lambda x: x.mean(-1))
c("prod", (2, 3))(lambda x: x.prod(1))
c("variance", (2, 4))(lambda x: x.var(1))
c("std", (4,))(lambda x: x.std())
c("norm", (2, 3))(lambda x: torch.linalg.vector_norm(x, dim=1))
c("logsumexp", (2, 3))(lambda x: x.logsumexp(0))
c("amax", (2, 3))(lambda x: x.amax(1))
c("maxValues", (2, 3))(lambda x: x.max(1).values)
c("argmax", (2, 3), grad=False)(lambda x: x.argmax(1))
c("any", (2, 3), grad=False)(lambda x: (x > 1).any(1))
c("softmax", (2, 3))(lambda x: x.softmax(1))
c("softmaxOfVector", (4,))(lambda x: x.softmax(-1))
c("logSoftmax", (2, 3))(lambda x: x.log_softmax(0))
c("cumsum", (2, 3))(lambda x: x.cumsum(1))
c("cumprod", (2, 3))(lambda x: x.cumprod(0))
c("logcumsumexp", (2, 3))(lambda x: x.logcumsumexp(1))
c("cummax", (2, 4))(lambda x: x.cummax(1).values)
c("sort", (2, 4))(lambda x: x.sort(1).values)
c("sortDescending", (5,), grad=False)(lambda x: x.sort(descending=True).indices)
c("topk", (2, 4))(lambda x: x.topk(2).values)
c("flip", (2, 3))(lambda x: x.flip(1))
c("roll", (2, 3))(lambda x: x.roll(1, 1))
c("cat", (2, 2), (2, 3))(lambda x, y: torch.cat([x, y], 1))
c("stack", (3,), (3,))(lambda x, y: torch.stack([x, y], 1))
c("padConstant", (2, 3))(lambda x: F.pad(x, (1, 2), value=0.5))
c("padReflect", (2, 4))(lambda x: F.pad(x, (1, 2), mode="reflect"))
c("padReplicate", (2, 3))(lambda x: F.pad(x, (1, 1), mode="replicate"))
c("reshape", (2, 6))(lambda x: x.reshape(3, 4))
c("reshapeOfTranspose", (2, 3))(lambda x: x.t().reshape(6))
c("permute", (2, 3, 4))(lambda x: x.permute(2, 0, 1))
c("movedim", (2, 3, 4))(lambda x: x.movedim(0, -1))
c("expand", (3, 1))(lambda x: x.expand(2, 3, 4))
c("squeeze", (1, 3))(lambda x: x.squeeze(0))
c("unsqueeze", (2, 3))(lambda x: x.unsqueeze(-1))
c("slice", (3, 4))(lambda x: x[1:, ::2])
c("select", (3, 4))(lambda x: x[1])
c("unbind", (3, 2))(lambda x: x.unbind(0)[2] * x.unbind(0)[0])
c("diagonal", (3, 4))(lambda x: x.diagonal(1))
c("diagEmbed", (3,))(lambda x: torch.diag_embed(x))
c("tril", (3, 3))(lambda x: x.tril(-1))
c("trace", (3, 3))(torch.trace)
c("repeat", (2, 3))(lambda x: x.repeat(2, 1))
c("unfoldAxis", (6,))(lambda x: x.unfold(0, 3, 2))
c("oneHot", (4,), ints=(3,), grad=False)(lambda x: F.one_hot(x, 3))
c("gather", (3, 2), (2, 2), ints=(None, 3))(lambda x, i: x.gather(0, i))
c("indexSelect", (4, 2), (3,), ints=(None, 4))(lambda x, i: x.index_select(0, i))
c("indexSelectLast", (2, 4), (3,), ints=(None, 4))(lambda x, i: x.index_select(1, i))
c("embedding", (3,), (4, 2), ints=(4,))(lambda i, w: F.embedding(i, w))
c("scatter", (4,), (4,), (4,), ints=(None, 4))(lambda x, i, y: x.scatter(0, (torch.arange(4) + 0 * i).to(torch.int64), y))
c("scatterAdd", (4,), (3,), (3,), ints=(None, 4))(lambda x, i, y: x.scatter_add(0, i, y))
c("maskedFill", (2, 3))(lambda x: x.masked_fill(x > 0.3, 7))
c("dot", (4,), (4,))(torch.dot)
c("matrixVector", (2, 4), (4,))(torch.matmul)
c("vectorMatrix", (4,), (4, 2))(torch.matmul)
c("matmul", (2, 4), (4, 3))(torch.matmul)
c("matmulBatch", (2, 2, 4), (4, 3))(torch.matmul)
c("matmulBroadcast", (2, 1, 2, 3), (3, 3, 2))(torch.matmul)
c("bmm", (2, 2, 3), (2, 3, 2))(torch.bmm)
c("outer", (3,), (2,))(torch.outer)
c("addmm", (3,), (2, 4), (4, 3))(torch.addmm)
c("einsum", (2, 3), (3, 4))(lambda x, y: torch.einsum("ij,jk->ki", x, y))
c("linear", (2, 4), (3, 4), (3,))(F.linear)
c("linearOfVector", (4,), (3, 4), (3,))(F.linear)
c("linearOfSequence", (2, 2, 4), (3, 4))(F.linear)
c("conv1d", (1, 2, 5), (3, 2, 3), (3,))(lambda x, w, b: F.conv1d(x, w, b, padding=1))
c("conv2d", (1, 2, 5, 4), (4, 2, 3, 2), (4,))(lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=1))
c("conv2dGroups", (2, 4, 4, 4), (4, 2, 3, 3))(lambda x, w: F.conv2d(x, w, groups=2))
c("convTranspose2d", (1, 2, 3, 3), (2, 3, 2, 2), (3,))(lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2))
c("maxPool2d", (1, 2, 4, 4))(lambda x: F.max_pool2d(x, 2))
c("avgPool2d", (1, 2, 4, 4))(lambda x: F.avg_pool2d(x, 2))
c("adaptiveAvgPool2d", (1, 2, 4, 4))(lambda x: F.adaptive_avg_pool2d(x, 1))
c("interpolate", (1, 2, 2, 3))(lambda x: F.interpolate(x, scale_factor=2, mode="nearest"))
c("interpolateBilinear", (1, 2, 2, 3))(lambda x: F.interpolate(x, size=(4, 5), mode="bilinear"))
c("unfold", (1, 2, 3, 3))(lambda x: F.unfold(x, 2))
c("layerNorm", (2, 4), (4,), (4,))(lambda x, w, b: F.layer_norm(x, (4,), w, b))
c("layerNormPlain", (2, 2, 3))(lambda x: F.layer_norm(x, (2, 3)))
c("rmsNorm", (2, 4), (4,))(lambda x, w: F.rms_norm(x, (4,), w, 1e-5))
c("groupNorm", (2, 4, 3), (4,), (4,))(lambda x, w, b: F.group_norm(x, 2, w, b))
c("instanceNorm", (2, 2, 4))(lambda x: F.instance_norm(x))
c("batchNormTraining", (4, 2), (2,), (2,))(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True))
c("batchNormEval", (3, 2, 2), (2,), (2,))(lambda x, m, w: F.batch_norm(x, m.detach() * 0.5, w.detach() ** 2 + 1, w, None))
c("mseLoss", (2, 3), (2, 3))(F.mse_loss)
c("huberLoss", (4,), (4,))(lambda x, y: F.huber_loss(x, y, delta=0.5))
c("bceWithLogits", (4,), (4,))(lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()))
c("nllLoss", (3, 4), (3,), ints=(None, 4))(lambda x, t: F.nll_loss(x.log_softmax(1), t))
c("crossEntropy", (3, 4), (3,), ints=(None, 4))(F.cross_entropy)
c("crossEntropyOfOne", (4,), (), ints=(None, 4))(F.cross_entropy)
c("crossEntropySum", (2, 4, 3), (2, 3), ints=(None, 4))(lambda x, t: F.cross_entropy(x, t, reduction="sum", ignore_index=1))
c("crossEntropyNone", (3, 4), (3,), ints=(None, 4))(lambda x, t: F.cross_entropy(x, t, reduction="none"))
c("cosineSimilarity", (2, 3), (2, 3))(lambda x, y: F.cosine_similarity(x, y, dim=1))
c("cdist", (2, 3), (4, 3))(torch.cdist)
c("attention", (1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4))(F.scaled_dot_product_attention)
c("det", (3, 3))(lambda x: torch.linalg.det(x + 4 * torch.eye(3)))
c("inv", (2, 2))(lambda x: torch.linalg.inv(x + 4 * torch.eye(2)))
c("solve", (2, 2), (2, 1))(lambda x, y: torch.linalg.solve(x + 4 * torch.eye(2), y))
c("inPlace", (2, 3), (3,))(lambda x, y: (x * 1).add_(1).mul_(2) + y)
c("inPlaceView", (2, 3))(lambda x: _in_place_view(x))

def _in_place_view(x):
    y = x * 1
    y[0].mul_(3)
    return y

def rounded(t): return [float(f"{v:.6g}") for v in t.to(torch.float64).flatten().tolist()]

def patterns(shapes):
    n = len(shapes)
    yield [0] * n
    if n > 1:
        for i in range(n): yield [0 if k == i else None for k in range(n)]
    if shapes[0]: yield [len(shapes[0])] + [0] * (n - 1)

rows = []
for name, (fn, shapes, ints, has_grad) in cases.items():
    for dims in patterns(shapes):
        args = [values((B, *s) if d is not None else s, k, m) for k, (s, d, m) in enumerate(zip(shapes, dims, ints))]
        args = [t.movedim(0, d) if d not in (None, 0) else t for t, d in zip(args, dims)]
        in_dims = tuple(dims)
        out = torch.func.vmap(fn, in_dims=in_dims)(*args)
        row = {"case": name, "inDims": dims, "shape": list(out.shape), "values": rounded(out)}
        if has_grad:
            floats = tuple(k for k, m in enumerate(ints) if m is None)
            def loss(*a):
                y = fn(*a)
                return (y * torch.arange(1, y.numel() + 1).reshape(y.shape)).sum()
            grads = torch.func.vmap(torch.func.grad(loss, argnums=floats), in_dims=in_dims)(*args)
            row["gradients"] = [rounded(g) for g in grads]
        rows.append(row)
print("[\n" + ",\n".join("  " + json.dumps(r) for r in rows) + "\n]")
