"""``//py:demo``: ``trtscope demo`` as a program of its own."""

import sys

from trtscope._standing import stand_with_the_user
from trtscope.cli import main

if __name__ == "__main__":
    stand_with_the_user()
    sys.exit(main(["demo", *sys.argv[1:]]))
