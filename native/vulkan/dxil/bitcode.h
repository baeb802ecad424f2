// LLVM's bitstream, as DXIL is written in: a tree of blocks and records.
#ifndef DXTENSOR_VULKAN_DXIL_BITCODE_H
#define DXTENSOR_VULKAN_DXIL_BITCODE_H

#include "shader.h"

// What a bitstream's identifiers say.
enum { END_BLOCK, ENTER_BLOCK, DEFINE_ABBREVIATION, PLAIN_RECORD };
// Kinds of blocks.
enum {
  INFO_BLOCK = 0,
  MODULE_BLOCK = 8,
  CONSTANTS_BLOCK = 11,
  FUNCTION_BLOCK = 12,
  SYMBOL_BLOCK = 14,
  METADATA_BLOCK = 15,
  ATTACHMENT_BLOCK = 16,
  TYPE_BLOCK = 17,
  USE_LIST_BLOCK = 18
};

// All of s->in as one block whose items are the outermost blocks.
struct item* read_stream(struct shader* s);
// Appends to s->out, without abbreviations.
void write_items(struct shader* s, const struct item* item);
void put(struct shader* s, uint64_t value, unsigned width);

#endif
