#include "module.h"

#define FUNCTIONS 16

// llvm.used, an array of addresses, is for compilers only: an i32 stands for it, so that the numbers of values stay.
static void forget_uses(struct shader* s, struct item* global) {
  const uint64_t pointer[] = {integer_type(s, 32), 0};

  global->ops[0] = pointer[0];
  find_type(s, POINTER_TYPE, 2, pointer);
  global->ops[1] = EXPLICIT;
  global->ops[2] = 0;  // no initial value
  global->ops[3] = INTERNAL;
}

// A global, and for a function with a body its number of arguments.
static void read_global(struct shader* s, struct item* item, uint32_t* arguments, uint32_t* defined) {
  if (item->count < 3) fail(s, "a global");
  if (item->id == GLOBAL_VARIABLE && item->count > 3 && item->ops[3] == APPENDING) forget_uses(s, item);
  add_value(s, GLOBAL + item->id, item, item->ops[0]);
  if (item->id == FUNCTION && !item->ops[2]) {
    const struct type* t = type(s, item->ops[0]);

    if (t->code != FUNCTION_TYPE || t->count < 2 || *defined == FUNCTIONS) fail(s, "a function");
    arguments[(*defined)++] = t->count - 2;
  }
}

// The one i64 in DXIL's metadata is the entry point's flags.
static void clear_low_precision(struct shader* s, const struct item* metadata) {
  const uint32_t i64 = integer_type(s, 64);

  for (const struct item* r = metadata->first; r; r = r->next) {
    struct value* v;

    if (r->is_block || r->id != METADATA_VALUE || r->count != 2 || r->ops[0] != i64 || r->ops[1] >= s->value_count) continue;
    v = &s->values[r->ops[1]];
    if (v->code != INTEGER || !(v->ops[0] & USE_NATIVE_LOW_PRECISION << 1)) continue;
    v->ops[0] &= ~(uint64_t)(USE_NATIVE_LOW_PRECISION << 1);
    s->changed = true;
  }
}

// Groupshared arrays of bytes become arrays of words; the code of such a value says from here on that it is one.
static void mark_groupshared_bytes(struct shader* s) {
  for (uint32_t i = 0; i < s->value_count; ++i) {
    struct value* v = &s->values[i];
    const struct type* t;

    // The second number holds the address space, and a bit that says that the first is the variable's type.
    if (v->code != GLOBAL + GLOBAL_VARIABLE || v->ops[1] >> 2 != SHARED || !(v->ops[1] & EXPLICIT)) continue;
    t = type(s, v->type);
    if (t->code != ARRAY_TYPE || !type_is(s, t->ops[1], INTEGER_TYPE, 8) || t->ops[0] % 4) continue;
    v->code = SHARED_BYTES;
  }
  for (uint32_t i = 0; i < s->value_count; ++i) {
    const struct type* t;

    if (s->values[i].code != SHARED_BYTES) continue;
    t = type(s, s->values[i].type);
    if (!type_is(s, t->ops[1], INTEGER_TYPE, 8)) continue;  // done: two variables of one type
    t->ops[0] /= 4;
    t->ops[1] = integer_type(s, 32);
  }
}

void change_module(struct shader* s, struct item* module) {
  struct item *item, *constants = NULL, *bodies[FUNCTIONS];
  uint32_t arguments[FUNCTIONS], defined = 0, done = 0, first_constant = 0;

  for (item = module->first; item; item = item->next)
    if (item->is_block && item->id == TYPE_BLOCK)
      for (struct item* r = (s->type_block = item)->first; r; r = r->next) read_type(s, r);
  if (!s->type_block) fail(s, "no types");
  for (item = module->first; item; item = item->next) {
    if (!item->is_block) {
      if (item->id == GLOBAL_VARIABLE || item->id == FUNCTION || item->id == ALIAS || item->id == ALIAS_OLD)
        read_global(s, item, arguments, &defined);
    } else if (item->id == CONSTANTS_BLOCK) {
      if (constants) fail(s, "constants twice");
      first_constant = s->value_count;
      read_constants(s, constants = item);
    } else if (item->id == METADATA_BLOCK) clear_low_precision(s, item);
    else if (item->id == FUNCTION_BLOCK) {
      if (done == defined) fail(s, "a function's body");
      bodies[done++] = item;
    }
  }
  mark_groupshared_bytes(s);
  if (constants) without_addresses(s, &constants->first, first_constant);
  for (uint32_t i = 0; i < done; ++i) change_function(s, bodies[i], arguments[i]);
}
