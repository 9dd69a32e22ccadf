"""``//py:demo``: ``trtscope demo`` as a program of its own."""

import sys

from trtscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["demo", *sys.argv[1:]]))
