#include "wrap.h"

const D3D12_COMPUTE_PIPELINE_STATE_DESC* struct_D3D12_COMPUTE_PIPELINE_STATE_DESC(const D3D12_COMPUTE_PIPELINE_STATE_DESC* from,
                                                                                  D3D12_COMPUTE_PIPELINE_STATE_DESC* to) {
  if (!from) return NULL;
  *to = *from;
  to->pRootSignature = unwrap(from->pRootSignature);
  return to;
}

const D3D12_GRAPHICS_PIPELINE_STATE_DESC* struct_D3D12_GRAPHICS_PIPELINE_STATE_DESC(const D3D12_GRAPHICS_PIPELINE_STATE_DESC* from,
                                                                                    D3D12_GRAPHICS_PIPELINE_STATE_DESC* to) {
  if (!from) return NULL;
  *to = *from;
  to->pRootSignature = unwrap(from->pRootSignature);
  return to;
}

const D3D12_TEXTURE_COPY_LOCATION* struct_D3D12_TEXTURE_COPY_LOCATION(const D3D12_TEXTURE_COPY_LOCATION* from,
                                                                      D3D12_TEXTURE_COPY_LOCATION* to) {
  if (!from) return NULL;
  *to = *from;
  to->pResource = unwrap(from->pResource);
  return to;
}

D3D12_RESOURCE_BARRIER* array_D3D12_RESOURCE_BARRIER(const D3D12_RESOURCE_BARRIER* from, UINT count) {
  D3D12_RESOURCE_BARRIER* to;

  if (!from || !(to = malloc((count + 1) * sizeof(*to)))) return NULL;
  memcpy(to, from, count * sizeof(*to));
  for (UINT i = 0; i < count; ++i) switch (to[i].Type) {
      case D3D12_RESOURCE_BARRIER_TYPE_TRANSITION: to[i].Transition.pResource = unwrap(from[i].Transition.pResource); break;
      case D3D12_RESOURCE_BARRIER_TYPE_ALIASING:
        to[i].Aliasing.pResourceBefore = unwrap(from[i].Aliasing.pResourceBefore);
        to[i].Aliasing.pResourceAfter = unwrap(from[i].Aliasing.pResourceAfter);
        break;
      case D3D12_RESOURCE_BARRIER_TYPE_UAV: to[i].UAV.pResource = unwrap(from[i].UAV.pResource); break;
    }
  return to;
}

// A stream of (type, value) pairs, each starting on a pointer's boundary. A copy, with the root signatures
// unwrapped; from the first unknown type on it is left as it is, for vkd3d to refuse.
D3D12_PIPELINE_STATE_STREAM_DESC* array_D3D12_PIPELINE_STATE_STREAM_DESC(const D3D12_PIPELINE_STATE_STREAM_DESC* from, UINT count) {
#define PART(type)    \
  {                   \
    sizeof(struct {   \
      int t;          \
      type v;         \
    }),               \
        offsetof(     \
            struct {  \
              int t;  \
              type v; \
            },        \
            v)        \
  }
  struct formats {
    UINT values[8], count;
  };
  static const struct {
    size_t size, at;
  } parts[] = {
      PART(void*),
      PART(D3D12_SHADER_BYTECODE),
      PART(D3D12_SHADER_BYTECODE),
      PART(D3D12_SHADER_BYTECODE),
      PART(D3D12_SHADER_BYTECODE),
      PART(D3D12_SHADER_BYTECODE),
      PART(D3D12_SHADER_BYTECODE),
      PART(D3D12_STREAM_OUTPUT_DESC),
      PART(D3D12_BLEND_DESC),
      PART(UINT),
      PART(D3D12_RASTERIZER_DESC),
      PART(D3D12_DEPTH_STENCIL_DESC),
      PART(D3D12_INPUT_LAYOUT_DESC),
      PART(UINT),
      PART(UINT),
      PART(struct formats),
      PART(UINT),
      PART(DXGI_SAMPLE_DESC),
      PART(UINT),
      PART(D3D12_CACHED_PIPELINE_STATE),
      PART(UINT),
      PART(D3D12_DEPTH_STENCIL_DESC1),
      PART(D3D12_VIEW_INSTANCING_DESC),
      {0},
      PART(D3D12_SHADER_BYTECODE),
      PART(D3D12_SHADER_BYTECODE),
  };
  D3D12_PIPELINE_STATE_STREAM_DESC* to;
  char* stream;

  (void)count;
  if (!from || !(to = malloc(sizeof(*to) + from->SizeInBytes))) return NULL;
  stream = (char*)(to + 1);
  to->SizeInBytes = from->SizeInBytes;
  to->pPipelineStateSubobjectStream = stream;
  memcpy(stream, from->pPipelineStateSubobjectStream, from->SizeInBytes);
  for (size_t at = 0; at + 8 <= from->SizeInBytes;) {
    unsigned type = *(unsigned*)(stream + at);
    if (type >= COUNT(parts) || !parts[type].size || at + parts[type].size > from->SizeInBytes) break;
    if (type == D3D12_PIPELINE_STATE_SUBOBJECT_TYPE_ROOT_SIGNATURE) {
      void** root = (void**)(stream + at + parts[type].at);
      *root = unwrap(*root);
    }
    at += (parts[type].size + 7) & ~(size_t)7;
  }
  return to;
}
