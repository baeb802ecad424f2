"""Records logits and greedy tokens of a small GPT-2: python gpt2.py > gpt2.json (transformers 5.24, torch 2.15)."""
import json
import sys
import torch
from transformers import AutoModelForCausalLM, GPT2Config


def fill(model, scale=0.3):
    """Weights that a test makes again: a hash of the name and the position."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            start = sum((i + 1) * ord(c) for i, c in enumerate(name))
            n = torch.arange(p.numel(), dtype=torch.int64)
            bits = ((n + start) * 2654435761 + start * 40503) % 2**32
            bits = ((bits ^ (bits >> 15)) * 2246822519) % 2**32
            values = (bits.double() / 2**32 - 0.5) * 2 * scale
            if "ln_" in name and name.endswith("weight"):
                values = values + 1
            p.copy_(values.float().reshape(p.shape))


cases = {
    "gpt2": (GPT2Config, dict(vocab_size=37, n_embd=32, n_layer=2, n_head=4, n_positions=40, bos_token_id=None, eos_token_id=None,
                              pad_token_id=0)),
}
prompts = [[3, 1, 4, 1, 5, 9, 2, 6], [35, 8, 9]]
result = {"prompts": prompts, "cases": {}}
for name, (make, values) in cases.items():
    config = make(**values)
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config).eval()
    fill(model)
    tokens = torch.tensor([prompts[0], prompts[0][::-1]])
    with torch.no_grad():
        logits = model(tokens).logits
        greedy = [model.generate(torch.tensor([p]), attention_mask=torch.ones(1, len(p), dtype=torch.int64), do_sample=False, max_new_tokens=20)[0, len(p):].tolist() for p in prompts]
    asked = {"model_type": config.model_type, **values}
    result["cases"][name] = {"config": asked, "names": list(model.state_dict().keys()),
                             "logits": [round(v, 6) for v in logits.flatten().tolist()], "greedy": greedy}
json.dump(result, sys.stdout, separators=(",", ":"))
