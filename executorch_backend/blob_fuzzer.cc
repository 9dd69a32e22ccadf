// A fuzz target in libFuzzer's form.  With clang:
//   clang++ -fsanitize=fuzzer,address blob_fuzzer.cc blob.cc ... && ./a.out testdata/blobs
// With gcc, blob_mutation_test.cc drives it.

#include "executorch_backend/blob_fuzzer.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "executorch_backend/blob.h"

namespace trtscope::executorch_backend {

bool FuzzBlob(std::span<const std::byte> bytes) {
  Result<Blob> blob = ParseBlob(bytes);
  if (!blob.ok()) {
    if (blob.status().message().find("delegate blob: ") != 0) std::abort();
    return false;
  }
  const std::byte* const begin = blob->plan.data();
  if (blob->plan.empty() || begin < bytes.data() ||
      begin + blob->plan.size() > bytes.data() + bytes.size()) {
    std::abort();
  }
  (void)CheckPlatform(*blob);
  if (blob->bare) return true;
  const auto written = WriteBlob(blob->metadata, blob->plan);
  Result<Blob> again = ParseBlob(written);
  if (!again.ok() || again->plan.size() != blob->plan.size() ||
      again->metadata.io_bindings.size() != blob->metadata.io_bindings.size() ||
      again->metadata.aliased_io.size() != blob->metadata.aliased_io.size()) {
    std::abort();
  }
  return true;
}

}  // namespace trtscope::executorch_backend

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  trtscope::executorch_backend::FuzzBlob(std::as_bytes(std::span(data, size)));
  return 0;
}
