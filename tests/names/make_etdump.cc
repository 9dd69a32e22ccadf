// make_etdump FILE: an ETDump of one delegate call whose layers have names of any bytes.

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/profiling/clock.h"
#include "core/profiling/engine_profile.h"
#include "executorch_backend/events.h"

namespace trtscope::executorch_backend {
namespace {

int Main(const char* path) {
  executorch::runtime::runtime_init();
  executorch::etdump::ETDumpGen tracer;
  tracer.create_event_block("Execute");
  // The id is the engine's, in the metadata: as bad as its layers.
  EventLog log("quote\" back\\slash\n\xFF</script>-123456789abc-0", "forward");
  log.Begin(&tracer);
  const int64_t start = profiling::NowNs();
  int64_t at = start;
  for (const std::string& name :
       {std::string("quote\" back\\slash"), std::string("line\nfeed\ttab\x01\x7f"),
        std::string("\xFF\xC3(\xED\xA0\x80"), std::string(10'240, 'n'), std::string(10'240, '\xFE'),
        std::string(), std::string("twice"), std::string("twice"),
        std::string("caf\xC3\xA9 \xF0\x9F\x9A\x80"), std::string("</script><b title='&amp;'>")}) {
    log.OnLayer(1, name, at, 1000, false);
    at += 1000;
  }
  log.OnCall(1, start, at, {}, false);
  const auto result = tracer.get_etdump_data();
  std::FILE* const file = result.buf != nullptr ? std::fopen(path, "wb") : nullptr;
  if (file == nullptr || std::fwrite(result.buf, 1, result.size, file) != result.size ||
      std::fclose(file) != 0) {
    std::fprintf(stderr, "make_etdump: cannot write %s\n", path);
    return 1;
  }
  std::free(result.buf);
  return 0;
}

}  // namespace
}  // namespace trtscope::executorch_backend

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_etdump FILE\n");
    return 2;
  }
  return trtscope::executorch_backend::Main(argv[1]);
}
