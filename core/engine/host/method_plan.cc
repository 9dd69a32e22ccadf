#include "core/engine/host/method_plan.h"

#include <algorithm>
#include <utility>

#include "core/engine/host/flatbuffer.h"

namespace trtscope::engine::host {
namespace {

// Field numbers of ExecuTorch's program schema, file identifier ET12.  Fields are only ever added
// to it, at the end of a table.
namespace program {
constexpr int kExecutionPlan = 1;
}
namespace execution_plan {
constexpr int kName = 0, kValues = 2, kInputs = 3, kOutputs = 4, kChains = 5, kOperators = 6,
              kDelegates = 7;
}
namespace evalue {
constexpr int kType = 0, kValue = 1;
constexpr uint8_t kTensor = 5, kIntList = 7, kTensorList = 10, kOptionalTensorList = 11;
constexpr uint8_t kLastType = kOptionalTensorList;
}  // namespace evalue
namespace tensor {
constexpr int kScalarType = 0, kSizes = 2, kDimOrder = 3, kDataBuffer = 5, kAllocation = 6,
              kDynamism = 8, kExtra = 9;
}
constexpr int8_t kLastScalarType = 29;
namespace list {
constexpr int kItems = 0;
}
namespace chain {
constexpr int kInstructions = 2;
}
namespace instruction {
constexpr int kType = 0, kArguments = 1;
constexpr uint8_t kKernelCall = 1, kDelegateCall = 2, kMoveCall = 3, kJumpFalseCall = 4,
                  kFreeCall = 5;
constexpr int kIndex = 0, kArgs = 1;    // of kernel and delegate calls
constexpr int kFirst = 0, kSecond = 1;  // of the others
}  // namespace instruction
namespace op {
constexpr int kName = 0, kOverload = 1;
}
namespace delegate {
constexpr int kId = 0, kProcessed = 1, kCompileSpecs = 2;
}
namespace compile_spec {
constexpr int kKey = 0, kValue = 1;
}

class PlanReader {
 public:
  PlanReader(std::span<const std::byte> program, std::string_view method)
      : reader_(program), method_(method) {}

  Result<MethodPlan> Read() {
    const FlatTable root = reader_.Root();
    for (size_t i = 0; i < root.Size(program::kExecutionPlan); ++i) {
      const FlatTable table = root.TableAt(program::kExecutionPlan, i);
      if (table.String(execution_plan::kName) != method_) continue;
      Status status = ReadPlan(table);
      if (reader_.failed()) return Bad("an offset that leaves the program");
      if (!status.ok()) return status;
      return std::move(plan_);
    }
    return NotFound("the program has no method '" + std::string(method_) + "'");
  }

 private:
  Status Bad(const std::string& what) const {
    return DataLoss("the program's method '" + std::string(method_) + "' has " + what);
  }

  Status ReadPlan(const FlatTable& table) {
    for (int field :
         {execution_plan::kValues, execution_plan::kInputs, execution_plan::kOutputs,
          execution_plan::kChains, execution_plan::kOperators, execution_plan::kDelegates}) {
      if (!table.Has(field)) return Bad("no field " + std::to_string(field));
    }
    const size_t values = table.Size(execution_plan::kValues);
    for (size_t i = 0; i < values; ++i) {
      TRTSCOPE_RETURN_IF_ERROR(ReadValue(table.TableAt(execution_plan::kValues, i), i, values));
    }
    for (int field : {execution_plan::kInputs, execution_plan::kOutputs}) {
      for (size_t i = 0; i < table.Size(field); ++i) {
        TRTSCOPE_RETURN_IF_ERROR(CheckIndex(table.ScalarAt<int32_t>(field, i), values, "value"));
      }
    }
    for (size_t i = 0; i < table.Size(execution_plan::kOutputs); ++i) {
      const auto value = table.ScalarAt<int32_t>(execution_plan::kOutputs, i);
      plan_.outputs_resized.push_back(plan_.values[static_cast<size_t>(value)].resized);
    }
    for (size_t i = 0; i < table.Size(execution_plan::kDelegates); ++i) {
      TRTSCOPE_RETURN_IF_ERROR(CheckDelegate(table.TableAt(execution_plan::kDelegates, i), i));
    }
    size_t number = 0;
    for (size_t i = 0; i < table.Size(execution_plan::kChains); ++i) {
      const FlatTable chain = table.TableAt(execution_plan::kChains, i);
      if (!chain.Has(chain::kInstructions)) return Bad("a chain without instructions");
      const size_t count = chain.Size(chain::kInstructions);
      plan_.chains.emplace_back();
      for (size_t k = 0; k < count; ++k) {
        TRTSCOPE_RETURN_IF_ERROR(
            ReadInstruction(table, chain.TableAt(chain::kInstructions, k), number++, count));
      }
    }
    TRTSCOPE_RETURN_IF_ERROR(CheckPlaces(table));
    FindMutableState(table);
    return OkStatus();
  }

  // Kernels read and write tensors without asking whether they have memory.  It comes from the
  // plan, from the caller (inputs and outputs), or from an instruction that makes one tensor share
  // another's.
  Status CheckPlaces(const FlatTable& table) {
    for (int field : {execution_plan::kInputs, execution_plan::kOutputs}) {
      for (size_t i = 0; i < table.Size(field); ++i) Place(table.ScalarAt<int32_t>(field, i));
    }
    for (const auto& chain : plan_.chains) {
      for (const PlanInstruction& instruction : chain) {
        if (instruction.kind == PlanInstruction::Kind::kOther ||
            instruction.type.starts_with("executorch_prim::et_view")) {
          for (int value : instruction.args) Place(value);
        }
      }
    }
    for (const auto& chain : plan_.chains) {
      for (const PlanInstruction& instruction : chain) {
        for (int value : instruction.args) {
          TRTSCOPE_RETURN_IF_ERROR(CheckPlace(value, instruction));
          for (int element : plan_.values[static_cast<size_t>(value)].elements) {
            TRTSCOPE_RETURN_IF_ERROR(CheckPlace(element, instruction));
          }
        }
      }
    }
    return OkStatus();
  }

  void Place(int value) {
    if (value < 0 || static_cast<size_t>(value) >= plan_.values.size()) return;
    plan_.values[static_cast<size_t>(value)].placed = true;
  }

  Status CheckPlace(int value, const PlanInstruction& instruction) const {
    const PlanValue& read = plan_.values[static_cast<size_t>(value)];
    if (!read.tensor || read.placed || read.empty) return OkStatus();
    return Bad("an instruction '" + instruction.name + "' on the tensor " + std::to_string(value) +
               ", which has no memory");
  }

  Status CheckIndex(int64_t index, size_t size, const char* what) const {
    if (index >= 0 && static_cast<uint64_t>(index) < size) return OkStatus();
    return Bad("the " + std::string(what) + " number " + std::to_string(index) + " of " +
               std::to_string(size));
  }

  Status ReadValue(const FlatTable& value, size_t index, size_t count) {
    const auto type = value.Scalar<uint8_t>(evalue::kType);
    const FlatTable content = value.Table(evalue::kValue);
    const std::string label = "value " + std::to_string(index);
    if (type > evalue::kLastType) {
      return Bad(label + " of the unknown type " + std::to_string(type));
    }
    if (type > 1 && !content) return Bad(label + " without content");
    PlanValue& read = plan_.values.emplace_back();
    if (type == evalue::kTensor) {
      read.tensor = true;
      read.placed = content.Has(tensor::kAllocation) || content.Has(tensor::kExtra) ||
                    content.Scalar<uint32_t>(tensor::kDataBuffer) != 0;
      read.resized = content.Scalar<int8_t>(tensor::kDynamism) != 0;
      const auto scalar_type = content.Scalar<int8_t>(tensor::kScalarType);
      if (scalar_type < 0 || scalar_type > kLastScalarType) {
        return Bad(label + " of the unknown scalar type " + std::to_string(scalar_type));
      }
      read.dtype = DataTypeFromScalarType(scalar_type);
      const size_t rank = content.Size(tensor::kSizes);
      if (!content.Has(tensor::kSizes) || content.Size(tensor::kDimOrder) != rank) {
        return Bad(label + " with sizes and a memory order that do not fit");
      }
      if (rank <= Dims::kMaxRank) {
        read.shape.emplace();
        for (size_t d = 0; d < rank; ++d) {
          const auto size = content.ScalarAt<int32_t>(tensor::kSizes, d);
          if (size < 0) return Bad(label + " with the size " + std::to_string(size));
          (*read.shape)[read.shape->rank++] = size;
          read.empty |= size == 0;
        }
      }
    } else if (type >= evalue::kIntList) {
      if (!content.Has(list::kItems)) return Bad(label + ", a list without items");
      if (type != evalue::kTensorList && type != evalue::kOptionalTensorList) return OkStatus();
      for (size_t i = 0; i < content.Size(list::kItems); ++i) {
        const auto item = content.ScalarAt<int32_t>(list::kItems, i);
        if (item == -1 && type == evalue::kOptionalTensorList) continue;  // no tensor
        TRTSCOPE_RETURN_IF_ERROR(CheckIndex(item, count, "value"));
        read.elements.push_back(item);
      }
    }
    return OkStatus();
  }

  // State: a tensor that a kernel reads before any instruction wrote it, though it is neither an
  // input nor a constant; or an operator that changes its argument, as exporters write state back.
  void FindMutableState(const FlatTable& table) {
    std::vector<bool> known(plan_.values.size(), false);
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      const FlatTable content = table.TableAt(execution_plan::kValues, i).Table(evalue::kValue);
      known[i] = !plan_.values[i].tensor || !content.Has(tensor::kAllocation);
      // A constant has no place of its own; with one, the content is only the first one.
      if (plan_.values[i].tensor && !known[i] &&
          content.Scalar<uint32_t>(tensor::kDataBuffer) != 0) {
        plan_.mutable_state = true;
      }
    }
    for (size_t i = 0; i < table.Size(execution_plan::kInputs); ++i) {
      const auto input = table.ScalarAt<int32_t>(execution_plan::kInputs, i);
      known[static_cast<size_t>(input)] = true;
    }
    for (const auto& chain : plan_.chains) {
      for (const PlanInstruction& instruction : chain) {
        const std::string_view op =
            std::string_view(instruction.type).substr(0, instruction.type.find('.'));
        plan_.mutable_state |= op.ends_with('_');
        const std::vector<int> written = Written(plan_, instruction);
        for (int arg : instruction.args) {
          const bool out = std::find(written.begin(), written.end(), arg) != written.end() ||
                           arg == instruction.args.back();
          plan_.mutable_state |= instruction.kind == PlanInstruction::Kind::kKernel && !out &&
                                 !known[static_cast<size_t>(arg)];
        }
        for (int arg : instruction.args) {
          known[static_cast<size_t>(arg)] = true;
          for (int element : plan_.values[static_cast<size_t>(arg)].elements) {
            known[static_cast<size_t>(element)] = true;
          }
        }
      }
    }
  }

  Status CheckDelegate(const FlatTable& delegate, size_t index) const {
    bool whole = delegate.Has(delegate::kId) && delegate.Has(delegate::kProcessed) &&
                 delegate.Has(delegate::kCompileSpecs);
    for (size_t i = 0; whole && i < delegate.Size(delegate::kCompileSpecs); ++i) {
      const FlatTable spec = delegate.TableAt(delegate::kCompileSpecs, i);
      whole = spec.Has(compile_spec::kKey) && spec.Has(compile_spec::kValue);
    }
    return whole ? OkStatus() : Bad("a delegate " + std::to_string(index) + " with parts missing");
  }

  Status ReadInstruction(const FlatTable& table, const FlatTable& instruction, size_t number,
                         size_t chain_size) {
    const auto type = instruction.Scalar<uint8_t>(instruction::kType);
    const FlatTable content = instruction.Table(instruction::kArguments);
    const std::string label = "instruction " + std::to_string(number);
    if (!content) return Bad(label + " without arguments");
    PlanInstruction& read = plan_.chains.back().emplace_back();
    if (type == instruction::kKernelCall || type == instruction::kDelegateCall) {
      const bool kernel = type == instruction::kKernelCall;
      const int field = kernel ? execution_plan::kOperators : execution_plan::kDelegates;
      const auto index = content.Scalar<int32_t>(instruction::kIndex);
      TRTSCOPE_RETURN_IF_ERROR(
          CheckIndex(index, table.Size(field), kernel ? "operator" : "delegate"));
      const FlatTable called = table.TableAt(field, static_cast<size_t>(index));
      if (kernel && (!called.Has(op::kName) || !called.Has(op::kOverload))) {
        return Bad("an operator " + std::to_string(index) + " without a name");
      }
      if (!content.Has(instruction::kArgs)) return Bad(label + " without a list of arguments");
      read.kind = kernel ? PlanInstruction::Kind::kKernel : PlanInstruction::Kind::kDelegate;
      read.type = called.String(kernel ? op::kName : delegate::kId);
      if (kernel && !called.String(op::kOverload).empty()) {
        read.type += "." + std::string(called.String(op::kOverload));
      }
      plan_.delegates |= !kernel;
      for (size_t i = 0; i < content.Size(instruction::kArgs); ++i) {
        read.args.push_back(content.ScalarAt<int32_t>(instruction::kArgs, i));
        TRTSCOPE_RETURN_IF_ERROR(CheckIndex(read.args.back(), plan_.values.size(), "value"));
      }
    } else if (type == instruction::kMoveCall || type == instruction::kJumpFalseCall ||
               type == instruction::kFreeCall) {
      read.type = type == instruction::kMoveCall        ? "move"
                  : type == instruction::kJumpFalseCall ? "jump"
                                                        : "free";
      const auto first = content.Scalar<int32_t>(instruction::kFirst);
      const auto second = content.Scalar<int32_t>(instruction::kSecond);
      TRTSCOPE_RETURN_IF_ERROR(CheckIndex(first, plan_.values.size(), "value"));
      if (type == instruction::kMoveCall) {
        TRTSCOPE_RETURN_IF_ERROR(CheckIndex(second, plan_.values.size(), "value"));
        read.args = {first, second};
      } else if (type == instruction::kJumpFalseCall) {
        TRTSCOPE_RETURN_IF_ERROR(CheckIndex(second, chain_size + 1, "target"));
      }
    } else {
      return Bad(label + " of the unknown type " + std::to_string(type));
    }
    read.name = read.type + " #" + std::to_string(number);
    return OkStatus();
  }

  FlatReader reader_;
  const std::string_view method_;
  MethodPlan plan_;
};

}  // namespace

std::optional<DataType> DataTypeFromScalarType(int8_t scalar_type) {
  switch (scalar_type) {
    case 0:
      return DataType::kUInt8;
    case 1:
      return DataType::kInt8;
    case 2:
      return DataType::kInt16;
    case 3:
      return DataType::kInt32;
    case 4:
      return DataType::kInt64;
    case 5:
      return DataType::kFloat16;
    case 6:
      return DataType::kFloat32;
    case 7:
      return DataType::kFloat64;
    case 11:
      return DataType::kBool;
    case 15:
      return DataType::kBFloat16;
    default:
      return std::nullopt;
  }
}

std::vector<int> Written(const MethodPlan& plan, const PlanInstruction& instruction) {
  if (instruction.kind == PlanInstruction::Kind::kOther || instruction.args.empty()) return {};
  const int last = instruction.args.back();
  const PlanValue& value = plan.values[static_cast<size_t>(last)];
  return value.tensor ? std::vector<int>{last} : value.elements;
}

Result<MethodPlan> ReadMethodPlan(std::span<const std::byte> program, std::string_view method) {
  return PlanReader(program, method).Read();
}

}  // namespace trtscope::engine::host
