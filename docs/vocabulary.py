"""What files, tables and options are called, where no table of the sources holds the names with
their meaning: parts of docs/reference.md.  What the sources do hold is compared with them."""

from __future__ import annotations

#: Of the folder of traces.  STEM is `name-hash-ordinal.host.pid[.session]`.
FILES = {
    "HOST.PID[.N].perfetto-trace": "All engines of a process on one timeline, Perfetto's protobuf.",
    "STEM.engine.profile.json": "Layer times, in the dialect of TensorRT's explorer; at level "
    "`layers`.",
    "STEM.engine.graph.json": "What the engine's inspector says of its layers; format `trex`.",
    "STEM.engine.timing.json": "When the parts of each call happened; format `trex`.",
    "STEM.engine.metadata.json": "Who the engine is, and its counters; format `trex`.",
    "*.partial": "A trace that still grows, or whose process was killed: it loads as it is.",
    "*.opening": "A trace in the instant in which it is made; left by a kill in that instant, and "
    "without content.",
    "NAME.etdp": "ExecuTorch's own trace (ETDump) of a `.pte`.",
    "NAME.etrecord": "ExecuTorch's record of how that program was made: graph nodes, source lines.",
    "NAME.timeline.trace": "Steps of a `.pte`, its delegates' phases and layers and the gaps, as a "
    "Chrome trace.",
}

#: In an engine's `.trace` files, beside the events of phases and layers.
FILE_EVENTS = {
    "trtscope.clock": "Monotonic and real time of one moment.",
    "trtscope.engine": "The engine: id, hash of its plan, implementation, runtime, host, format.",
    "trtscope.dropped_spans": "How many spans were dropped by then.",
    "trtscope.end": "The last event of a whole file, and how many were dropped in all.",
}

#: In an ETDump, beside the events of phases.
ETDUMP_EVENTS = {
    "torchtrt.layer/NAME": "A layer.",
    "NAME #2": "A name that was used before in the same call: the Inspector merges equal names.",
}

#: Of the table of engines, in its order; the phases' columns follow.
COLUMNS = {
    "engine": "The engine's id: name, hash of the plan, ordinal among equals. `ALL`: their sums.",
    "calls": "Calls since the counters were reset.",
    "errors": "Calls that failed; only where there are some.",
    "total ms": "Host time of all calls.",
    "p50 ms": "Median of the host time of a call.",
    "p99 ms": "99th percentile of it.",
}

#: Keys of executorch_backend/options.h.
BACKEND_OPTIONS = {
    "torchtrt_profile_level": "`off`, `delegate`, `phases`, `layers`.",
    "torchtrt_profile_format": "`etdump`, `perfetto`, `trex`. ETDump gets its events in any case; "
    "the others are files beside it.",
    "torchtrt_profile_path_prefix": "Folder of those files.",
    "torchtrt_profile_filter": "A glob over engine ids: engines of the method that it does not "
    "match are off.",
    "weight_streaming_budget": "Bytes of streamable weights that stay on the device.",
    "target_device": "The device to load on: `cuda:0`.",
}

#: Of the command.
EXIT_CODES = {
    "0": "Done.",
    "1": "Failed; one sentence on standard error says why.",
    "2": "Wrong usage.",
    "3": "`compare`: an engine became slower than `--fail-above` allows.",
    "130": "Interrupted.",
}
