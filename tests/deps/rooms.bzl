"""What each room may depend on, directly or not: the build check's table.

A room is a folder; a target belongs to the room with the longest path that holds it.  Besides its
own room's targets it may reach the rooms named here and the third-party kinds named here (torch,
executorch); what is not under any room (third_party, tools, external repositories of neither kind)
is free for all.
"""

_NEUTRAL = [
    "core/base",
    "core/device",
    "core/engine",
    "core/engine/tensorrt",
    "core/profiling",
]

_ENGINES = _NEUTRAL + [
    "core/engine/host",
    # Through the host engine, whose plans are ExecuTorch programs.
    "executorch",
]

ROOMS = {
    "core/base": [],
    "core/device": ["core/base"],
    "core/engine": [
        "core/base",
        "core/device",
        "core/profiling",
    ],
    "core/engine/host": [
        "core/base",
        "core/device",
        "core/engine",
        "core/profiling",
        "executorch",
    ],
    "core/engine/tensorrt": [
        "core/base",
        "core/device",
        "core/engine",
        "core/profiling",
    ],
    "core/profiling": ["core/base"],
    "core/runtime": _ENGINES + ["torch"],
    "executorch_backend": _ENGINES,
    "py": _ENGINES + [
        "core/runtime",
        "executorch_backend",
        "torch",
    ],
}
