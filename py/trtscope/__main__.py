"""``python -m trtscope``: the command ``trtscope``."""

import sys

from trtscope.cli import main

sys.exit(main())
