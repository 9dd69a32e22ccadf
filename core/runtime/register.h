#ifndef TRTSCOPE_CORE_RUNTIME_REGISTER_H_
#define TRTSCOPE_CORE_RUNTIME_REGISTER_H_

#if defined(__cplusplus)
extern "C" {
#endif

/// Null when this library registered torch.ops.tensorrt and torch.classes.tensorrt.Engine as it
/// was loaded; otherwise one sentence that says why not.  Loaders check it: a registration that
/// clashes must not end the process, as throwing from a static initializer would.
__attribute__((visibility("default"))) const char* trtscope_torch_load_error(void);

#if defined(__cplusplus)
}
#endif

#endif  // TRTSCOPE_CORE_RUNTIME_REGISTER_H_
