"""Reads one of our GGUF files back into a PyTorch model.

Guaranteed: the weights are the file's, dequantised, so what is measured on this
model is measured on what is shipped.
"""

import gguf
import torch

from llama import Llama, Shape


def field(reader: gguf.GGUFReader, key: str) -> float:
    return reader.fields[key].contents()


def read(path: str) -> Llama:
    reader = gguf.GGUFReader(path)
    weights = {
        t.name: torch.from_numpy(gguf.quants.dequantize(t.data, t.tensor_type).copy())
        for t in reader.tensors
    }
    shape = Shape(
        vocab=field(reader, "llama.vocab_size"),
        hidden=field(reader, "llama.embedding_length"),
        layers=field(reader, "llama.block_count"),
        heads=field(reader, "llama.attention.head_count"),
        kv_heads=field(reader, "llama.attention.head_count_kv"),
        ffn=field(reader, "llama.feed_forward_length"),
        context=field(reader, "llama.context_length"),
        rope_base=field(reader, "llama.rope.freq_base"),
        eps=field(reader, "llama.attention.layer_norm_rms_epsilon"),
        tied="output.weight" not in weights,
    )
    if shape.tied:
        weights["output.weight"] = weights["token_embd.weight"]
    model = Llama(shape)
    model.load_state_dict(weights)
    return model.eval()
