// The one definition of the GUIDs that DXCore's headers only declare.
#define INITGUID
#include "abi/abi.h"
