#include "function.h"

#include <string.h>

static bool ends_block(const struct instruction* n) {
  return n->code == BRANCH || n->code == SWITCH || n->code == RETURN || n->code == UNREACHABLE;
}

// Whether number i of an instruction that ends a block is that of a block.
static bool is_block(const struct instruction* n, unsigned i) {
  return (n->code == BRANCH && i < 2) || (n->code == SWITCH && i > 1 && i % 2 == 0);
}

// vkd3d-shader refuses a loop with several branches to its start: these go to a new block at the end then, and
// from there to the start.
bool with_one_way_back(struct function* f, struct item* declared) {
  const uint32_t blocks = (uint32_t)declared->ops[0];
  struct instruction** first = allocate(f->s, (blocks + 1) * sizeof(*first));
  struct instruction** ends = allocate(f->s, (blocks + 1) * sizeof(*ends));
  uint32_t block = 0, end;

  first[0] = f->body;
  for (struct instruction* n = f->body; n; n = n->next)
    if (ends_block(n)) {
      if (block == blocks) fail(f->s, "number of blocks");
      ends[block++] = n;
      first[block] = n->next;
    }
  if (block != blocks) fail(f->s, "number of blocks");
  for (uint32_t start = 0; start < blocks; ++start) {
    const uint64_t way = declared->ops[0];
    unsigned ways = 0;
    struct instruction branch = {.code = BRANCH, .count = 1, .result = NONE};

    for (end = start; end < blocks; ++end)
      for (unsigned i = 0; i < ends[end]->count; ++i)
        if (is_block(ends[end], i) && ends[end]->operands[i].v == start) {
          ++ways;
          break;
        }
    if (ways < 2) continue;
    for (struct instruction* phi = first[start]; phi->code == PHI; phi = phi->next) {
      struct operand *old = phi->operands, *stay = allocate(f->s, (phi->count + 2) * sizeof(*stay)),
                     *back = allocate(f->s, (phi->count + 2) * sizeof(*back));
      unsigned stays = 1, backs = 1;

      stay[0] = back[0] = old[0];
      for (unsigned i = 1; i + 1 < phi->count; i += 2) {
        struct operand* to = old[i + 1].v >= start ? back + backs : stay + stays;
        memcpy(to, old + i, 2 * sizeof(*to));
        *(old[i + 1].v >= start ? &backs : &stays) += 2;
      }
      stay[stays++] = (struct operand){'s', make(f, PHI, backs, back), 0};
      stay[stays++] = (struct operand){'l', way, 0};
      phi->operands = stay;
      phi->count = stays;
    }
    for (end = start; end < blocks; ++end)
      for (unsigned i = 0; i < ends[end]->count; ++i)
        if (is_block(ends[end], i) && ends[end]->operands[i].v == start) ends[end]->operands[i].v = way;
    branch.operands = allocate(f->s, sizeof(*branch.operands));
    *branch.operands = (struct operand){'l', start, 0};
    append(f, &branch);
    ++declared->ops[0];
  }
  return declared->ops[0] != blocks;
}

// vkd3d-shader refuses a phi that keeps its value: it gets a copy from the end of the block that it keeps it through.
bool without_self_references(struct function* f) {
  bool changed = false;

  for (struct instruction* phi = f->body; phi; phi = phi->next)
    for (unsigned i = 1; phi->code == PHI && i + 1 < phi->count; i += 2) {
      uint64_t block = phi->operands[i + 1].v, left = block;
      struct instruction **at, *rest;
      uint32_t copy;

      if (phi->operands[i].v != phi->result) continue;
      for (at = &f->body; (rest = *at); at = &rest->next)
        if (ends_block(rest) && !left--) break;
      if (!rest) fail(f->s, "a phi's block");
      f->last = at;
      copy = bitcast(f, phi->result, (uint32_t)phi->operands[0].v);
      *f->last = rest;
      for (unsigned j = i; j + 1 < phi->count; j += 2)
        if (phi->operands[j].v == phi->result && phi->operands[j + 1].v == block) phi->operands[j].v = copy;
      changed = true;
    }
  return changed;
}
