#include <cstdlib>
#include <string>
#include <string_view>

#include "core/profiling/c_call.h"
#include "core/profiling/config.h"
#include "core/profiling/control.h"
#include "core/profiling/report.h"
#include "core/profiling/trtscope.h"

namespace trtscope::profiling {
namespace {

constexpr char kVersion[] = TRTSCOPE_MODULE_VERSION;  // of MODULE.bazel

/// The thread's last message.  A plain buffer: no destructor that could run too early, and no
/// allocation that could fail while telling of a failure.
thread_local constinit char last_error[4096] = "";

template <typename Setter>
int Set(const char* what, const char* value, Setter setter) noexcept {
  return CCall([&]() -> Status {
    if (value == nullptr) return InvalidArgument(std::string(what) + " is a null pointer");
    return setter(std::string_view(value));
  });
}

}  // namespace

void SetLastError(std::string_view message) noexcept {
  const size_t length = message.copy(last_error, sizeof last_error - 1);
  last_error[length] = '\0';
}

}  // namespace trtscope::profiling

namespace profiling = trtscope::profiling;

extern "C" {

const char* trtscope_version(void) { return profiling::kVersion; }
const char* trtscope_last_error(void) { return profiling::last_error; }
void trtscope_free(char* text) { std::free(text); }

int trtscope_set_profile_level(const char* level) {
  return profiling::Set("profile level", level,
                        [](std::string_view value) { return profiling::SetLevel(value); });
}
int trtscope_set_profile_format(const char* format) {
  return profiling::Set("profile format", format,
                        [](std::string_view value) { return profiling::SetFormat(value); });
}
int trtscope_set_profile_path_prefix(const char* folder) {
  return profiling::Set("profile path prefix", folder,
                        [](std::string_view value) { return profiling::SetPathPrefix(value); });
}
int trtscope_set_profile_filter(const char* glob) {
  return profiling::Set("profile filter", glob,
                        [](std::string_view value) { return profiling::SetFilter(value); });
}
int trtscope_set_profile_execution(int enabled) {
  return profiling::CCall([&] { return profiling::SetExecution(enabled != 0); });
}
int trtscope_set_profile_sample_interval(int calls) {
  return profiling::CCall([&] { return profiling::SetSampleInterval(calls); });
}

char* trtscope_get_config(void) { return profiling::CText(profiling::ConfigJson); }
char* trtscope_timing_table(void) { return profiling::CText(profiling::TimingTable); }
char* trtscope_timing_json(void) { return profiling::CText(profiling::TimingJson); }
void trtscope_reset_timing(void) {
  profiling::CCall([] {
    profiling::ResetTiming();
    return trtscope::OkStatus();
  });
}
char* trtscope_flush_traces(void) { return profiling::CText(profiling::FlushTraces); }
char* trtscope_names_json(void) { return profiling::CText(profiling::NamesJson); }

char* trtscope_start_control(void) { return profiling::CText(profiling::StartControl); }
void trtscope_stop_control(void) { profiling::StopControl(); }
char* trtscope_control_folder(void) { return profiling::CText(profiling::ControlFolder); }

}  // extern "C"
