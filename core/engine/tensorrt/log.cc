#include "core/engine/tensorrt/log.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "core/engine/tensorrt/abi/abi_generated.h"

namespace trtscope::engine::tensorrt {
namespace {

using abi::Severity;

// One failing call can log a message a layer: what is attached stays readable.
constexpr size_t kMaxText = 2000;
constexpr std::array<std::string_view, 5> kSeverityNames = {"internal error", "error", "warning",
                                                            "info", "verbose"};

thread_local LogCapture* current_capture = nullptr;

/// Errors of threads without a capture: the latest few, numbered from 1.
struct Strays {
  std::mutex mutex;
  std::array<std::string, 8> latest;
  std::atomic<uint64_t> count{0};
};
Strays& TheStrays() {
  static Strays& strays = *new Strays;
  return strays;
}

int32_t PrintedSeverity() {
  // Read once: the environment may not be read while another thread changes it.
  static const int32_t severity = [] {
    const char* value = std::getenv("TRTSCOPE_TENSORRT_LOG");
    if (value == nullptr || *value == '\0') return int32_t{-1};
    for (size_t s = 1; s < kSeverityNames.size(); ++s) {
      if (value == kSeverityNames[s]) return static_cast<int32_t>(s);
    }
    return static_cast<int32_t>(Severity::kWARNING);
  }();
  return severity;
}

void Append(std::string& text, std::string_view message) {
  while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) {
    message.remove_suffix(1);
  }
  if (message.empty() || text.size() >= kMaxText) return;
  if (!text.empty()) text += "; ";
  for (char c : message.substr(0, kMaxText)) {
    text += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  if (text.size() > kMaxText) text.replace(kMaxText, std::string::npos, "...");
}

}  // namespace

void HandleLog(std::string_view label, int32_t severity, std::string_view message) {
  if (severity <= PrintedSeverity()) {
    const auto s = static_cast<size_t>(severity < 0 ? 0 : severity);
    const std::string_view kind = kSeverityNames[s < kSeverityNames.size() ? s : 4];
    std::fprintf(stderr, "trtscope: %.*s: %.*s: %.*s\n", static_cast<int>(label.size()),
                 label.data(), static_cast<int>(kind.size()), kind.data(),
                 static_cast<int>(message.size()), message.data());
  }
  if (severity > static_cast<int32_t>(Severity::kERROR)) return;
  if (current_capture != nullptr) {
    Append(current_capture->text_, message);
    return;
  }
  Strays& strays = TheStrays();
  std::lock_guard<std::mutex> lock(strays.mutex);
  const uint64_t number = strays.count.load(std::memory_order_relaxed);
  strays.latest[number % strays.latest.size()] = message;
  strays.count.store(number + 1, std::memory_order_release);
}

LogCapture::LogCapture()
    : outer_(current_capture), first_stray_(TheStrays().count.load(std::memory_order_acquire)) {
  current_capture = this;
}

LogCapture::~LogCapture() { current_capture = outer_; }

std::string LogCapture::Text() const {
  std::string text = text_;
  Strays& strays = TheStrays();
  std::lock_guard<std::mutex> lock(strays.mutex);
  const uint64_t count = strays.count.load(std::memory_order_relaxed);
  const uint64_t kept = strays.latest.size();
  const uint64_t from = count > kept && first_stray_ < count - kept ? count - kept : first_stray_;
  for (uint64_t i = from; i < count; ++i) Append(text, strays.latest[i % kept]);
  return text;
}

std::string LogCapture::Suffix() const {
  const std::string text = Text();
  return text.empty() ? text : "; TensorRT said: " + text;
}

}  // namespace trtscope::engine::tensorrt
