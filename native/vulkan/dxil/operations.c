// The dx.op functions that vkd3d-shader does not know, in plain LLVM instructions.
#include "function.h"

// A call: attributes, convention, type, function, number of the dx.op, its arguments.
enum { OP_IMUL = 41, OP_UMUL = 42, OP_UDIV = 43, OP_BFI = 53, OP_BITCAST_I32_TO_F32 = 126, OP_BITCAST_F32_TO_I32 = 127 };
#define ARGUMENT_OF(n, i) ((uint32_t)(n)->operands[5 + (i)].v)

bool change_call(struct function* f, const struct instruction* n) {
  struct shader* s = f->s;
  uint32_t op, a, b, zero, mask, offset, ones = number(f, ~0u);
  struct mapping* result;

  if (n->count < 6 || n->result == NONE || !constant(s, (uint32_t)n->operands[4].v, &op)) return false;
  result = mapping_of(f, n->result);
  a = ARGUMENT_OF(n, 0);
  b = n->count > 6 ? ARGUMENT_OF(n, 1) : NONE;
  if ((op == OP_IMUL || op == OP_UMUL) && n->count == 7) result->pair[1] = binary(f, MULTIPLY, a, b);
  else if (op == OP_UDIV && n->count == 7) {
    zero = MAKE(f, COMPARE, {'V', b, 0}, {'v', number(f, 0), 0}, {'l', EQUAL, 0});
    result->pair[0] = choose(f, zero, ones, binary(f, DIVIDE, a, b));
    result->pair[1] = choose(f, zero, ones, binary(f, REMAINDER, a, b));
  } else if (op == OP_BFI && n->count == 9)  // width, offset, value, what it is inserted into
  {
    a = binary(f, AND, a, number(f, 31));
    offset = binary(f, AND, b, number(f, 31));
    mask = binary(f, SHIFT_LEFT, binary(f, ADD, binary(f, SHIFT_LEFT, number(f, 1), a), ones), offset);
    a = binary(f, AND, binary(f, SHIFT_LEFT, ARGUMENT_OF(n, 2), offset), mask);
    b = binary(f, AND, ARGUMENT_OF(n, 3), binary(f, XOR, mask, ones));
    result->same_as = binary(f, OR, a, b);
  } else if (op == OP_BITCAST_I32_TO_F32 && n->count == 6) result->same_as = bitcast(f, a, float_type(s));
  else if (op == OP_BITCAST_F32_TO_I32 && n->count == 6) result->same_as = bitcast(f, a, integer_type(s, 32));
  else return false;
  return true;
}
