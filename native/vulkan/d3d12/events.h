// Fences' events: an event HANDLE is an eventfd's number, as in WSL.
#ifndef DXTENSOR_VULKAN_EVENTS_H
#define DXTENSOR_VULKAN_EVENTS_H

#include "vkd3d.h"

// What vkd3d calls for the HANDLE that it was given for a fence.
HRESULT signal_event(HANDLE handle);

#endif
