#ifndef TRTSCOPE_CORE_PROFILING_REPORT_H_
#define TRTSCOPE_CORE_PROFILING_REPORT_H_

// What the process measured, as text and as JSON.  Called from any thread; never blocks an
// engine for longer than it takes to copy that engine's counters.

#include <string>

namespace trtscope::profiling {

/// One row an engine, widest total first, and a last row ALL: engine, calls, errors, total ms,
/// p50 and p99 ms, then one column a phase (total ms), and what was dropped, if anything was.
std::string TimingTable();

/// The same as JSON, with every histogram's summary and each layer:
/// {"engines": [{"id", "name", "implementation", "runtime", "calls", "errors",
///   "phases": {column: {"count", "total_ns", "min_ns", "max_ns", "p50_ns", "p90_ns", "p99_ns"}},
///   "layer_sum": {...}, "layers": [{"name", "position", "count", ...}]}],
///   "dropped_spans": n, "errors": [text], "config": {...}, "clock": {...}}
/// The outer "errors" are what went wrong beside the calls, such as a folder that cannot be
/// written to.
std::string TimingJson();

/// The global configuration: {"level", "format", "path_prefix", "filter", "generation"}.
std::string ConfigJson();
/// The tables of names.h: {"levels", "formats", "environment", "phases", "layer_category",
/// "trace_files", "process_trace"}.
std::string NamesJson();

/// Sets every counter to zero and forgets engines that no longer exist.
void ResetTiming();

/// Drains what is recorded and finishes every open trace file.  Returns the files finished since
/// the last call, one path a line.
std::string FlushTraces();

/// Waits, a few seconds at most, until the files of traces that ended are complete.  Global
/// setters do so by themselves; call it after an engine's own settings turned its trace off, or
/// after engines were destroyed, and not under an engine's mutex.
void FinishClosedTraces();

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_REPORT_H_
