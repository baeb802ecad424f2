"""Records features, logits and greedy tokens of a small Whisper: python whisper.py > whisper.json (transformers 5.24, torch 2.15)."""
import json
import sys
import torch
from types import SimpleNamespace
from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration
from transformers.generation.logits_process import WhisperTimeStampLogitsProcessor


def hashed(start, count):
    n = torch.arange(count, dtype=torch.int64)
    bits = ((n + start) * 2654435761 + start * 40503) % 2**32
    bits = ((bits ^ (bits >> 15)) * 2246822519) % 2**32
    return (bits.double() / 2**32 - 0.5) * 2


def fill(model):
    """State that a test makes again: a hash of the name and the position. Matrices keep the size of what they get."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            values = hashed(sum((i + 1) * ord(c) for i, c in enumerate(name)), p.numel())
            if p.dim() > 1:
                values = values * (3 * p.shape[0] / p.numel()) ** 0.5
            elif name.endswith("weight"):
                values = values * 0.3 + 1
            else:
                values = values * 0.1
            p.copy_(values.float().reshape(p.shape))


sounds = [hashed(5, 12000) * torch.sin(torch.arange(12000).double() / 900), hashed(9, 20000) * 0.1]
extractor = WhisperFeatureExtractor(feature_size=80, chunk_length=1)
features = extractor([s.float().numpy() for s in sounds], sampling_rate=16000, return_tensors="pt").input_features
values = dict(vocab_size=29, num_mel_bins=80, d_model=16, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=4,
              encoder_ffn_dim=24, decoder_ffn_dim=20, max_source_positions=50, max_target_positions=20, decoder_start_token_id=3, pad_token_id=0,
              bos_token_id=1, eos_token_id=2, suppress_tokens=[7, 11], begin_suppress_tokens=[5, 2])
config = WhisperConfig(**values)
model = WhisperForConditionalGeneration(config).eval()
fill(model)
with torch.no_grad():
    # Texts that do not repeat one token.
    model.model.decoder.embed_positions.weight.mul_(5)
tokens = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
with torch.no_grad():
    encoded = model.model.encoder(features).last_hidden_state
    logits = model(features, decoder_input_ids=tokens).logits
    greedy = []
    for sound in range(2):
        text = [3, 8]
        while len(text) < 14:
            step = model(features[sound : sound + 1], decoder_input_ids=torch.tensor([text])).logits[0, -1]
            step[[7, 11]] = -float("inf")
            if len(text) == 2:
                step[[5, 2]] = -float("inf")
            text.append(int(step.argmax()))
            if text[-1] == 2:
                break
        greedy.append(text[2:])
    # By the rules of timestamps: 17 ends a text, 18 says that there are none, 19 and those behind it are times.
    timed = []
    for first in [None, 2]:
        rules = WhisperTimeStampLogitsProcessor(SimpleNamespace(no_timestamps_token_id=18, eos_token_id=17, bos_token_id=1, max_initial_timestamp_index=first), begin_index=2)
        for scale in [1, 3]:
            for sound in range(2):
                text = [3, 8]
                while len(text) < 19:
                    step = scale * model(features[sound : sound + 1], decoder_input_ids=torch.tensor([text])).logits[0, -1]
                    step[[7, 11]] = -float("inf")
                    if len(text) == 2:
                        step[[5, 2]] = -float("inf")
                    text.append(int(rules(torch.tensor([text]), step[None])[0].argmax()))
                    if text[-1] == 17:
                        break
                timed.append({"first": first, "scale": scale, "sound": sound, "tokens": text[2:]})
flat = lambda t: [round(v, 5) for v in t.flatten().tolist()]
json.dump({"config": {"model_type": "whisper", **values}, "names": list(model.state_dict().keys()), "features": flat(features)[::7], "encoded": flat(encoded)[::3],
           "tokens": tokens.tolist(), "logits": flat(logits), "greedy": greedy, "timed": timed}, sys.stdout, separators=(",", ":"))
