#include "core/engine/tensorrt/inspector_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace trtscope::engine::tensorrt {
namespace {

std::string NameIn(const std::string& text) {
  const auto json = nlohmann::json::parse(NormalizeInspectorJson(text));
  return json["Layers"][0].get<std::string>();
}

TEST(InspectorJson, ValidTextStaysAsItIs) {
  const std::string text =
      "{\"Layers\": [{\"Name\": \"a \\\"b\\\" \\u001e \\\\ \xc3\xa9\", \"n\": "
      "1}],\n\t\"Bindings\": "
      "[]}";
  EXPECT_EQ(NormalizeInspectorJson(text), text);
}

TEST(InspectorJson, RawControlCharactersAreEscaped) {
  EXPECT_EQ(NameIn("{\"Layers\": [\"[ONNX Layer: /Mul]\x1e[ONNX Layer: /Add]\"]}"),
            "[ONNX Layer: /Mul]\x1e[ONNX Layer: /Add]");
  EXPECT_EQ(NameIn("{\"Layers\": [\"a\nb\tc\"]}"), "a\nb\tc");
}

TEST(InspectorJson, OctetsThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(NameIn("{\"Layers\": [\"a\xff"
                   "b\"]}"),
            "a\xef\xbf\xbd"
            "b");
}

TEST(InspectorJson, ABackslashThatEscapesNothingIsOne) {
  EXPECT_EQ(NameIn("{\"Layers\": [\"C:\\weights\"]}"), "C:\\weights");
}

TEST(InspectorJson, CutTextDoesNotRunAway) {
  EXPECT_EQ(NormalizeInspectorJson("{\"Layers\": [\"a\\"), "{\"Layers\": [\"a\\\\\"");
  EXPECT_EQ(NormalizeInspectorJson("{\"a"), "{\"a\"");
}

TEST(InspectorJson, NewNamesBecomeOldOnes) {
  const auto json = nlohmann::json::parse(
      NormalizeInspectorJson("{\"Layers\": [\"a\x1e\"], \"I/O Tensors\": [\"x\"]}"));
  EXPECT_EQ(json["Bindings"][0], "x");
  EXPECT_FALSE(json.contains("I/O Tensors"));
}

}  // namespace
}  // namespace trtscope::engine::tensorrt
