/* Shared by the Linux half's files: vkd3d's headers, and the replacement of one method in vkd3d's tables. */
#ifndef DXTENSOR_BRIDGE_PATCH_H
#define DXTENSOR_BRIDGE_PATCH_H

#include <stdint.h>
#define COBJMACROS
#include <vkd3d/vkd3d_windows.h>
#include <vkd3d/vkd3d_d3d12.h>
#include "entry.h"

void bridge_patch_slot(void** slot, void* function);
void bridge_remove_after(ID3D12Device5* device, int submissions);

#endif
