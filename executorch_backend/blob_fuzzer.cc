// A fuzz target in libFuzzer's form.  With clang and the JSON library's headers, from the top of
// the tree (new inputs go to the first folder):
//   clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize=vptr
//     -fno-sanitize-recover=all -I. executorch_backend/blob.cc executorch_backend/blob_fuzzer.cc
//     core/engine/plan.cc core/engine/tensor.cc core/base/status.cc -o /tmp/blob_fuzzer
//   /tmp/blob_fuzzer -max_total_time=600 -max_len=8192 /tmp/new executorch_backend/testdata/blobs
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
