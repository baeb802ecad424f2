// Rewrites DXIL shaders for vkd3d-shader 2.1.
//
// Microsoft's dxbc2dxil made most of libdirectml.so's shaders from DXBC. It emits constructs that DXC does not emit and that
// vkd3d-shader does not support; DXC made the others, with a flag that vkd3d-shader refuses. Each construct is replaced by an
// equivalent one:
//
//   dx.op.binaryWithTwoOuts  IMul's and UMul's lower half: mul. UDiv: udiv and urem; for a divisor of 0 both are ~0
//   dx.op.quaternary         Bfi: shifts and masks
//   dx.op.bitcast...         LLVM's bitcast
//   groupshared [n x i8]     [n / 4 x i32]; it is read and written as i32 or float only
//   llvm.used                the groupshared variables' addresses: an i32
//   a phi that is its own operand: a copy. A loop with several back edges: one block that all of them pass through
//   UseNativeLowPrecision    -enable-16bit-types sets it, with or without 16-bit types. The container's feature part
//                            says whether the shader uses native 16-bit operations; if not, the flag is cleared
//
// The DXIL part is LLVM 3.7's bitcode. It is read into a tree of blocks and records, changed, and written without abbreviations.
// A shader that is not understood stays unchanged, and vkd3d accepts or refuses it; DXTENSOR_VULKAN_TRACE prints the reason. Any
// thread may call.
#ifndef DXTENSOR_VULKAN_DXIL_H
#define DXTENSOR_VULKAN_DXIL_H

#include <stdbool.h>
#include <stddef.h>

struct vkd3d_shader_code;

#ifdef __cplusplus
extern "C" {
#endif
// Gives the rewritten shader container, to be freed with vkd3d_shader_free_shader_code. False: it needs no change, or it is not
// understood; out is untouched.
bool dxil_for_vkd3d(const void* code, size_t size, struct vkd3d_shader_code* out);
#ifdef __cplusplus
}
#endif

#endif
