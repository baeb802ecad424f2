// Groupshared memory in bytes, which vkd3d-shader refuses, as memory in words.
#include "function.h"

#include <string.h>

static uint32_t pointee(struct shader* s, uint64_t pointer) {
  const struct type* t = type(s, pointer);

  return t->code == POINTER_TYPE && t->count ? (uint32_t)t->ops[0] : NONE;
}

bool constant_address(struct shader* s, uint64_t value, uint32_t* global, uint32_t* bytes, unsigned depth) {
  const struct value* v;
  uint32_t zero;
  unsigned at;

  if (value >= s->value_count || depth > 4) return false;
  v = &s->values[value];
  if (v->code == SHARED_BYTES) {
    *global = (uint32_t)value;
    *bytes = 0;
    return true;
  }
  if (v->code == CAST_CONSTANT && v->count == 3 && (v->ops[0] == BITCAST || v->ops[0] == ADDRESS_SPACE_CAST))
    return constant_address(s, v->ops[2], global, bytes, depth + 1);
  if (v->code != ELEMENT_CONSTANT && v->code != INBOUNDS_ELEMENT_CONSTANT) return false;
  at = v->count & 1;  // a type; then type and value of the address, of 0, of the offset
  if (v->count != 6 + at || v->ops[at + 1] >= s->value_count || s->values[v->ops[at + 1]].code != SHARED_BYTES) return false;
  *global = (uint32_t)v->ops[at + 1];
  return constant(s, (uint32_t)v->ops[at + 3], &zero) && !zero && constant(s, (uint32_t)v->ops[at + 5], bytes);
}

static bool is_address(struct function* f, uint64_t value, struct address* a) {
  uint32_t bytes;

  if (value < f->s->value_count) {
    if (!constant_address(f->s, value, &a->global, &bytes, 0)) return false;
    a->offset = number(f, bytes);
    a->type = pointee(f->s, f->s->values[value].type);
    return true;
  }
  *a = mapping_of(f, value)->address;
  return a->global != NONE;
}

// The address as one of an i32 in the array that the memory is now.
static struct operand word_at(struct function* f, const struct address* a) {
  struct shader* s = f->s;
  const uint64_t pointer[] = {integer_type(s, 32), SHARED};
  uint32_t index =
      a->offset >= CONSTANT ? number(f, f->constants[a->offset - CONSTANT] / 4) : binary(f, SHIFT_RIGHT, a->offset, number(f, 2));

  if (a->type != integer_type(s, 32) && a->type != float_type(s)) fail(s, "groupshared memory of another type");
  find_type(s, POINTER_TYPE, 2, pointer);
  return (struct operand){
      'V', MAKE(f, ELEMENT, {'l', 1, 0}, {'l', s->values[a->global].type, 0}, {'V', a->global, 0}, {'V', number(f, 0), 0}, {'V', index, 0}),
      0};
}

bool change_address(struct function* f, const struct instruction* n) {
  struct shader* s = f->s;
  uint32_t i32 = integer_type(s, 32), zero;
  const struct operand* o = n->operands;
  struct instruction copy = *n;
  struct address a, *result;

  switch (n->code) {
    case ELEMENT:
      if (n->count != 5 || o[2].v >= s->value_count || s->values[o[2].v].code != SHARED_BYTES) return false;
      if (!constant(s, (uint32_t)o[3].v, &zero) || zero) fail(s, "an element of groupshared memory");
      mapping_of(f, n->result)->address = (struct address){(uint32_t)o[2].v, (uint32_t)o[4].v, NONE};
      return true;
    case CAST:
      if (!is_address(f, o[0].v, &a) || o[2].v != BITCAST) return false;
      result = &mapping_of(f, n->result)->address;
      *result = a;
      result->type = pointee(s, o[1].v);
      return true;
    case LOAD:
      if (!is_address(f, o[0].v, &a)) return false;
      zero = MAKE(f, LOAD, word_at(f, &a), {'l', i32, 0}, o[2], o[3]);
      mapping_of(f, n->result)->same_as = a.type == i32 ? zero : bitcast(f, zero, a.type);
      return true;
    case STORE:
    case ATOMIC:
      if (!is_address(f, o[0].v, &a)) return false;
      if (n->code == ATOMIC && a.type != i32) fail(s, "an atomic operation in groupshared memory");
      copy.operands = allocate(s, n->count * sizeof(*o));
      memcpy(copy.operands, o, n->count * sizeof(*o));
      copy.operands[0] = word_at(f, &a);
      if (a.type != i32) copy.operands[1] = (struct operand){'V', bitcast(f, (uint32_t)o[1].v, i32), 0};
      append(f, &copy);
      return true;
    default: return false;
  }
}

static bool array_of_addresses(struct shader* s, const struct value* v) {
  const struct type* t = type(s, v->type);

  return v->code == AGGREGATE && t->code == ARRAY_TYPE && type(s, t->ops[1])->code == POINTER_TYPE;
}

// Constants from number on, with an i32 where there was an address in groupshared memory, or llvm.used's value. Where the
// list ends.
struct item** without_addresses(struct shader* s, struct item** at, uint32_t number) {
  const uint64_t i32 = integer_type(s, 32);
  uint64_t current = 0;
  uint32_t global, bytes;

  for (; *at; at = &(*at)->next) {
    struct item* rest = (*at)->next;

    if ((*at)->id == SET_TYPE) {
      current = (*at)->ops[0];
      continue;
    }
    if (!constant_address(s, number, &global, &bytes, 0) && !array_of_addresses(s, &s->values[number])) {
      ++number;
      continue;
    }
    ++number;
    *at = new_record(s, SET_TYPE, 1, &i32);
    at = &(*at)->next;
    *at = new_record(s, UNDEFINED, 0, NULL);
    at = &(*at)->next;
    *at = new_record(s, SET_TYPE, 1, &current);
    (*at)->next = rest;
  }
  return at;
}
