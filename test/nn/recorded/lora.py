"""Records training with PEFT's LoRA: python lora.py, in its folder (peft 0.21, transformers 5.24, torch 2.15). Writes lora.json, and a folder of PEFT's for each case."""
import json
import os
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig

STEPS = 24


def hashed(start, count):
    n = torch.arange(count, dtype=torch.int64)
    bits = ((n + start) * 2654435761 + start * 40503) % 2**32
    bits = ((bits ^ (bits >> 15)) * 2246822519) % 2**32
    return (bits.double() / 2**32 - 0.5) * 2


def fill(model, scale=0.3):
    """Weights that a test makes again: a hash of the name and the position. Names are those of the model without PEFT's."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            name = name.removeprefix("base_model.model.").replace(".base_layer", "")
            name = name.replace(".original_module", "").replace(".modules_to_save.default", "")
            start = sum((i + 1) * ord(c) for i, c in enumerate(name))
            norm = name.endswith("norm.weight") or "layernorm" in name or ("ln_" in name and name.endswith("weight"))
            p.copy_((hashed(start, p.numel()) * scale + (1 if norm else 0)).float().reshape(p.shape))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(2, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 6, 3, stride=2, groups=2)
        self.mix = nn.Conv1d(6, 5, 2)
        self.inner = nn.Linear(20, 4)
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        x = torch.relu(self.second(torch.relu(self.first(x))))
        return self.head(torch.relu(self.inner(self.mix(x.flatten(2)[:, :, :5]).flatten(1))))


tokens = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6], [6, 2, 9, 5, 1, 4, 1, 3]])
images = hashed(7, 3 * 2 * 7 * 7).float().reshape(3, 2, 7, 7)
classes = torch.tensor([0, 2, 1])


def text_loss(model):
    logits = model(tokens).logits
    return logits, nn.functional.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1))


def image_loss(model):
    logits = model(images)
    return logits, nn.functional.cross_entropy(logits, classes)


small = dict(vocab_size=13, bos_token_id=None, eos_token_id=None, pad_token_id=0)
llama = dict(small, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, rms_norm_eps=1e-5,
             max_position_embeddings=16, tie_word_embeddings=False)
gpt2 = dict(small, n_embd=16, n_layer=1, n_head=2, n_positions=16, attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)
cases = {
    "llama": (lambda: AutoModelForCausalLM.from_config(LlamaConfig(**llama)), text_loss, {"model_type": "llama", "rope_theta": 10000.0, **llama},
              dict(r=2, lora_alpha=6, target_modules=["q_proj", "v_proj", "down_proj", "embed_tokens"], task_type="CAUSAL_LM")),
    "gpt2": (lambda: AutoModelForCausalLM.from_config(GPT2Config(**gpt2)), text_loss, {"model_type": "gpt2", **gpt2},
             dict(r=2, lora_alpha=4, target_modules="all-linear", bias="lora_only", fan_in_fan_out=True, task_type="CAUSAL_LM")),
    "net": (Net, image_loss, None,
            dict(r=4, lora_alpha=8, target_modules=["first", "second", "mix", "inner"], use_rslora=True, lora_bias=True, bias="all",
                 rank_pattern={"inner": 2}, alpha_pattern={"mix|inner": 3}, modules_to_save=["head"])),
}
result = {"steps": STEPS, "cases": {}}
for name, (make, loss_of, model_config, config) in cases.items():
    model = make()
    fill(model)
    with torch.no_grad():
        before = loss_of(model)[0]
    model = get_peft_model(model, LoraConfig(**config))
    model.eval()
    fill(model)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model)[1]
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 6))
    with torch.no_grad():
        after = loss_of(model)[0]
    model.save_pretrained(f"lora-{name}")
    os.remove(f"lora-{name}/README.md")
    flat = lambda t: [round(v, 5) for v in t.flatten().tolist()]
    result["cases"][name] = {"config": model_config, "losses": losses, "before": flat(before), "after": flat(after)}
json.dump(result, open("lora.json", "w"), separators=(",", ":"))
