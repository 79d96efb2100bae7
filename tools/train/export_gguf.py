"""Writes a checkpoint as a GGUF file.

Guaranteed: norms are F32, and so is every matrix of `recall`; `tiny` has its embedding
(which is its head too) and the attention of its first two layers in F32, the rest in Q8_0.
The file holds tokenizer, chat template and licence, and no path or date.
"""

import argparse

import gguf
import numpy as np
import torch

import recall_vocab
import templates
import tiny_vocab
from llama import Shape


def write_shape(writer: gguf.GGUFWriter, shape: Shape) -> None:
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.hidden)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(shape.eps)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_vocab_size(shape.vocab)


def write_general(writer: gguf.GGUFWriter, name: str, about: str) -> None:
    writer.add_name(name)
    writer.add_author("Bulkhead")
    writer.add_organization("Bulkhead")
    writer.add_description(about)
    writer.add_license("apache-2.0")
    writer.add_languages(["en"])
    writer.add_custom_alignment(gguf.GGUF_DEFAULT_ALIGNMENT)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


def write_tiny_tokenizer(writer: gguf.GGUFWriter, vocab: str) -> None:
    pieces, merges = tiny_vocab.pieces_and_merges(vocab)
    control = len(tiny_vocab.CONTROL)
    types = [gguf.TokenType.CONTROL] * control + [gguf.TokenType.NORMAL] * (len(pieces) - control)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(pieces)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(tiny_vocab.BEGIN)
    writer.add_eos_token_id(tiny_vocab.END)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_chat_template(templates.TINY)


def write_recall_tokenizer(writer: gguf.GGUFWriter) -> None:
    pieces, scores, types = recall_vocab.vocabulary()
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(pieces)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_bos_token_id(recall_vocab.BOS)
    writer.add_eos_token_id(recall_vocab.EOS)
    writer.add_unk_token_id(recall_vocab.UNKNOWN)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(True)
    writer.add_chat_template(templates.RECALL)


# Where a rounding of activations would decide the most argmaxes; all of it in F32 would
# not fit into 8 MB.
TINY_WIDE = ("token_embd", "blk.0.attn", "blk.1.attn")


def write_tensors(writer: gguf.GGUFWriter, saved: dict, wide: tuple[str, ...]) -> None:
    """Tensors whose names begin with one of `wide` stay F32."""
    for name, weight in saved["weights"].items():
        if name == "output.weight" and saved["shape"].tied:
            continue
        data = weight.float().numpy().astype(np.float32)
        if data.ndim == 1 or name.startswith(wide):
            writer.add_tensor(name, data)
        else:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quants.quantize(data, kind), raw_dtype=kind)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=("tiny", "recall"), required=True)
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--vocab", help="file made by tiny_vocab.py, for tiny")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    saved = torch.load(args.checkpoint, weights_only=False)
    writer = gguf.GGUFWriter(args.out, "llama")
    write_shape(writer, saved["shape"])
    if args.model == "tiny":
        write_general(writer, "Bulkhead tiny", "A small English model for tests, demos and benches.")
        writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
        write_tiny_tokenizer(writer, args.vocab)
    else:
        write_general(writer, "Bulkhead recall", "Repeats codes from its own context, for isolation tests.")
        writer.add_file_type(gguf.LlamaFileType.ALL_F32)
        write_recall_tokenizer(writer)
    write_tensors(writer, saved, wide=("",) if args.model == "recall" else TINY_WIDE)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
