"""``python -m trtscope`` and ``bazel run //py:cli``: the command ``trtscope``."""

import sys

from trtscope._standing import stand_with_the_user
from trtscope.cli import main

stand_with_the_user()
sys.exit(main())
