#include "function.h"

#include <string.h>

static bool change(struct function* f, const struct instruction* n) {
  struct operand* o = n->operands;
  struct mapping *from, *to;

  if (n->code == CALL) return change_call(f, n);
  if (n->code != EXTRACT) return change_address(f, n);
  if (n->count != 2 || o[0].v < f->s->value_count || o[1].v > 1) return false;
  from = mapping_of(f, o[0].v);
  to = mapping_of(f, n->result);
  if (from->pair[o[1].v] == NONE) return false;
  to->same_as = from->pair[o[1].v];
  return true;
}

static struct item* new_constants(struct function* f) {
  struct item *first = NULL, **last = &first;
  const uint64_t i32 = integer_type(f->s, 32);

  *last = new_record(f->s, SET_TYPE, 1, &i32);
  for (uint32_t i = 0; i < f->constant_count; ++i) {
    uint32_t v = f->constants[i];
    uint64_t coded = v & 0x80000000 ? (uint64_t)-v << 1 | 1 : (uint64_t)v << 1;
    last = &(*last)->next;
    *last = v ? new_record(f->s, INTEGER, 1, &coded) : new_record(f->s, ZERO, 0, NULL);
  }
  return first;
}

// The blocks of a function's block that its rewriting is about.
struct parts {
  struct item *constants, *attachments, *head;  // head: the record with the number of blocks
  uint32_t records;
};

static struct parts find_parts(struct shader* s, struct item* block) {
  struct parts p = {NULL, NULL, NULL, 0};

  for (struct item* item = block->first; item; item = item->next) {
    if (!item->is_block) {
      ++p.records;
      if (item->id == DECLARE_BLOCKS) p.head = item;
    } else if (item->id == CONSTANTS_BLOCK && !p.constants) read_constants(s, p.constants = item);
    else if (item->id == ATTACHMENT_BLOCK && !p.attachments) p.attachments = item;
    else if (item->id != SYMBOL_BLOCK && item->id != USE_LIST_BLOCK) fail(s, "a block in a function");
  }
  if (!p.head || p.head->ops[0] > p.records) fail(s, "number of blocks");
  return p;
}

// Metadata of instructions: it moves with them, and goes with those that are gone. moved: the last of those that replaced an
// instruction, or NULL.
static void move_attachments(struct shader* s, struct item* attachments, struct instruction** moved, uint32_t count) {
  for (struct item **at = &attachments->first, *item; (item = *at);) {
    const bool of_function = !(item->count & 1);

    if (!of_function && item->ops[0] >= count) fail(s, "metadata of no instruction");
    if (!of_function && !moved[item->ops[0]]) {
      *at = item->next;
      continue;
    }
    if (!of_function) item->ops[0] = moved[item->ops[0]]->index;
    at = &item->next;
  }
}

// Numbers first, then records: a phi names values that come later.
static void write_function(struct function* f, struct item* block, struct parts* p, uint32_t first_constant) {
  struct shader* s = f->s;
  const uint32_t first = s->value_count + f->constant_count;
  uint32_t next = first, index = 0;
  struct item** last;

  for (struct instruction* n = f->body; n; n = n->next) {
    if (n->result != NONE) mapping_of(f, n->result)->number = next++;
    n->index = index;
    if (!is_line(n)) ++index;
  }
  block->first = p->head;
  last = &p->head->next;
  if (!p->constants) {
    p->constants = allocate(s, sizeof(*p->constants));
    p->constants->is_block = true;
    p->constants->id = CONSTANTS_BLOCK;
  }
  *last = p->constants;
  last = without_addresses(s, &p->constants->first, first_constant);
  *last = new_constants(f);
  last = &p->constants->next;
  next = first;
  for (struct instruction* n = f->body; n; n = n->next) {
    *last = encode(f, n, next);
    last = &(*last)->next;
    if (n->result != NONE) ++next;
  }
  if ((*last = p->attachments)) p->attachments->next = NULL;
}

void change_function(struct shader* s, struct item* block, uint32_t arguments) {
  struct function f = {.s = s};
  const uint32_t globals = s->value_count;
  struct instruction** moved;
  uint32_t old = 0;
  bool changed = false;
  struct parts p;

  for (uint32_t i = 0; i < arguments; ++i) add_value(s, ARGUMENT, block, 0);
  p = find_parts(s, block);
  f.first = f.next = s->value_count;
  f.mappings = allocate(s, (f.first + p.records) * sizeof(*f.mappings));
  memset(f.mappings, 0xff, (f.first + p.records) * sizeof(*f.mappings));
  moved = allocate(s, (p.records + 1) * sizeof(*moved));
  f.last = &f.body;
  for (struct item* item = block->first; item; item = item->next) {
    struct instruction n = {.result = NONE};

    if (item->is_block || item->id == DECLARE_BLOCKS) continue;
    decode(&f, item, &n);
    if (makes_value(s, &n)) n.result = f.next++;
    f.newest = NULL;
    if (change(&f, &n)) changed = true;
    else append(&f, &n);
    if (!is_line(&n)) moved[old++] = f.newest;
  }
  if (with_one_way_back(&f, p.head)) changed = true;
  if (without_self_references(&f)) changed = true;
  if (changed) {
    s->changed = true;
    write_function(&f, block, &p, globals + arguments);
    if (p.attachments) move_attachments(s, p.attachments, moved, old);
  }
  s->value_count = globals;
}
