#include "module.h"

#include <string.h>

void read_type(struct shader* s, const struct item* r) {
  if (r->is_block || r->id == NUMBER_OF_TYPES || r->id == STRUCTURE_NAME) return;
  s->types = grow(s, s->types, s->type_count, &s->type_capacity, sizeof(*s->types));
  s->types[s->type_count++] = (struct type){r->id, r->count, r->ops};
}

const struct type* type(struct shader* s, uint64_t index) {
  if (index >= s->type_count) fail(s, "number of a type");
  return &s->types[index];
}

bool type_is(struct shader* s, uint64_t index, unsigned code, uint64_t op) {
  const struct type* t = type(s, index);
  return t->code == code && (!t->count || t->ops[0] == op);
}

uint32_t find_type(struct shader* s, unsigned code, size_t count, const uint64_t* ops) {
  struct item *r, **last = &s->type_block->first;
  uint32_t i;

  for (i = 0; i < s->type_count; ++i)
    if (s->types[i].code == code && s->types[i].count == count && (!count || !memcmp(s->types[i].ops, ops, count * sizeof(*ops)))) return i;
  for (; *last; last = &(*last)->next)
    if (!(*last)->is_block && (*last)->id == NUMBER_OF_TYPES && (*last)->count) ++(*last)->ops[0];
  *last = r = new_record(s, code, count, ops);
  read_type(s, r);
  return i;
}
uint32_t integer_type(struct shader* s, uint64_t width) { return find_type(s, INTEGER_TYPE, 1, &width); }
uint32_t float_type(struct shader* s) { return find_type(s, FLOAT_TYPE, 0, NULL); }

void add_value(struct shader* s, unsigned code, const struct item* r, uint64_t type) {
  s->values = grow(s, s->values, s->value_count, &s->value_capacity, sizeof(*s->values));
  s->values[s->value_count++] = (struct value){code, r->count, r->ops, (uint32_t)type};
}

void read_constants(struct shader* s, const struct item* block) {
  uint64_t current = 0;

  for (const struct item* r = block->first; r; r = r->next)
    if (r->is_block) fail(s, "a block among constants");
    else if (r->id == SET_TYPE && r->count) current = r->ops[0];
    else add_value(s, r->id, r, current);
}

bool constant(struct shader* s, uint32_t number, uint32_t* value) {
  const struct value* v;

  *value = 0;
  if (number >= s->value_count) return false;
  v = &s->values[number];
  if (v->code == ZERO) return type(s, v->type)->code == INTEGER_TYPE;
  if (v->code != INTEGER || !v->count) return false;
  *value = (uint32_t)(v->ops[0] >> 1);
  if (v->ops[0] & 1) *value = -*value;  // the lowest bit is the sign
  return true;
}
