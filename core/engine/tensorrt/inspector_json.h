#ifndef TRTSCOPE_CORE_ENGINE_TENSORRT_INSPECTOR_JSON_H_
#define TRTSCOPE_CORE_ENGINE_TENSORRT_INSPECTOR_JSON_H_

#include <string>
#include <string_view>

namespace trtscope::engine::tensorrt {

/// The text of TensorRT's inspector as JSON that every reader takes: layer names reach it with raw
/// control characters (TensorRT 8.6 puts U+001E between those of fused layers) and whatever octets
/// the model's names had.  Family 11's "I/O Tensors" gets its old name, "Bindings", back.
std::string NormalizeInspectorJson(std::string_view text);

}  // namespace trtscope::engine::tensorrt

#endif  // TRTSCOPE_CORE_ENGINE_TENSORRT_INSPECTOR_JSON_H_
