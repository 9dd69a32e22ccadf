// load_library FILE...: opens libraries as Python does (RTLD_LOCAL, all symbols bound), one after
// another, and prints what the LibTorch half says of its registration.

#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    void* library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    const auto error = reinterpret_cast<const char* (*)()>(  // NOLINT: as dlsym wants it
        dlsym(library, "trtscope_torch_load_error"));
    if (error == nullptr) continue;
    const char* message = error();
    std::printf("registered: %s\n", message == nullptr ? "yes" : message);
  }
  return 0;
}
