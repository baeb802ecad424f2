// Shaders in words that vkd3d-shader 2.1 knows.
//
// Most of libdirectml.so's shaders were made from DXBC by Microsoft's dxbc2dxil, which writes what DXC does not and vkd3d-shader
// does not know; the others by DXC, with a flag that vkd3d-shader refuses. Such a shader is written again with other words for
// the same:
//
//   dx.op.binaryWithTwoOuts  IMul's and UMul's lower half: mul. UDiv: udiv and urem; for a divisor of 0 both are ~0
//   dx.op.quaternary         Bfi: shifts and masks
//   dx.op.bitcast...         LLVM's bitcast
//   groupshared [n x i8]     [n / 4 x i32]; it is read and written as i32 or float only
//   llvm.used                the groupshared variables' addresses: an i32
//   a phi that is its own operand, a loop with several ways back to its start: a copy, a block that they all go through
//   UseNativeLowPrecision    set by -enable-16bit-types, whether or not there are 16-bit types. The container's feature part
//                            says whether native 16-bit operations are used; where not, the flag is cleared
//
// The DXIL part is LLVM 3.7's bitcode. It is read into a tree of blocks and records, changed, and written without abbreviations.
// What is not understood is left as it is, for vkd3d to judge; DXTENSOR_VULKAN_TRACE says why. Any thread may call.
#ifndef DXTENSOR_VULKAN_DXIL_H
#define DXTENSOR_VULKAN_DXIL_H

#include <stdbool.h>
#include <stddef.h>

struct vkd3d_shader_code;

#ifdef __cplusplus
extern "C" {
#endif
// The shader container in other words, to be freed with vkd3d_shader_free_shader_code. False: it can stay as it is, or it is not
// understood; out is untouched.
bool dxil_for_vkd3d(const void* code, size_t size, struct vkd3d_shader_code* out);
#ifdef __cplusplus
}
#endif

#endif
