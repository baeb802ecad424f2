"""Records what torch.inference_mode allows, and what tensors are then: python inference-mode.py > inference-mode.json, then prettier (torch 2.15)."""
import json
import torch

mode = torch.inference_mode
cases = {}

def case(fn):
    cases["".join(w.capitalize() if i else w for i, w in enumerate(fn.__name__.split("_")))] = fn

def leaf(): return torch.tensor([1.0, 2.0], requires_grad=True)

def made():
    with mode(): return torch.tensor([3.0, 4.0])

@case
def made_inside(): return made()
@case
def computed_inside():
    x = leaf()
    with mode(): return x * 2
@case
def enable_grad_inside():
    x = leaf()
    with mode():
        with torch.enable_grad(): return x * 2
@case
def no_grad_around():
    x = leaf()
    with torch.no_grad():
        with mode(): return x * 2
@case
def no_grad_inside():
    x = leaf()
    with mode():
        with torch.no_grad(): return x * 2
@case
def turned_off_inside():
    x = leaf()
    with mode():
        with mode(False): return x * 2
@case
def view_of_leaf_inside():
    x = leaf()
    with mode(): return x[0:1]
@case
def view_of_ordinary_inside():
    x = torch.tensor([1.0, 2.0])
    with mode(): return x[0:1]
@case
def view_of_inference_inside():
    with mode(): return torch.tensor([1.0, 2.0])[0:1]
@case
def view_of_inference_outside(): return made()[0:1]
@case
def detach_outside(): return made().detach()
@case
def computed_outside(): return made() * 2
@case
def clone_outside(): return made().clone()
@case
def clone_saved_outside(): return made().clone() * leaf()
@case
def clone_inside():
    x = torch.tensor([1.0, 2.0])
    with mode(): return x.clone()
@case
def sum_with_leaf_outside(): return made() + leaf()
@case
def product_with_leaf_outside(): return made() * leaf()
@case
def product_in_no_grad():
    x, t = leaf(), made()
    with torch.no_grad(): return t * x
@case
def product_with_ordinary(): return made() * torch.tensor([1.0, 2.0])
@case
def result_saved_outside():
    return made().exp()
@case
def in_place_outside(): return made().add_(1)
@case
def in_place_outside_in_no_grad():
    t = made()
    with torch.no_grad(): return t.add_(1)
@case
def in_place_of_a_view_outside():
    t = made()
    return t[0:1].zero_()
@case
def copy_into_outside():
    return made().copy_(torch.tensor([1.0, 2.0]))
@case
def resize_outside(): return made().resize_(3)
@case
def in_place_inside():
    t = made()
    with mode(): return t.add_(1)
@case
def in_place_of_ordinary_inside():
    x = torch.tensor([1.0, 2.0])
    with mode(): x.add_(1)
    return x
@case
def in_place_of_leaf_inside():
    x = leaf()
    with mode(): x.add_(1)
    return x
@case
def in_place_of_ordinary_from_inference():
    return torch.tensor([1.0, 2.0]).add_(made())
@case
def in_place_of_inside_view_outside():
    x = leaf() * 1
    with mode(): v = x[0:1]
    return v.add_(1)
@case
def in_place_of_inside_view_in_no_grad():
    x = leaf() * 1
    with mode(): v = x[0:1]
    with torch.no_grad(): return v.add_(1)
@case
def in_place_of_ordinary_inside_view_outside():
    x = torch.tensor([1.0, 2.0])
    with mode(): v = x[0:1]
    return v.add_(1)
@case
def saved_then_changed_inside():
    x = leaf()
    y = x * 1
    z = y * y
    with mode(): y.add_(1)
    z.sum().backward()
    return x.grad
@case
def requires_grad_outside(): return made().requires_grad_()
@case
def requires_no_grad_outside(): return made().requires_grad_(False)
@case
def requires_grad_inside():
    t = made()
    with mode(): return t.requires_grad_()
@case
def option_inside():
    with mode(): return torch.ones(2, requires_grad=True)
@case
def leaf_computed_inside():
    with mode(): return torch.ones(2, requires_grad=True) * 2
@case
def inference_leaf_outside():
    with mode(): t = torch.ones(2, requires_grad=True)
    return t * 2
@case
def version_of_inference(): return torch.tensor(made()._version)
@case
def version_inside():
    x = torch.tensor([1.0, 2.0])
    with mode(): x.add_(1).add_(1)
    return torch.tensor(x._version)
@case
def backward_inside():
    x = leaf()
    y = (x * x).sum()
    with mode(): y.backward()
    return x.grad
@case
def integers_inside():
    with mode(): return torch.tensor([1, 2])
@case
def integers_changed_outside():
    with mode(): t = torch.tensor([1, 2])
    return t.add_(1)
@case
def indices_saved_outside():
    with mode(): t = torch.tensor([1, 0])
    return leaf().index_select(0, t)
@case
def compiled_inside():
    x = leaf()
    with mode(): return torch.compile(lambda t: t * 2, backend="aot_eager")(x)
@case
def inside_compiled():
    def f(t):
        with mode(): return t * 2
    return torch.compile(f, backend="aot_eager")(leaf())
@case
def compiled_saves():
    return torch.compile(lambda t, w: t * w, backend="aot_eager")(made(), leaf())
@case
def compiled_adds():
    return torch.compile(lambda t, w: t + w, backend="aot_eager")(made(), leaf())
@case
def compiled_writes():
    return torch.compile(lambda t: t.add_(1), backend="aot_eager")(made())
@case
def grad_mode_inside():
    with mode(): return torch.tensor([torch.is_grad_enabled(), torch.is_inference_mode_enabled()])
@case
def grad_mode_enabled_inside():
    with mode():
        with torch.enable_grad(): return torch.tensor([torch.is_grad_enabled(), torch.is_inference_mode_enabled()])
@case
def parameter_over_inference(): return torch.nn.Parameter(made())
@case
def fixed_parameter_over_inference(): return torch.nn.Parameter(made(), requires_grad=False)
@case
def parameter_over_clone(): return torch.nn.Parameter(made().clone())
@case
def backward_inside_then_outside():
    x = leaf()
    y = (x * x).sum()
    with mode(): y.backward(retain_graph=True)
    y.backward()
    return x.grad
@case
def vjp_of_inference(): return torch.autograd.functional.vjp(lambda t: (t * 2).sum(), made())[1]
@case
def leaf_history_takes_inference():
    y = leaf() * 1
    return y.add_(made())
@case
def leaf_history_times_inference():
    y = leaf() * 1
    return y.mul_(made())
@case
def turned_on_again():
    with mode():
        with mode(False):
            with mode(): return torch.ones(2)
@case
def detached_leaf_changed_inside():
    x = leaf()
    v = x.detach()
    with mode(): v.add_(1)
    return x
@case
def cast_outside(): return made().to(torch.float16)
@case
def same_dtype_outside(): return made().to(torch.float32)
@case
def module_made_inside():
    with mode(): m = torch.nn.PReLU(2)
    return m.requires_grad_().weight
@case
def state_from_inside():
    m = torch.nn.PReLU(2)
    with mode(): state = {"weight": torch.tensor([3.0, 4.0])}
    m.load_state_dict(state)
    return m.weight

rows = []
for name, fn in cases.items():
    torch._dynamo.reset()
    try:
        t = fn()
        with mode(): values = t.flatten().tolist()
        rows.append({"case": name, "requiresGrad": t.requires_grad, "isInference": t.is_inference(), "isLeaf": t.is_leaf, "values": values})
    except RuntimeError as e:
        rows.append({"case": name, "refused": str(e).split(".")[0].split("\n")[0][:90]})
print("[\n" + ",\n".join("  " + json.dumps(r) for r in rows) + "\n]")
