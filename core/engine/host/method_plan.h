#ifndef TRTSCOPE_CORE_ENGINE_HOST_METHOD_PLAN_H_
#define TRTSCOPE_CORE_ENGINE_HOST_METHOD_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/engine/tensor.h"

namespace trtscope::engine::host {

// What a method of an ExecuTorch program will do, read from its bytes: the runtime executes
// instructions but does not tell their names, and it follows some references of a program that it
// does not check.

struct PlanValue {
  bool tensor = false;
  bool placed = false;            // a tensor that has memory when it is used
  bool empty = false;             // a tensor without elements
  bool resized = false;           // a tensor whose sizes are only upper bounds
  std::optional<DataType> dtype;  // none: a type that no tensor of ours has
  std::optional<Dims> shape;      // upper bounds; none: more than 8 dimensions
  std::vector<int> elements;      // of a list of tensors: their value numbers
};

struct PlanInstruction {
  enum class Kind : uint8_t { kKernel, kDelegate, kOther };
  Kind kind = Kind::kOther;
  /// "aten::add.out #3", "XnnpackBackend #0": the operator or the backend, and the number of the
  /// instruction, which makes it unique in its method.
  std::string name;
  std::string type;       // without the number
  std::vector<int> args;  // value numbers
};

struct MethodPlan;

/// What a kernel writes: its last argument, or the tensors of that if it is a list.  A backend does
/// not tell how many of its arguments are outputs: its last one counts.
std::vector<int> Written(const MethodPlan& plan, const PlanInstruction& instruction);

struct MethodPlan {
  std::vector<PlanValue> values;
  std::vector<bool> outputs_resized;  // of each output: the program may give it other sizes
  std::vector<std::vector<PlanInstruction>> chains;
  bool delegates = false;      // some instruction calls a backend
  bool mutable_state = false;  // it keeps values from one call to the next
};

/// The type that ExecuTorch numbers so, if tensors of ours can have it.
std::optional<DataType> DataTypeFromScalarType(int8_t scalar_type);

/// Reads `method` of the program, and refuses what its runtime would follow blindly: references
/// out of range and parts that are missing.
Result<MethodPlan> ReadMethodPlan(std::span<const std::byte> program, std::string_view method);

}  // namespace trtscope::engine::host

#endif  // TRTSCOPE_CORE_ENGINE_HOST_METHOD_PLAN_H_
