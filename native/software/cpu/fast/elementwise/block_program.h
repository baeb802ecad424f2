// A block program: loads, instructions and stores over one box of coordinates, and the kernel that runs it.
//
// The builder makes one virtual register for each result; Finish allocates them to a few blocks that stay in the level 1 cache. Used by one
// thread; the finished kernel is immutable.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "software/cpu/fast/isa/micro_op.h"
#include "software/cpu/fast/tensor/extents.h"
#include "software/cpu/kernel.h"

namespace dxtensor::software::fast {

inline RegisterType RegisterOf(DML_TENSOR_DATA_TYPE type) {
  switch (type) {
    case DML_TENSOR_DATA_TYPE_FLOAT32:
    case DML_TENSOR_DATA_TYPE_FLOAT16: return RegisterType::F32;
    case DML_TENSOR_DATA_TYPE_UINT32: return RegisterType::U32;
    case DML_TENSOR_DATA_TYPE_INT64: return RegisterType::I64;
    case DML_TENSOR_DATA_TYPE_UINT64: return RegisterType::U64;
    default: return RegisterType::I32;
  }
}
// The types that the engine loads and stores: all but FLOAT64 and those below a byte.
bool IsEngineType(DML_TENSOR_DATA_TYPE type);

class ProgramBuilder {
 public:
  // The box of coordinates over which all operands are traversed.
  explicit ProgramBuilder(const schema::TensorDesc& box);

  // Whether a tensor can be traversed in this box: it has its sizes (but for ones in front), or the same number of elements and
  // lies packed, or all its strides are zero.
  static bool Fits(const schema::TensorDesc& box, const schema::TensorDesc& tensor);
  // The tensor's strides along the dimensions of a box that it fits.
  static Extents StridesIn(const schema::TensorDesc& box, const schema::TensorDesc& tensor);

  int Load(int slot, const schema::TensorDesc& tensor);
  // Adds an instruction on registers; returns the register of its result.
  int Emit(MicroOp op, RegisterType result, int a, int b = -1, int c = -1);
  void Store(int slot, const schema::TensorDesc& tensor, int reg);

  RegisterType TypeOf(int reg) const { return types_[reg]; }
  // The instruction that made a register; null for what was loaded. Until the next Emit.
  const MicroOp* MakerOf(int reg) const;
  const std::vector<MicroOp>& ops() const { return ops_; }
  int op_count() const { return static_cast<int>(ops_.size()); }

  // Null when the program needs more registers than fit into the cache.
  std::unique_ptr<Kernel> Finish();

 private:
  friend class ProgramKernel;
  struct Operand {
    int slot, reg;
    DML_TENSOR_DATA_TYPE type;
    Extents strides;
  };

  void DropUnused();

  schema::TensorDesc box_;
  uint32_t rank_;
  Extents sizes_{};
  std::vector<RegisterType> types_;
  std::vector<MicroOp> ops_;
  std::vector<Operand> loads_, stores_;
};

}  // namespace dxtensor::software::fast
