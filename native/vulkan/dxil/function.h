// A function while it is rewritten: its instructions as a list, with values by number.
//
// Values have their numbers from before; new instructions' are counted from NEW_VALUE, new constants' from CONSTANT. encode() gives
// them their final numbers.
#ifndef DXTENSOR_VULKAN_DXIL_FUNCTION_H
#define DXTENSOR_VULKAN_DXIL_FUNCTION_H

#include "module.h"

enum {
  DECLARE_BLOCKS = 1,
  BINARY = 2,
  CAST = 3,
  RETURN = 10,
  BRANCH = 11,
  SWITCH = 12,
  UNREACHABLE = 15,
  PHI = 16,
  ALLOCA = 19,
  LOAD = 20,
  EXTRACT = 26,
  INSERT = 27,
  COMPARE = 28,
  SELECT = 29,
  LINE_AGAIN = 33,
  CALL = 34,
  LINE = 35,
  FENCE = 36,
  ATOMIC = 38,
  ELEMENT = 43,
  STORE = 44,
  EXCHANGE = 46
};
enum { ADD = 0, MULTIPLY = 2, DIVIDE = 3, REMAINDER = 5, SHIFT_LEFT = 7, SHIFT_RIGHT = 8, AND = 10, OR = 11, XOR = 12 };
enum { BITCAST = 11, ADDRESS_SPACE_CAST = 12, EQUAL = 32, EXPLICIT_TYPE = 1 << 15 };

// kind: l none of a value; V a value, with its type where it comes later; v a value; s the same, signed; a a value's own number.
struct operand {
  char kind;
  uint64_t v;
  uint32_t type;
};
struct instruction {
  struct instruction* next;
  unsigned code, count;
  uint32_t result;  // the value it makes, or NONE
  uint32_t index;   // among the instructions, at the end
  struct operand* operands;
};
enum { NEW_VALUE = 1 << 30, CONSTANT = 3 << 29 };
// What a value of the old function is in the new one.
struct mapping {
  uint32_t number;   // its new number, or NONE
  uint32_t same_as;  // the value that replaces it, or NONE
  uint32_t pair[2];  // of a structure of two: what its parts are now, or NONE
  // In groupshared bytes: the global, or NONE; the value that is its offset; the type of what is there.
  struct address {
    uint32_t global, offset, type;
  } address;
};
struct function {
  struct shader* s;
  uint32_t first, next;  // of the instructions' values; the next one's
  struct mapping *mappings, *new_mappings;
  size_t new_count, new_capacity;
  uint32_t constants[64], constant_count;
  struct instruction *body, **last, *newest;
};

void decode(struct function* f, const struct item* r, struct instruction* n);
struct item* encode(struct function* f, const struct instruction* n, uint32_t next);
bool makes_value(struct shader* s, const struct instruction* n);
bool is_line(const struct instruction* n);
struct mapping* mapping_of(struct function* f, uint64_t value);

// Appends a copy of an instruction.
void append(struct function* f, const struct instruction* n);
// Appends a new instruction that makes a value, which is returned.
uint32_t make(struct function* f, unsigned code, unsigned count, const struct operand* operands);
#define MAKE(f, code, ...) make(f, code, sizeof((struct operand[]){__VA_ARGS__}) / sizeof(struct operand), (struct operand[]){__VA_ARGS__})
uint32_t binary(struct function* f, unsigned op, uint32_t a, uint32_t b);
uint32_t bitcast(struct function* f, uint32_t a, uint32_t type);
uint32_t choose(struct function* f, uint32_t condition, uint32_t a, uint32_t b);
// A constant i32.
uint32_t number(struct function* f, uint32_t value);

// Each writes what stands for the instruction now, and returns false when the instruction can stay.
bool change_call(struct function* f, const struct instruction* n);
bool change_address(struct function* f, const struct instruction* n);
// What vkd3d-shader refuses of a function's blocks; true when something was changed.
bool with_one_way_back(struct function* f, struct item* declared);
bool without_self_references(struct function* f);

#endif
