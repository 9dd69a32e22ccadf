#include "core/engine/tensorrt/inspector_json.h"

#include <nlohmann/json.hpp>

#include "core/profiling/json_text.h"

namespace trtscope::engine::tensorrt {
namespace {

constexpr std::string_view kEscapes = "\"\\/bfnrtu";

// Appends a piece of a string that holds neither quotes nor backslashes.
void AppendPlain(std::string& out, std::string_view piece) {
  std::string quoted;
  profiling::AppendJsonString(quoted, piece);
  out.append(quoted, 1, quoted.size() - 2);
}

// Appends the string literal that begins at text[at], and returns where it ends.
size_t AppendLiteral(std::string& out, std::string_view text, size_t at) {
  out += '"';
  ++at;
  while (at < text.size() && text[at] != '"') {
    const size_t end = std::min(text.find_first_of("\"\\", at), text.size());
    AppendPlain(out, text.substr(at, end - at));
    at = end;
    if (at == text.size() || text[at] != '\\') continue;
    const bool escape = at + 1 < text.size() && kEscapes.find(text[at + 1]) != kEscapes.npos;
    out += escape ? text.substr(at, 2) : std::string_view("\\\\");
    at += escape ? 2 : 1;
  }
  out += '"';
  return at + 1;
}

}  // namespace

std::string NormalizeInspectorJson(std::string_view text) {
  std::string json;
  json.reserve(text.size() + text.size() / 16);
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      at = AppendLiteral(json, text, at);
    } else {
      json += text[at++];
    }
  }
  if (json.find("\"I/O Tensors\"") == json.npos) return json;
  auto parsed = nlohmann::ordered_json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object() || !parsed.contains("I/O Tensors") || parsed.contains("Bindings")) {
    return json;
  }
  nlohmann::ordered_json renamed;
  for (auto& [key, value] : parsed.items()) {
    renamed[key == "I/O Tensors" ? "Bindings" : key] = std::move(value);
  }
  return renamed.dump(2);
}

}  // namespace trtscope::engine::tensorrt
