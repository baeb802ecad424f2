// Opens a library by absolute path with local symbols. Stateless; any thread.
#pragma once

#include <string>

namespace dxtensor::dml {

// Null with *error set when it cannot be opened. own_symbols_first: its references are bound to its own definitions before those
// that the process already has (RTLD_DEEPBIND).
void* OpenLibrary(const std::string& path, bool own_symbols_first, std::string* error);
bool FileExists(const std::string& path);
void* FindSymbol(void* library, const char* name);
void CloseLibrary(void* library);
#ifdef _WIN32
// UTF-8 as UTF-16, with backslashes.
std::wstring Widen(const std::string& text);
#endif

}  // namespace dxtensor::dml
