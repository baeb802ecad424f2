// A module's types, globals and constants, by LLVM's numbers for them.
#ifndef DXTENSOR_VULKAN_DXIL_MODULE_H
#define DXTENSOR_VULKAN_DXIL_MODULE_H

#include "bitcode.h"

enum {
  NUMBER_OF_TYPES = 1,
  VOID_TYPE = 2,
  FLOAT_TYPE = 3,
  INTEGER_TYPE = 7,
  POINTER_TYPE = 8,
  ARRAY_TYPE = 11,
  STRUCTURE_NAME = 19,
  FUNCTION_TYPE = 21
};
enum {
  SET_TYPE = 1,
  ZERO = 2,
  UNDEFINED = 3,
  INTEGER = 4,
  AGGREGATE = 7,
  CAST_CONSTANT = 11,
  ELEMENT_CONSTANT = 12,
  INBOUNDS_ELEMENT_CONSTANT = 20
};
enum { GLOBAL_VARIABLE = 7, FUNCTION = 8, ALIAS_OLD = 9, ALIAS = 14 };
// Of a variable: its type is no pointer; an address space; two kinds of linkage.
enum { EXPLICIT = 2, SHARED = 3, APPENDING = 2, INTERNAL = 3 };
enum { METADATA_VALUE = 2 };
// Codes of values; a global's own is added to the first.
enum { GLOBAL = 0x100, ARGUMENT = 0x200, SHARED_BYTES };
#define USE_NATIVE_LOW_PRECISION 0x800000

void read_type(struct shader* s, const struct item* r);
const struct type* type(struct shader* s, uint64_t index);
bool type_is(struct shader* s, uint64_t index, unsigned code, uint64_t op);
// The number of the type that is so; where there is none it is added.
uint32_t find_type(struct shader* s, unsigned code, size_t count, const uint64_t* ops);
uint32_t integer_type(struct shader* s, uint64_t width);
uint32_t float_type(struct shader* s);

void add_value(struct shader* s, unsigned code, const struct item* r, uint64_t type);
void read_constants(struct shader* s, const struct item* block);
// False when the value is no integer constant.
bool constant(struct shader* s, uint32_t number, uint32_t* value);

// Rewrites a module block, and one of its functions, which has so many arguments.
void change_module(struct shader* s, struct item* module);
void change_function(struct shader* s, struct item* block, uint32_t arguments);
// Groupshared memory: the global and the offset that a constant is the address of, and constants from number on with an i32
// instead of such an address or of llvm.used's value; returns where the list ends.
bool constant_address(struct shader* s, uint64_t value, uint32_t* global, uint32_t* bytes, unsigned depth);
struct item** without_addresses(struct shader* s, struct item** at, uint32_t number);

#endif
