"""Records values, gradients and five training steps of parametrized layers: python parametrize.py > parametrize.json (torch 2.15)."""
import json
import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm

torch.manual_seed(5)


def flat(t):
    return [float(v) for v in t.detach().flatten()]


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)

    def right_inverse(self, a):
        return a.triu()


class Exp(nn.Module):
    def forward(self, x):
        return x.exp()


class Rank1(nn.Module):
    def forward(self, u, v):
        return u.unsqueeze(-1) @ v.unsqueeze(-2)

    def right_inverse(self, w):
        return w[:, 0].clone(), w[0].clone()


def chained(m):
    parametrize.register_parametrization(m, "weight", Symmetric())
    parametrize.register_parametrization(m, "weight", Exp())
    return m


def rank1(m):
    parametrize.register_parametrization(m, "weight", Rank1(), unsafe=True)
    return m


CASES = {
    "symmetric, then exp": (lambda: chained(nn.Linear(3, 3)), [4, 3]),
    "two originals": (lambda: rank1(nn.Linear(3, 2)), [4, 3]),
    "weightNorm": (lambda: weight_norm(nn.Linear(3, 2)), [4, 3]),
    "weightNorm dim 1": (lambda: weight_norm(nn.Conv2d(2, 3, 2), dim=1), [1, 2, 3, 3]),
    "weightNorm dim null": (lambda: weight_norm(nn.Linear(3, 2), dim=None), [4, 3]),
    "spectralNorm": (lambda: spectral_norm(nn.Linear(3, 4)), [4, 3]),
    "spectralNorm of a transposed convolution": (lambda: spectral_norm(nn.ConvTranspose1d(2, 3, 2), n_power_iterations=2), [1, 2, 3]),
    "spectralNorm of a bias": (lambda: spectral_norm(nn.Linear(3, 4), "bias"), [4, 3]),
    "orthogonal matrix_exp": (lambda: orthogonal(nn.Linear(3, 3)), [4, 3]),
    "orthogonal cayley, wide": (lambda: orthogonal(nn.Linear(4, 2), orthogonal_map="cayley"), [4, 4]),
    "orthogonal householder, tall": (lambda: orthogonal(nn.Linear(2, 4)), [4, 2]),
    "orthogonal householder without a base": (lambda: orthogonal(nn.Linear(2, 4), use_trivialization=False), [4, 2]),
    "orthogonal matrix_exp without a base": (lambda: orthogonal(nn.Linear(2, 4), orthogonal_map="matrix_exp", use_trivialization=False), [4, 2]),
}


def record(make, shape):
    layer = make()
    state = {k: dict(shape=list(v.shape), data=flat(v)) for k, v in layer.state_dict().items()}
    x = torch.randn(*shape)
    steps = []
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.5)
    for _ in range(5):
        optimizer.zero_grad()
        y = layer(x)
        loss = (y * y).mean() + y.sum() * 0.1
        loss.backward()
        grads = {k: flat(p.grad) for k, p in layer.named_parameters()}
        steps.append(dict(y=flat(y), grads=grads))
        optimizer.step()
    layer.eval()
    name = "bias" if "parametrizations.bias.original" in state else "weight"
    value = flat(getattr(layer, name))
    parametrize.remove_parametrizations(layer, name)
    return dict(state=state, x=dict(shape=shape, data=flat(x)), first=steps[0], last=steps[-1], value=value,
                removed={k: list(v.shape) for k, v in layer.state_dict().items()})


print(json.dumps({name: record(*case) for name, case in CASES.items()}))
