#ifndef TRTSCOPE_CORE_ENGINE_HOST_BINDINGS_H_
#define TRTSCOPE_CORE_ENGINE_HOST_BINDINGS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/engine/host/dim_expression.h"
#include "core/engine/tensor.h"

namespace trtscope::engine::host {

// What a host plan says about its inputs and outputs beyond what an ExecuTorch program can: names,
// which dimensions move and how far, and how outputs' shapes follow from inputs' shapes.
//
// It is JSON, the string that the program's constant method "trtscope_bindings" gives
// (to_edge_transform_and_lower(..., constant_methods={"trtscope_bindings": text})):
//
//   {"version": 1,
//    "inputs":  [{"name": "x", "dtype": "float32", "shape": [-1, 8], "dims": ["s77", 8],
//                 "min": [1, 8], "opt": [4, 8], "max": [16, 8]}],
//    "outputs": [{"name": "y", "dtype": "float32", "shape": [-1, 4], "dims": ["2*s77", 4]}]}
//
// All inputs and outputs of "forward" are listed in its order.  "name" and "shape" are needed; -1
// is a dimension that moves.  "dtype" is only compared.  "min" and "max" are needed for an input
// with -1; "opt" is "max" where it is missing.  In an input's "dims" a string that is a name makes
// a symbol of that dimension; in an output's it is arithmetic over symbols (dim_expression.h).
// An output with -1 and without "dims" has a shape that only running it can tell.  "version" may
// be missing, and unknown keys mean nothing.

inline constexpr char kBindingsMethod[] = "trtscope_bindings";

struct Binding {
  std::string name;
  std::optional<DataType> dtype;
  Dims shape;                       // -1: moves
  std::optional<ShapeRange> range;  // inputs with a -1
  std::vector<DimExpression> dims;  // outputs whose shape is known before they are computed
};

struct Bindings {
  std::vector<Binding> inputs;
  std::vector<Binding> outputs;
  /// Where the value of each symbol comes from.
  struct Symbol {
    int input;
    int dim;
  };
  std::vector<Symbol> symbols;
};

Result<Bindings> ParseBindings(std::string_view json);

}  // namespace trtscope::engine::host

#endif  // TRTSCOPE_CORE_ENGINE_HOST_BINDINGS_H_
