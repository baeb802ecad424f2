#include "tokens.h"

#include <cstddef>

#include "container.h"

namespace dxtensor::software::shader {

namespace {

constexpr const char* kNames[] = {"add",
                                  "and",
                                  "break",
                                  "breakc",
                                  "call",
                                  "callc",
                                  "case",
                                  "continue",
                                  "continuec",
                                  "cut",
                                  "default",
                                  "deriv_rtx",
                                  "deriv_rty",
                                  "discard",
                                  "div",
                                  "dp2",
                                  "dp3",
                                  "dp4",
                                  "else",
                                  "emit",
                                  "emit_then_cut",
                                  "endif",
                                  "endloop",
                                  "endswitch",
                                  "eq",
                                  "exp",
                                  "frc",
                                  "ftoi",
                                  "ftou",
                                  "ge",
                                  "iadd",
                                  "if",
                                  "ieq",
                                  "ige",
                                  "ilt",
                                  "imad",
                                  "imax",
                                  "imin",
                                  "imul",
                                  "ine",
                                  "ineg",
                                  "ishl",
                                  "ishr",
                                  "itof",
                                  "label",
                                  "ld",
                                  "ld2dms",
                                  "log",
                                  "loop",
                                  "lt",
                                  "mad",
                                  "min",
                                  "max",
                                  "customdata",
                                  "mov",
                                  "movc",
                                  "mul",
                                  "ne",
                                  "nop",
                                  "not",
                                  "or",
                                  "resinfo",
                                  "ret",
                                  "retc",
                                  "round_ne",
                                  "round_ni",
                                  "round_pi",
                                  "round_z",
                                  "rsq",
                                  "sample",
                                  "sample_c",
                                  "sample_c_lz",
                                  "sample_l",
                                  "sample_d",
                                  "sample_b",
                                  "sqrt",
                                  "switch",
                                  "sincos",
                                  "udiv",
                                  "ult",
                                  "uge",
                                  "umul",
                                  "umad",
                                  "umax",
                                  "umin",
                                  "ushr",
                                  "utof",
                                  "xor",
                                  "dcl_resource",
                                  "dcl_constantbuffer",
                                  "dcl_sampler",
                                  "dcl_indexrange",
                                  "dcl_outputtopology",
                                  "dcl_inputprimitive",
                                  "dcl_maxout",
                                  "dcl_input",
                                  "dcl_input_sgv",
                                  "dcl_input_siv",
                                  "dcl_input_ps",
                                  "dcl_input_ps_sgv",
                                  "dcl_input_ps_siv",
                                  "dcl_output",
                                  "dcl_output_sgv",
                                  "dcl_output_siv",
                                  "dcl_temps",
                                  "dcl_indexableTemp",
                                  "dcl_globalFlags",
                                  "reserved0",
                                  "lod",
                                  "gather4",
                                  "samplepos",
                                  "sampleinfo",
                                  "reserved1",
                                  "hs_decls",
                                  "hs_control_point_phase",
                                  "hs_fork_phase",
                                  "hs_join_phase",
                                  "emit_stream",
                                  "cut_stream",
                                  "emit_then_cut_stream",
                                  "fcall",
                                  "bufinfo",
                                  "deriv_rtx_coarse",
                                  "deriv_rtx_fine",
                                  "deriv_rty_coarse",
                                  "deriv_rty_fine",
                                  "gather4_c",
                                  "gather4_po",
                                  "gather4_po_c",
                                  "rcp",
                                  "f32tof16",
                                  "f16tof32",
                                  "uaddc",
                                  "usubb",
                                  "countbits",
                                  "firstbit_hi",
                                  "firstbit_lo",
                                  "firstbit_shi",
                                  "ubfe",
                                  "ibfe",
                                  "bfi",
                                  "bfrev",
                                  "swapc",
                                  "dcl_stream",
                                  "dcl_function_body",
                                  "dcl_function_table",
                                  "dcl_interface",
                                  "dcl_input_control_point_count",
                                  "dcl_output_control_point_count",
                                  "dcl_tessellator_domain",
                                  "dcl_tessellator_partitioning",
                                  "dcl_tessellator_output_primitive",
                                  "dcl_hs_max_tessfactor",
                                  "dcl_hs_fork_phase_instance_count",
                                  "dcl_hs_join_phase_instance_count",
                                  "dcl_thread_group",
                                  "dcl_uav_typed",
                                  "dcl_uav_raw",
                                  "dcl_uav_structured",
                                  "dcl_tgsm_raw",
                                  "dcl_tgsm_structured",
                                  "dcl_resource_raw",
                                  "dcl_resource_structured",
                                  "ld_uav_typed",
                                  "store_uav_typed",
                                  "ld_raw",
                                  "store_raw",
                                  "ld_structured",
                                  "store_structured",
                                  "atomic_and",
                                  "atomic_or",
                                  "atomic_xor",
                                  "atomic_cmp_store",
                                  "atomic_iadd",
                                  "atomic_imax",
                                  "atomic_imin",
                                  "atomic_umax",
                                  "atomic_umin",
                                  "imm_atomic_alloc",
                                  "imm_atomic_consume",
                                  "imm_atomic_iadd",
                                  "imm_atomic_and",
                                  "imm_atomic_or",
                                  "imm_atomic_xor",
                                  "imm_atomic_exch",
                                  "imm_atomic_cmp_exch",
                                  "imm_atomic_imax",
                                  "imm_atomic_imin",
                                  "imm_atomic_umax",
                                  "imm_atomic_umin",
                                  "sync",
                                  "dadd",
                                  "dmax",
                                  "dmin",
                                  "dmul",
                                  "deq",
                                  "dge",
                                  "dlt",
                                  "dne",
                                  "dmov",
                                  "dmovc",
                                  "dtof",
                                  "ftod"};

constexpr uint32_t kExtended = 1u << 31;

}  // namespace

std::string OpcodeName(uint32_t opcode) {
  return opcode < sizeof kNames / sizeof *kNames ? kNames[opcode] : "opcode " + std::to_string(opcode);
}

uint32_t TokenReader::Word() {
  if (done()) throw std::string("an instruction is cut short");
  return ReadWord(words_ + 4 * size_t{at_++});
}

TokenReader TokenReader::Cut(uint32_t count) {
  if (count > left()) throw std::string("an instruction reaches beyond the end of the shader");
  TokenReader part(words_ + 4 * size_t{at_}, count);
  at_ += count;
  return part;
}

uint32_t TokenReader::ReadIndex(uint32_t representation) {
  if (representation != 0) throw std::string("a relative or 64-bit index is not part of the software adapter");
  return Word();
}

Operand TokenReader::ReadOperand() {
  const uint32_t token = Word();
  Operand operand;
  operand.type = token >> 12 & 0xff;
  uint32_t components = token & 3;
  for (uint32_t extended = token; extended & kExtended;) {
    extended = Word();
    if ((extended & 0x3f) == 1) {
      const uint32_t modifier = extended >> 6 & 0xff;
      if (modifier > 3) throw std::string("an operand has an unknown modifier");
      operand.negate = modifier & 1;
      operand.absolute = modifier & 2;
      if (extended >> 14 & 7) throw std::string("an operand of less precision is not part of the software adapter");
    } else if (extended & 0x3f) {
      throw std::string("an operand has an unknown extension");
    }
  }
  if (components == 3) throw std::string("an operand has an unknown number of components");
  if (components == 2) {
    const uint32_t mode = token >> 2 & 3;
    if (mode == 3) throw std::string("an operand has an unknown selection of components");
    operand.mask = mode == 0 ? token >> 4 & 15 : 15;
    for (uint32_t i = 0; i < 4; ++i)
      operand.swizzle[i] = static_cast<uint8_t>(mode == 0 ? i : mode == 1 ? token >> (4 + 2 * i) & 3 : token >> 4 & 3);
    components = 4;
  } else {
    operand.mask = components;
  }
  operand.dimensions = token >> 20 & 3;
  for (uint32_t i = 0; i < operand.dimensions; ++i) operand.index[i] = ReadIndex(token >> (22 + 3 * i) & 7);
  if (operand.type == kImmediate32) {
    if (operand.dimensions || !components) throw std::string("an immediate operand is malformed");
    for (uint32_t i = 0; i < components; ++i) operand.words[i] = Word();
    // Four words are read, each at its component.
    for (uint32_t i = 0; i < 4; ++i) operand.swizzle[i] = static_cast<uint8_t>(components == 4 ? i : 0);
  }
  return operand;
}

}  // namespace dxtensor::software::shader
