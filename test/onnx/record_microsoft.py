"""Records nodes of com.microsoft as test/onnx/microsoft.jsonl.gz, with the results of ONNX Runtime's CPU.

    python3 -m venv VENV && VENV/bin/pip install -r test/onnx/requirements.txt onnxruntime
    VENV/bin/python test/onnx/record_microsoft.py
"""

from math import erf, sqrt

from runtime_cases import Cases, TensorProto, narrow, np, pathlib

r = np.random.RandomState(0)
cases = Cases("com.microsoft", 1)
add = cases.add


def f(*shape, scale=1.0):
    return (r.standard_normal(shape) * scale).astype(np.float32)


def u8(*shape):
    return r.randint(0, 256, shape).astype(np.uint8)


def i8(*shape, high=128):
    return r.randint(-high, high, shape).astype(np.int8)


def i32(*values):
    return np.array(values, np.int32)


def scalar(v, dtype=np.float32):
    return np.array(v, dtype)


gelu = np.vectorize(lambda x: 0.5 * x * (1 + erf(x / sqrt(2))), otypes=[np.float32])

# Activations.
x = f(2, 3, 8)
add("Gelu", [x])
add("FastGelu", [x])
add("FastGelu, bias", [x, f(8)])
add("BiasGelu", [x, f(8)])
add("QuickGelu", [x])
add("QuickGelu, alpha 1", [x], attributes={"alpha": 1.0})
add("ScaledSiLU", [x], attributes={"alpha": 0.7})
add("ScaledSiLU, scale", [x, scalar(1.3)])
b = f(8)
add("BiasSplitGelu", [x, b], expected=[(x + b)[..., :4] * gelu((x + b)[..., 4:])])
add("BiasAdd", [x, b, x * 2], expected=[x + b + x * 2])

# Normalizations.
for batch, skip in [("whole", f(2, 3, 8)), ("one", f(1, 3, 8)), ("rows", f(3, 8))]:
    add(f"SkipLayerNormalization, {batch}", [x, skip, f(8), f(8)], attributes={"epsilon": 1e-5})
add("SkipLayerNormalization, bias, sum", [x, f(2, 3, 8), f(8), f(8), f(8)], wanted=[0, 3], attributes={"epsilon": 1e-12})
add("SkipLayerNormalization, no beta", [x, f(2, 3, 8), f(8)])
add("SkipSimplifiedLayerNormalization", [x, f(2, 3, 8), f(8)], attributes={"epsilon": 1e-6})
add("SkipSimplifiedLayerNormalization, bias, sum", [x, f(2, 3, 8), f(8), f(8)], wanted=[0, 3], attributes={"epsilon": 1e-6})
add("SimplifiedLayerNormalization", [x, f(8)], attributes={"axis": -1, "epsilon": 1e-6, "stash_type": 1}, domain="")
add("SimplifiedLayerNormalization, two axes, inverse", [x, f(3, 8)], outputs=2, attributes={"axis": 1, "epsilon": 1e-5}, domain="")
ids = i32(1, 2, 0, 3, 3, 4).reshape(2, 3)
seg = i32(0, 1, 1, 0, 0, 1).reshape(2, 3)
mask = i32(1, 1, 0, 1, 1, 1).reshape(2, 3)
words, position_rows, segments = f(6, 8), f(5, 8), f(2, 8)
add("EmbedLayerNormalization", [ids, seg, words, position_rows, segments, f(8), f(8), mask], outputs=2)
add("EmbedLayerNormalization, no segments", [ids, None, words, position_rows, None, f(8), f(8), None, i32(2, 1, 0, 4, 4, 3).reshape(2, 3)], outputs=2)
add("EmbedLayerNormalization, sum", [ids, seg, words, position_rows, segments, f(8), f(8)], wanted=[0, 1, 2], attributes={"epsilon": 1e-5})
add("EmbedLayerNormalization, holes in the mask", [ids, seg, words, position_rows, segments, f(8), f(8), i32(1, 0, 1, 0, 1, 1).reshape(2, 3)], outputs=2)


def group_norm(v, gamma, beta, groups, eps, silu):
    n, h, w, c = v.shape
    g = v.reshape(n, h * w, groups, c // groups)
    m = g.mean((1, 3), keepdims=True)
    s = ((g - m) ** 2).mean((1, 3), keepdims=True)
    y = ((g - m) / np.sqrt(s + eps)).reshape(v.shape) * gamma + beta
    return (y / (1 + np.exp(-y)) if silu else y).astype(np.float32)


v, gamma, beta = f(2, 3, 3, 8), f(8), f(8)
add("GroupNorm", [v, gamma, beta], attributes={"groups": 4, "activation": 0}, expected=[group_norm(v, gamma, beta, 4, 1e-5, False)])
add("GroupNorm, silu, channels first", [v.transpose(0, 3, 1, 2), gamma, beta], attributes={"groups": 2, "activation": 1, "channels_last": 0, "epsilon": 1e-3}, expected=[group_norm(v, gamma, beta, 2, 1e-3, True).transpose(0, 3, 1, 2)])
skip, bias = f(2, 8), f(8)
s = v + skip[:, None, None, :] + bias
add("SkipGroupNorm", [v, gamma, beta, skip, bias], outputs=2, attributes={"groups": 4, "activation": 1}, expected=[group_norm(s, gamma, beta, 4, 1e-5, True), s])

# Products and convolutions.
a, m = f(2, 3, 4), f(2, 4, 5)
add("FusedMatMul", [a, m], attributes={"alpha": 0.5})
add("FusedMatMul, transposed", [f(2, 4, 3), f(2, 5, 4)], attributes={"transA": 1, "transB": 1})
add("FusedMatMul, batches transposed", [f(3, 2, 4), f(4, 2, 5)], attributes={"transBatchA": 1, "transBatchB": 1})
add("FusedMatMul, all transposed", [f(4, 2, 3), f(5, 2, 4)], attributes={"transBatchA": 1, "transBatchB": 1, "transA": 1, "transB": 1})
add("TransposeMatMul", [f(4, 3), f(4, 5)], attributes={"transA": 1})
for activation, parameters in [("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.2}), ("Sigmoid", {}), ("Tanh", {}), ("Elu", {"activation_alpha": 0.7}), ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}), ("Softplus", {}), ("Softsign", {}), ("ThresholdedRelu", {"activation_alpha": 0.5})]:
    add(f"FusedGemm, {activation}", [f(3, 4), f(5, 4), f(5)], attributes={"activation": activation, "transB": 1, "alpha": 0.5, "beta": 2.0, **parameters})
image, kernel = f(1, 4, 6, 5), f(6, 2, 3, 3, scale=0.3)
for activation, parameters in [("Relu", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.7]), ("HardSigmoid", [0.3, 0.4]), ("Sigmoid", []), ("Tanh", [])]:
    add(f"FusedConv, {activation}", [image, kernel, f(6)], attributes={"activation": activation, "group": 2, "pads": [1, 1, 1, 1], **({"activation_params": parameters} if parameters else {})})
add("FusedConv, sum", [image, f(6, 4, 3, 3, scale=0.3), f(6), f(1, 6, 4, 3)], attributes={"activation": "Relu"})
last = image.transpose(0, 2, 3, 1).copy()


def conv(data, weight, bias):
    n, c, h, w = data.shape
    y = np.zeros((n, weight.shape[0], h - 2, w - 2), np.float64)
    for i in range(h - 2):
        for j in range(w - 2):
            y[:, :, i, j] = np.einsum("nchw,ochw->no", data[:, :, i : i + 3, j : j + 3].astype(np.float64), weight)
    return (y + bias[:, None, None]).astype(np.float32)


w4, b6 = f(6, 4, 3, 3, scale=0.3), f(6)
add("NhwcConv", [last, w4, b6], expected=[conv(image, w4, b6).transpose(0, 2, 3, 1)])
add("NhwcFusedConv", [last, w4, b6], attributes={"activation": "Relu"}, expected=[np.maximum(conv(image, w4, b6), 0).transpose(0, 2, 3, 1)])
add("NhwcMaxPool", [u8(1, 6, 6, 3)], attributes={"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]})
add("NhwcMaxPool, int8", [i8(1, 5, 6, 3)], attributes={"kernel_shape": [2, 3]})
add("ConvTransposeWithDynamicPads", [image, f(4, 2, 3, 3), np.array([1, 0, 0, 1], np.int64), f(2)], constants=[2], attributes={"strides": [2, 2]})

# Attention.
H, E = 2, 4
hidden = H * E
tokens = f(2, 3, 8)
weights, bias3 = f(8, 3 * hidden, scale=0.4), f(3 * hidden)
heads = {"num_heads": H}
add("Attention", [tokens, weights, bias3], attributes=heads)
add("Attention, no bias, scale", [tokens, weights], attributes={**heads, "scale": 0.3})
add("Attention, unidirectional", [tokens, weights, bias3], attributes={**heads, "unidirectional": 1})
add("Attention, ends", [tokens, weights, bias3, i32(2, 3)], attributes=heads)
add("Attention, ends and starts", [tokens, weights, bias3, i32(3, 2, 1, 0)], attributes=heads)
add("Attention, mask", [tokens, weights, bias3, i32(1, 1, 0, 0, 1, 1).reshape(2, 3)], attributes=heads)
add("Attention, mask of queries", [tokens, weights, bias3, r.randint(0, 2, (2, 3, 3)).astype(np.int32)], attributes=heads)
add("Attention, all masked", [tokens, weights, bias3, i32(0, 0, 0, 1, 1, 1).reshape(2, 3)], attributes={**heads, "mask_filter_value": -50.0})
add("Attention, mask and unidirectional", [tokens, weights, bias3, i32(0, 1, 1, 1, 1, 0).reshape(2, 3)], attributes={**heads, "unidirectional": 1})
past = f(2, 2, H, 2, E)
add("Attention, past", [tokens, weights, bias3, None, past], outputs=2, attributes={**heads, "unidirectional": 1})
add("Attention, past and mask", [tokens, weights, bias3, r.randint(0, 2, (2, 5)).astype(np.int32), past], outputs=2, attributes=heads)
add("Attention, attention bias", [tokens, weights, bias3, None, None, f(1, H, 3, 3)], attributes=heads)
add("Attention, other width of values", [tokens, f(8, 2 * hidden + 6, scale=0.4), f(2 * hidden + 6)], attributes={**heads, "qkv_hidden_sizes": [hidden, hidden, 6]})
q, k, v = f(2, 3, hidden), f(2, 5, hidden), f(2, 5, 6)
add("MultiHeadAttention", [q, k, v], attributes=heads)
add("MultiHeadAttention, bias", [q, k, v, f(2 * hidden + 6)], attributes=heads)
add("MultiHeadAttention, key lengths", [q, k, v, None, i32(4, 2)], attributes=heads)
add("MultiHeadAttention, mask", [q, k, v, None, r.randint(0, 2, (2, 5)).astype(np.int32), None], attributes={**heads, "scale": 0.4})
add("MultiHeadAttention, mask of queries", [q, k, v, None, r.randint(0, 2, (2, 3, 5)).astype(np.int32)], attributes=heads)
add("MultiHeadAttention, attention bias", [q, k, v, None, None, f(2, 1, 3, 5)], attributes=heads)
add("MultiHeadAttention, past, unidirectional", [q, f(2, 3, hidden), f(2, 3, hidden), None, None, None, f(2, H, 2, E), f(2, H, 2, E)], outputs=3, attributes={**heads, "unidirectional": 1})
add("MultiHeadAttention, encoder's keys", [q, f(2, H, 5, E), f(2, H, 5, E)], attributes=heads)


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attend(q, k, v):
    """[N, L, H, E] each."""
    q, k, v = (t.transpose(0, 2, 1, 3) for t in (q, k, v))
    y = softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])) @ v
    return y.transpose(0, 2, 1, 3).reshape(q.shape[0], q.shape[2], -1).astype(np.float32)


packed = f(2, 3, H, 3, E)
add("MultiHeadAttention, packed", [packed], attributes=heads, expected=[attend(packed[..., 0, :], packed[..., 1, :], packed[..., 2, :])])
pairs = f(2, 5, H, 2, E)
add("MultiHeadAttention, packed keys", [q, pairs], attributes=heads, expected=[attend(q.reshape(2, 3, H, E), pairs[..., 0, :], pairs[..., 1, :])])
add("MultiHeadAttention, bias of packed keys' query", [q, f(2, 5, hidden), f(2, 5, hidden), f(3 * hidden)], wanted=[0, 1, 2], attributes=heads)
inputs = u8(2, 3, 8)
add("QAttention", [inputs, i8(8, 3 * hidden), f(3 * hidden), scalar(0.02), scalar(0.01), None, scalar(120, np.uint8), scalar(3, np.int8)], attributes=heads, rtol=1e-3, atol=1e-4)
add("QAttention, columns, mask, past", [inputs, u8(8, 3 * hidden), f(3 * hidden), scalar(0.02), (np.abs(f(3 * hidden)) * 0.01).astype(np.float32), i32(2, 4), scalar(120, np.uint8), u8(3 * hidden), f(2, 2, H, 2, E)], outputs=2, attributes={**heads, "unidirectional": 1}, rtol=1e-3, atol=1e-4)

ends = i32(0, 2, 5)
# Samples of two and three tokens; rows 0, 1 and 2, 3, 4.
offsets = i32(0, 1, 3, 4, 5, 2).reshape(2, 3)


def packed_attention(q, k, v):
    y = []
    for a, b in [(0, 2), (2, 5)]:
        parts = [t[a:b].reshape(b - a, H, -1).transpose(1, 0, 2) for t in (q, k, v)]
        z = softmax(parts[0] @ parts[1].transpose(0, 2, 1) / np.sqrt(E)) @ parts[2]
        y.append(z.transpose(1, 0, 2).reshape(b - a, -1))
    return np.concatenate(y).astype(np.float32)


rows = f(5, 8)
all3 = rows @ weights + bias3
add("PackedAttention", [rows, weights, bias3, offsets, ends], attributes=heads, expected=[packed_attention(*np.split(all3, 3, -1))])
q5, k5, v5 = f(5, hidden), f(5, hidden), f(5, hidden)
add("PackedMultiHeadAttention", [q5, k5, v5, None, offsets, ends], attributes=heads, expected=[packed_attention(q5, k5, v5)])
add("PackedMultiHeadAttention, one input", [np.stack([t.reshape(5, H, E) for t in (q5, k5, v5)], 2), None, None, bias3, offsets, ends], attributes=heads, expected=[packed_attention(q5 + bias3[:8], k5 + bias3[8:16], v5 + bias3[16:])])

# Rotary embeddings and groups of heads.
angles = np.outer(np.arange(12), 0.5 ** np.arange(E // 2)).astype(np.float32)
cos, sin = np.cos(angles), np.sin(angles)
add("RotaryEmbedding, offset", [f(2, 3, hidden), np.array([2], np.int64), cos, sin])
add("RotaryEmbedding, positions", [f(2, 3, hidden), np.array([[0, 5, 3], [1, 2, 7]], np.int64), cos, sin])
add("RotaryEmbedding, interleaved", [f(2, H, 3, E), np.array([[0, 1, 2], [3, 4, 5]], np.int64), cos, sin], attributes={"interleaved": 1})
add("RotaryEmbedding, part of a head", [f(2, 3, 2 * hidden), np.array([1], np.int64), cos, sin], attributes={"num_heads": H, "rotary_embedding_dim": E})
N, K, D = 4, 2, 16
group = {"num_heads": N, "kv_num_heads": K}
angles = np.outer(np.arange(16), 0.5 ** np.arange(D // 2)).astype(np.float32)
cos, sin = np.cos(angles), np.sin(angles)


def gqa(batch, length, past=None, packed=False, cache=None):
    q, k, v = f(batch, length, N * D), f(batch, length, K * D), f(batch, length, K * D)
    own = [np.concatenate([q, k, v], -1), None, None] if packed else [q, k, v]
    caches = [None, None] if past is None else [f(batch, K, cache or past, D), f(batch, K, cache or past, D)]
    return [*own, *caches]


total = lambda n: scalar(n, np.int32)
add("GroupQueryAttention", [*gqa(2, 3), i32(2, 2), total(3)], outputs=3, attributes=group)
add("GroupQueryAttention, shorter prompts", [*gqa(2, 3), i32(2, 2), total(3)], outputs=3, attributes=group)
add("GroupQueryAttention, packed, rotary", [*gqa(2, 3, packed=True), i32(2, 2), total(3), cos, sin], outputs=3, attributes={**group, "do_rotary": 1})
add("GroupQueryAttention, interleaved", [*gqa(1, 3, packed=True), i32(2), total(3), cos, sin], outputs=3, attributes={**group, "do_rotary": 1, "rotary_interleaved": 1})
add("GroupQueryAttention, one token, past", [*gqa(1, 1, past=4), i32(4), total(5), cos, sin], outputs=3, attributes={**group, "do_rotary": 1}, constants=[6])
add("GroupQueryAttention, past of batches", [*gqa(2, 1, past=4), i32(4, 4), total(5), cos, sin], outputs=3, attributes={**group, "do_rotary": 1}, constants=[6])
add("GroupQueryAttention, several tokens, past", [*gqa(1, 3, past=4), i32(6), total(7), cos, sin], outputs=3, attributes={**group, "do_rotary": 1}, constants=[6])
add("GroupQueryAttention, other pasts", [*gqa(2, 1, past=4), i32(4, 2), total(5), cos, sin], outputs=3, attributes={**group, "do_rotary": 1}, constants=[6])
add("GroupQueryAttention, window", [*gqa(1, 6), i32(5), total(6)], outputs=3, attributes={**group, "local_window_size": 3})
add("GroupQueryAttention, window, past", [*gqa(1, 1, past=6), i32(6), total(7)], outputs=3, attributes={**group, "local_window_size": 3}, constants=[6])
add("GroupQueryAttention, softcap, scale", [*gqa(1, 4), i32(3), total(4)], outputs=3, attributes={**group, "softcap": 2.0, "scale": 0.7})
add("GroupQueryAttention, bias", [*gqa(1, 4), i32(3), total(4), None, None, None, f(1, N, 4, 4)], outputs=3, attributes=group)
add("GroupQueryAttention, bias, softcap", [*gqa(1, 4), i32(3), total(4), None, None, None, f(1, 1, 4, 4)], outputs=3, attributes={**group, "softcap": 2.0})
add("GroupQueryAttention, sink", [*gqa(1, 4), i32(3), total(4), None, None, None, None, f(N)], outputs=3, attributes=group)
add("GroupQueryAttention, smooth", [*gqa(1, 4), i32(3), total(4)], outputs=3, attributes={**group, "smooth_softmax": 1})
add("GroupQueryAttention, not causal", [*gqa(1, 4), i32(3), total(4)], outputs=3, attributes={**group, "causal": 0})
add("GroupQueryAttention, positions", [*gqa(1, 1, past=4), i32(4), total(5), cos, sin, np.array([[2]], np.int64)], outputs=3, attributes={**group, "do_rotary": 1}, constants=[6])

# Weights of a few bits.
for bits in (2, 4, 8):
    n, width, block = 5, 40, 16
    blocks = -(-width // block)
    packed = u8(n, blocks, block * bits // 8)
    scales = (np.abs(f(n, blocks)) * 0.1).astype(np.float32)
    zeros = u8(n, -(-blocks * bits // 8))
    activations = f(3, width)
    attributes = {"N": n, "K": width, "bits": bits, "block_size": block}
    add(f"MatMulNBits, {bits} bits", [activations, packed, scales], attributes=attributes, constants=[1, 2], rtol=1e-3, atol=1e-3)
    add(f"MatMulNBits, {bits} bits, zero points", [activations, packed, scales, zeros], attributes=attributes, constants=[1, 2, 3], rtol=1e-3, atol=1e-3)
    if bits == 4:
        add(f"MatMulNBits, {bits} bits, zero points of floats", [activations, packed, scales, f(n, blocks, scale=3)], attributes=attributes, constants=[1, 2, 3], rtol=1e-3, atol=1e-3)
add("MatMulNBits, bias", [f(2, 3, 32), u8(5, 2, 8), np.abs(f(5, 2)), None, None, f(5)], attributes={"N": 5, "K": 32, "bits": 4, "block_size": 16}, constants=[1, 2, 5], rtol=1e-3, atol=1e-3)
# With groups ONNX Runtime 1.32 leaves the zero points out.
add("MatMulNBits, groups", [f(3, 32), u8(5, 2, 8), np.abs(f(5, 2)), None, r.randint(0, 2, 32).astype(np.int32)], attributes={"N": 5, "K": 32, "bits": 4, "block_size": 16}, constants=[1, 2, 4], rtol=1e-3, atol=1e-3)
for kind in (0, 1):
    add(f"MatMulBnb4, type {kind}", [f(3, 32), u8(5 * 16), np.abs(f(10))], attributes={"N": 5, "K": 32, "block_size": 16, "quant_type": kind}, constants=[1, 2], rtol=1e-3, atol=1e-3)
index = np.array([[1, 3], [0, -1]], np.int64)
for bits in (2, 4, 8):
    data = u8(6, 32 * bits // 8)
    add(f"GatherBlockQuantized, {bits} bits", [data, index, np.abs(f(6, 2))], attributes={"bits": bits, "block_size": 16, "quantize_axis": 1}, constants=[0, 2])
    add(f"GatherBlockQuantized, {bits} bits, zero points", [data, index, np.abs(f(6, 2)), u8(6, max(1, 2 * bits // 8))], attributes={"bits": bits, "block_size": 16, "quantize_axis": 1}, constants=[0, 2, 3])
for name, data_type, low in (("int4", TensorProto.INT4, -8), ("uint4", TensorProto.UINT4, 0)):
    levels = lambda *shape: narrow(data_type, shape, (r.randint(0, 16, int(np.prod(shape))) + low).tolist())
    add(f"GatherBlockQuantized, {name}", [levels(3, 4, 32), index % 3, np.abs(f(3, 4, 2)), levels(3, 4, 2)], attributes={"block_size": 16, "quantize_axis": 2, "gather_axis": 0}, constants=[0, 2, 3])
    add(f"GatherBlockQuantized, {name}, other axes", [levels(3, 32, 4), index, np.abs(f(3, 2, 4))], attributes={"block_size": 16, "quantize_axis": 1, "gather_axis": 2}, constants=[0, 2])

# Experts.
e, inter, wide = 4, 6, 8
for kind in ("relu", "gelu", "silu", "identity"):
    add(f"MoE, {kind}", [f(5, wide), f(5, e), f(e, inter, wide), f(e, inter), f(e, wide, inter), f(e, wide)], attributes={"k": 2, "activation_type": kind, "normalize_routing_weights": 1})
add("MoE, one of four, not normalized", [f(2, 3, wide), f(6, e), f(e, inter, wide), None, f(e, wide, inter), None], attributes={"k": 1, "activation_type": "relu"})
add("MoE, two of four, not normalized", [f(6, wide), f(6, e), f(e, inter, wide), None, f(e, wide, inter), None], attributes={"k": 2, "activation_type": "relu"})
add("MoE, swiglu", [f(1, wide), f(1, e), f(e, 2 * inter, wide), f(e, 2 * inter), f(e, wide, inter), f(e, wide)], attributes={"k": 2, "activation_type": "swiglu", "swiglu_fusion": 1, "activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 1.0, "normalize_routing_weights": 1})


def levels_of(packed, bits):
    parts = [(packed >> (bits * i)) & (2**bits - 1) for i in range(8 // bits)]
    return np.stack(parts, -1).reshape(*packed.shape[:-1], -1).astype(np.float32)


def blocks_of(packed, scales, zeros, bits):
    q = levels_of(packed, bits)
    blocks = scales.shape[-1]
    parts = q.reshape(*q.shape[:-1], blocks, -1) - levels_of(zeros, bits)[..., :blocks, None]
    return (parts * scales[..., None]).reshape(q.shape)


def experts_of(x, logits, first, second):
    """The two best of each token."""
    y = np.zeros_like(x)
    for t in range(len(x)):
        best = np.argsort(-logits[t])[:2]
        shares = np.exp(logits[t][best] - logits[t][best].max())
        for n, share in zip(best, shares / shares.sum()):
            y[t] += share * (np.maximum(x[t] @ first[n].T, 0) @ second[n].T)
    return y


for bits in (4, 8):
    first, second = u8(e, 16, 32 * bits // 8), u8(e, 32, 16 * bits // 8)
    low = lambda *shape: (np.abs(f(*shape)) * 0.02).astype(np.float32)
    common = {"k": 2, "expert_weight_bits": bits, "activation_type": "relu", "weights_prepacked": 0, "normalize_routing_weights": 1}
    add(f"QMoE, {bits} bits", [f(5, 32), f(5, e), first, low(e, 16), f(e, 16), second, low(e, 32), f(e, 32)], attributes=common, constants=[2, 3, 4, 5, 6, 7], rtol=1e-2, atol=1e-2)
    x, logits, z1, z2 = f(1, 32), f(1, e), u8(e, 16, 2 * bits // 8), u8(e, 32, max(1, bits // 8))
    s1, s2 = low(e, 16, 2), low(e, 32, 1)
    # With blocks of 8 bits ONNX Runtime rounds the activations to 8 bits.
    exact = [experts_of(x, logits, blocks_of(first, s1, z1, bits), blocks_of(second, s2, z2, bits))] if bits == 8 else None
    add(f"QMoE, {bits} bits, blocks, zero points", [x, logits, first, s1, None, second, s2, None, None, None, None, z1, z2], attributes={**common, "block_size": 16}, constants=[2, 3, 5, 6, 11, 12], rtol=2e-2, atol=2e-2, expected=exact)

# Quantized layers.
q1, q2 = u8(2, 3, 4, 4), u8(2, 3, 4, 4)
s1, s2, s3 = scalar(0.02), scalar(0.03), scalar(0.05)
z1, z2, z3 = (scalar(z, np.uint8) for z in (120, 110, 100))
near = {"atol": 1, "rtol": 0}
for op in ("QLinearAdd", "QLinearMul"):
    add(op, [q1, s1, z1, q2, s2, z2, s3, z3], **near)
    add(f"{op}, int8, broadcast", [i8(2, 3, 4), s1, scalar(0, np.int8), i8(4), s2, scalar(-3, np.int8), s3, scalar(5, np.int8)], **near)
add("QLinearSigmoid", [q1, s1, z1, scalar(1 / 256), scalar(0, np.uint8)], **near)
add("QLinearLeakyRelu", [q1, s1, z1, s2, z2], attributes={"alpha": 0.2}, **near)
add("QLinearConcat", [s3, z3, q1, s1, z1, q2, s2, z2], attributes={"axis": 1}, **near)
add("QLinearGlobalAveragePool", [q1, s1, z1, s3, z3], **near)
add("QLinearGlobalAveragePool, channels last", [q1, s1, z1, s3, z3], attributes={"channels_last": 1}, **near)
add("QLinearAveragePool", [q1, s1, z1, s3, z3], attributes={"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 0, 0, 1]}, **near)
add("QLinearAveragePool, padding counts", [q1, s1, z1, s3, z3], attributes={"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}, **near)
add("QLinearAveragePool, channels last", [q1, s1, z1, s3, z3], attributes={"kernel_shape": [2, 2], "channels_last": 1, "ceil_mode": 1}, **near)
add("QLinearSoftmax", [q1, s1, z1, scalar(1 / 256), scalar(0, np.uint8)], attributes={"opset": 13, "axis": 1}, **near)
add("QLinearSoftmax, all axes", [q1, s1, z1, scalar(1 / 256), scalar(0, np.uint8)], attributes={"opset": 11, "axis": 2}, **near)
add("QLinearWhere", [r.randint(0, 2, (2, 3, 4, 4)).astype(bool), q1, s1, z1, q2, s2, z2, s3, z3], **near)
add("QLinearConv, channels last", [u8(1, 5, 5, 4), s1, z1, i8(6, 4, 3, 3), (np.abs(f(6)) * 0.01).astype(np.float32), np.zeros(6, np.int8), s3, z3, r.randint(-99, 99, 6).astype(np.int32)], attributes={"channels_last": 1, "pads": [1, 1, 1, 1]}, constants=[3, 4, 5, 8], **near)
add("QGemm", [u8(3, 4), s1, z1, i8(5, 4), s2, scalar(2, np.int8), r.randint(-99, 99, 5).astype(np.int32), s3, z3], attributes={"transB": 1, "alpha": 0.5}, **near)
add("QGemm, columns, float", [u8(4, 3), s1, z1, u8(4, 5), (np.abs(f(5)) * 0.1).astype(np.float32), u8(5), None, None, None], attributes={"transA": 1})
add("MatMulIntegerToFloat", [u8(2, 3, 4), i8(4, 5), s1, (np.abs(f(5)) * 0.1).astype(np.float32), z1, i8(5), f(5)])
add("MatMulIntegerToFloat, no zero points", [i8(3, 4), i8(4, 5), s1, s2])
add("DynamicQuantizeMatMul", [f(2, 3, 4), i8(4, 5), scalar(0.02), scalar(2, np.int8), f(5)], constants=[1, 2, 3])
add("DynamicQuantizeMatMul, columns", [f(3, 4), u8(4, 5), (np.abs(f(5)) * 0.1).astype(np.float32), u8(5)], constants=[1, 2, 3])
size, width = 4, 3
lstm = lambda directions, d: [d(directions, width, 4 * size), d(directions, size, 4 * size)]
for name, directions, d, zero in (("forward", 1, i8, np.int8), ("bidirectional", 2, u8, np.uint8)):
    w, recurrent = lstm(directions, d)
    z = np.full((directions,), 3 if zero is np.int8 else 128, zero)
    add(f"DynamicQuantizeLSTM, {name}", [f(5, 2, width), w, recurrent, f(directions, 8 * size), None, None, None, None, np.full(directions, 0.01, np.float32), z, np.full(directions, 0.008, np.float32), z], outputs=3, attributes={"hidden_size": size, "direction": name}, constants=[1, 2, 3, 8, 9, 10, 11], rtol=0.05, atol=0.02)
add("MatMulInteger16", [r.randint(-999, 999, (2, 3, 4)).astype(np.int16), r.randint(-999, 999, (4, 5)).astype(np.int16)])
halves = f(3, 8, scale=2)
for name, dtype, zero in (("uint8", np.uint8, 120), ("int8", np.int8, -3), ("uint16", np.uint16, 30000), ("int16", np.int16, 5)):
    add(f"QuantizeLinear, {name}", [halves, scalar(0.03), scalar(zero, dtype)])
    add(f"DequantizeLinear, {name}", [r.randint(np.iinfo(dtype).min, np.iinfo(dtype).max, (3, 8)).astype(dtype), scalar(0.03), scalar(zero, dtype)])
add("QuantizeLinear, axis 0", [halves, np.array([0.01, 0.03, 0.1], np.float32), np.array([1, 2, 3], np.uint8)], attributes={"axis": 0})
add("DequantizeLinear, int32, axis 0", [r.randint(-9999, 9999, (3, 8)).astype(np.int32), np.array([0.01, 0.03, 0.1], np.float32)], attributes={"axis": 0})

# Others.
add("Inverse", [f(2, 3, 3) + 3 * np.eye(3, dtype=np.float32)])
add("Trilu", [f(2, 4, 5), np.array([1], np.int64)], constants=[1])
add("Trilu, lower", [f(4, 5)], attributes={"upper": 0})
add("Pad", [f(2, 3), np.array([0, 1, 2, 0], np.int64), scalar(1.5)], constants=[1, 2])
add("Pad, reflect", [f(3, 4), np.array([1, 1, 2, 0], np.int64)], constants=[1], attributes={"mode": "reflect"})
add("Range", [scalar(2), scalar(7), scalar(1.5)], constants=[0, 1, 2])
add("Range, no step", [np.array([2], np.int64), np.array([7], np.int64)], constants=[0, 1])
for mode in ("bilinear", "nearest", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        add(f"GridSample, {mode}, {padding}", [f(1, 2, 4, 5), (f(1, 3, 3, 2) * 0.8).astype(np.float32)], attributes={"mode": mode, "padding_mode": padding, "align_corners": 1 if padding == "border" else 0}, rtol=1e-3, atol=1e-4)
add("ExpandDims", [f(2, 3), i32(-1).reshape(())], constants=[1])
add("GatherND", [f(3, 4, 2), np.array([[0, 1], [2, 3]], np.int64)])
add("UnfoldTensor", [f(2, 7)], attributes={"size": 3, "step": 2, "dim": 1})
add("Unique", [np.array([2, 1, 1, 3, 4, 3], np.float32)], outputs=3)
add("CDist", [f(3, 4), f(5, 4)], attributes={"metric": "euclidean"})
add("CDist, squares", [f(3, 4), f(5, 4)])
add("NGramRepeatBlock", [np.array([[1, 2, 3, 1, 2], [0, 1, 0, 1, 0]], np.int64), f(2, 6)], attributes={"ngram_size": 3})
ca, cb = f(3, 4, 2), f(3, 4, 2)
product = (ca[..., 0] + 1j * ca[..., 1]) * (cb[..., 0] + 1j * cb[..., 1])
add("ComplexMul", [ca, cb], expected=[np.stack([product.real, product.imag], -1).astype(np.float32)])
product = (ca[..., 0] + 1j * ca[..., 1]) * (cb[..., 0] - 1j * cb[..., 1])
add("ComplexMulConj", [ca, cb], expected=[np.stack([product.real, product.imag], -1).astype(np.float32)])
padded = f(2, 3, 4)
tokens5 = np.concatenate([padded[0, :2], padded[1]])
add("RemovePadding", [padded, i32(2, 3)], outputs=4, expected=[tokens5, i32(0, 1, 3, 4, 5, 2).reshape(2, 3), i32(0, 2, 5), i32(3)])
restored = padded.copy()
restored[0, 2] = 0
add("RestorePadding", [tokens5, i32(0, 1, 3, 4, 5, 2).reshape(2, 3)], expected=[restored])

cases.write(pathlib.Path(__file__).parent / "microsoft.jsonl.gz")
