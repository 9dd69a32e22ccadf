"""The demo: a sentence encoder with hidden engines, end to end (``trtscope demo``)."""
