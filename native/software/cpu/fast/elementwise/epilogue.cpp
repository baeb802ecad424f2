#include "epilogue.h"

#include <limits>

#include "software/cpu/fast/isa/isa_table.h"
#include "elementwise.h"

namespace dxtensor::software::fast {

std::optional<Activations> ActivationsOf(const schema::OperatorDesc& activation) {
  schema::TensorDesc one;
  one.data_type = DML_TENSOR_DATA_TYPE_FLOAT32;
  one.rank = 1;
  one.sizes[0] = one.strides[0] = 1;
  ProgramBuilder builder(one);
  if (EmitActivation(builder, activation, builder.Load(0, one)) < 0) return std::nullopt;
  Activations ops = builder.ops();
  for (MicroOp& op : ops) op.d = op.a = op.b = op.c = 0;  // each works on the result of the one before
  return ops;
}

std::optional<Activations> FusedActivations(const schema::OperatorDesc& host) {
  if (!host.Has("FusedActivation")) return Activations{};
  auto& inner = host.Get<std::shared_ptr<const schema::OperatorDesc>>("FusedActivation");
  return inner ? ActivationsOf(*inner) : Activations{};
}

std::optional<ClampRange> ClampOf(const Activations& activations) {
  constexpr float kNone = std::numeric_limits<float>::infinity();
  if (activations.empty()) return ClampRange{-kNone, kNone};
  if (activations.size() > 1) return std::nullopt;
  const MicroOp& op = activations[0];
  if (op.code == Code::FClamp) return ClampRange{op.p, op.q};
  if (op.code == Code::FThresholdedRelu && op.p == 0) return ClampRange{0, kNone};
  return std::nullopt;
}

void Activate(const Activations& activations, float* x, int64_t n) {
  if (activations.empty()) return;
  uint8_t* registers[1] = {reinterpret_cast<uint8_t*>(x)};
  Table().execute(activations.data(), static_cast<int>(activations.size()), registers,
                  (n + Table().width - 1) / Table().width * Table().width);
}

}  // namespace dxtensor::software::fast
