#include "nan_choice.h"

#include <optional>

namespace dxtensor::software::fast {

namespace {

// What made the register: of halves the instruction before the rounding, which leaves the larger one of two halves as it is.
std::optional<MicroOp> ExtremeOf(const ProgramBuilder& builder, int reg) {
  const MicroOp* op = builder.MakerOf(reg);
  if (op && op->code == Code::FRoundHalf) op = builder.MakerOf(op->a);
  return op ? std::optional(*op) : std::nullopt;
}

// The other operand than `reg`; -1 where it is none of the two.
int OtherOperand(const MicroOp& op, int reg) { return op.a == reg ? op.b : op.b == reg ? op.a : -1; }

}  // namespace

int EmitNanChoice(ProgramBuilder& b, const int* in) {
  const int x = in[1];
  const MicroOp* test = b.MakerOf(in[0]);
  const auto other = ExtremeOf(b, in[2]);
  if (!test || test->code != Code::FIsNan || test->a != x || test->b != x || !other) return -1;
  const int other_operand = OtherOperand(*other, x);
  auto emit = [&](Code code, int p, int q, int r = -1) { return b.Emit({code}, RegisterType::F32, p, q, r); };
  switch (other->code) {
    case Code::FClip1: {
      if (other->a != x) return -1;
      MicroOp clamp{Code::FClamp};
      clamp.p = other->p;
      clamp.q = other->q;
      return b.Emit(clamp, RegisterType::F32, x);
    }
    case Code::FMax: return other_operand < 0 ? -1 : emit(Code::FLargerOr, other_operand, x);
    // These give the second operand where one is NaN.
    case Code::FLargerOr: return other->a != x ? -1 : emit(Code::FLargest, x, other->b);
    case Code::FSmallerOr: return other->a != x ? -1 : emit(Code::FSmallest, x, other->b);
    case Code::FMin: break;
    default: return -1;
  }
  if (other_operand >= 0) return emit(Code::FSmallerOr, other_operand, x);
  for (const auto& [raised, high] : {std::pair(other->a, other->b), std::pair(other->b, other->a)}) {
    const auto raise = ExtremeOf(b, raised);
    if (!raise || raise->code != Code::FMax) continue;
    const int low = OtherOperand(*raise, x);
    if (low >= 0) return emit(Code::FHold, x, low, high);
  }
  return -1;
}

}  // namespace dxtensor::software::fast
