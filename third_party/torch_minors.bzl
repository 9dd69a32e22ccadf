"""The torch minors that the LibTorch half is built for: one library each in the wheel.

The one list of them: --torch, //third_party:torch, and the wheel read it; Python looks which libraries
there are.  Their wheels are in MODULE.bazel, as torch_<minor>_<cpu>.
"""

TORCH_MINORS = [
    "2.11",
    "2.12",
    "2.13",
    "2.14",
]

# What the Python tests run with: the one in requirements_lock.txt.
TESTED_TORCH = "2.13"

def torch_suffix(minor):
    """A minor as it appears in names: 2_13."""
    return minor.replace(".", "_")
