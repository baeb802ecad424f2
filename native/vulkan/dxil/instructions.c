#include "function.h"

#include <string.h>

// The kinds of an instruction's numbers; what follows * is repeated.
static const char* pattern(unsigned code) {
  switch (code) {
    case DECLARE_BLOCKS:
    case FENCE:
    case LINE:
    case LINE_AGAIN:
    case UNREACHABLE: return "*l";
    case BINARY:
    case COMPARE: return "Vv*l";
    case CAST:
    case LOAD:
    case EXTRACT: return "V*l";
    case INSERT:
    case STORE: return "VV*l";
    case SELECT: return "VvV";
    case RETURN: return "*V";
    case BRANCH: return "llv";
    case SWITCH: return "lvl*al";
    case PHI: return "l*sl";
    case ALLOCA: return "llal";
    case ATOMIC: return "Vv*l";
    case EXCHANGE: return "VVv*l";
    case CALL: return "lllV*v";
    case ELEMENT: return "ll*V";
    default: return NULL;
  }
}
void decode(struct function* f, const struct item* r, struct instruction* n) {
  const char *p = pattern(r->id), *loop = NULL;
  struct operand* o;

  if (!p) fail(f->s, "an unknown instruction");
  n->code = r->id;
  n->operands = o = allocate(f->s, (r->count + SPARE) * sizeof(*o));
  for (unsigned i = 0; i < r->count; ++i, ++o) {
    uint64_t v = r->ops[i];

    if (*p == '*') loop = ++p;
    if (!*p && !(p = loop)) fail(f->s, "too many numbers in an instruction");
    o->kind = *p++;
    if (o->kind == 's') o->v = (uint32_t)(f->next - (v & 1 ? -(uint32_t)(v >> 1) : (uint32_t)(v >> 1)));
    else if (o->kind == 'v' || o->kind == 'V') o->v = (uint32_t)(f->next - (uint32_t)v);
    else o->v = v;
    if (o->kind != 'l' && o->v >= NEW_VALUE) fail(f->s, "number of a value");
    if (o->kind != 'V' || o->v < f->next) continue;
    if (++i == r->count) fail(f->s, "a value without its type");
    o->type = (uint32_t)r->ops[i];
  }
  n->count = (unsigned)(o - n->operands);
}

bool makes_value(struct shader* s, const struct instruction* n) {
  switch (n->code) {
    case DECLARE_BLOCKS:
    case FENCE:
    case LINE:
    case LINE_AGAIN:
    case UNREACHABLE:
    case STORE:
    case RETURN:
    case BRANCH:
    case SWITCH: return false;
    case CALL: {
      const struct type* t;

      if (n->count < 4 || !(n->operands[1].v & EXPLICIT_TYPE)) fail(s, "a call without its type");
      t = type(s, n->operands[2].v);
      if (t->code != FUNCTION_TYPE || t->count < 2) fail(s, "the type of a call");
      return type(s, t->ops[1])->code != VOID_TYPE;
    }
    default: return true;
  }
}

struct mapping* mapping_of(struct function* f, uint64_t value) {
  if (value < f->next) return &f->mappings[value];
  if (value < NEW_VALUE || value - NEW_VALUE >= f->new_count) fail(f->s, "number of a value");
  return &f->new_mappings[value - NEW_VALUE];
}

void append(struct function* f, const struct instruction* n) {
  struct instruction* copy = allocate(f->s, sizeof(*copy));

  *copy = *n;
  copy->next = NULL;
  *f->last = copy;
  f->last = &copy->next;
  f->newest = copy;
}

uint32_t make(struct function* f, unsigned code, unsigned count, const struct operand* operands) {
  struct instruction n = {.code = code, .count = count, .result = NEW_VALUE + (uint32_t)f->new_count};

  n.operands = allocate(f->s, count * sizeof(*operands));
  memcpy(n.operands, operands, count * sizeof(*operands));
  f->new_mappings = grow(f->s, f->new_mappings, f->new_count, &f->new_capacity, sizeof(*f->new_mappings));
  memset(&f->new_mappings[f->new_count++], 0xff, sizeof(*f->new_mappings));
  append(f, &n);
  return n.result;
}
uint32_t binary(struct function* f, unsigned op, uint32_t a, uint32_t b) { return MAKE(f, BINARY, {'V', a, 0}, {'v', b, 0}, {'l', op, 0}); }
uint32_t bitcast(struct function* f, uint32_t a, uint32_t type) { return MAKE(f, CAST, {'V', a, 0}, {'l', type, 0}, {'l', BITCAST, 0}); }
uint32_t choose(struct function* f, uint32_t condition, uint32_t a, uint32_t b) {
  return MAKE(f, SELECT, {'V', a, 0}, {'v', b, 0}, {'V', condition, 0});
}
uint32_t number(struct function* f, uint32_t value) {
  uint32_t i;

  for (i = 0; i < f->constant_count; ++i)
    if (f->constants[i] == value) return CONSTANT + i;
  if (i == COUNT(f->constants)) fail(f->s, "too many new constants");
  f->constants[f->constant_count++] = value;
  return CONSTANT + i;
}

// The number that a value has now.
static uint32_t numbered(struct function* f, uint64_t value) {
  uint32_t constants = f->s->value_count, n;

  if (value >= CONSTANT) return constants + (uint32_t)(value - CONSTANT);
  for (unsigned i = 0; i < 16; ++i) {
    if (value < constants) return (uint32_t)value;
    if (mapping_of(f, value)->same_as == NONE) break;
    if ((value = mapping_of(f, value)->same_as) >= CONSTANT) return constants + (uint32_t)(value - CONSTANT);
  }
  if ((n = mapping_of(f, value)->number) == NONE) fail(f->s, "a value that is gone is used");
  return n;
}

bool is_line(const struct instruction* n) { return n->code == LINE || n->code == LINE_AGAIN; }

struct item* encode(struct function* f, const struct instruction* n, uint32_t next) {
  uint64_t* ops = allocate(f->s, (2 * n->count + 1) * sizeof(*ops));
  unsigned count = 0;

  for (const struct operand* o = n->operands; o < n->operands + n->count; ++o) {
    uint32_t v = o->kind == 'l' ? 0 : numbered(f, o->v);
    int64_t back = (int64_t)next - v;

    if (o->kind == 'l') ops[count++] = o->v;
    else if (o->kind == 'a') ops[count++] = v;
    else if (o->kind == 's') ops[count++] = back < 0 ? (uint64_t)-back << 1 | 1 : (uint64_t)back << 1;
    else ops[count++] = (uint32_t)back;
    if (o->kind == 'V' && v >= next) ops[count++] = o->type;
  }
  return new_record(f->s, n->code, count, ops);
}
