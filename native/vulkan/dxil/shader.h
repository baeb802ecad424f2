// A shader while it is rewritten: what was read of it, what is written, and the memory of both.
//
// One thread at a time works on one shader. Whatever is allocated lives until free_shader. A shader that is not understood leaves
// by fail(), which returns to the setjmp of container.c: the shader then stays as it was.
#ifndef DXTENSOR_VULKAN_DXIL_SHADER_H
#define DXTENSOR_VULKAN_DXIL_SHADER_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define NONE UINT32_MAX

// A record, or a block of records and blocks.
struct item {
  struct item *next, *first;
  bool is_block;
  unsigned id, count;
  uint64_t* ops;
};
struct type {
  unsigned code, count;
  uint64_t* ops;
};
// A global or a constant.
struct value {
  unsigned code, count;
  uint64_t* ops;
  uint32_t type;
};

struct shader {
  jmp_buf failed;
  struct memory {
    struct memory* next;
  } * memory;
  bool changed;

  const uint8_t* in;
  size_t at, end;     // in bits
  uint64_t* numbers;  // of the record that is being read
  size_t number_count, number_capacity;
  struct abbreviations {
    unsigned count;
    struct abbreviation* list[32];
  } known[32];  // for each kind of block

  uint8_t* out;
  size_t written, capacity;  // in bits, in bytes

  struct item* type_block;
  struct type* types;
  struct value* values;
  uint32_t type_count, value_count;
  size_t type_capacity, value_capacity;
};

// Ends the work on the shader.
_Noreturn void fail(struct shader* s, const char* why);
// Zeroed memory of the shader's.
void* allocate(struct shader* s, size_t size);
// Capacity for one more element in an array that grows.
void* grow(struct shader* s, void* array, size_t count, size_t* capacity, size_t size);
// A record with a copy of its numbers. Some zeros follow them: what a record that is too short is read as.
enum { SPARE = 8 };
struct item* new_record(struct shader* s, unsigned code, size_t count, const uint64_t* ops);
void free_shader(struct shader* s);

#endif
