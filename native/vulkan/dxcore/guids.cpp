// DXCore's GUIDs, which its header only declares elsewhere.
#define INITGUID
#include <wsl/winadapter.h>
#include <directx/dxcore.h>
