// Writing JSON: strings only need escaping, everything else is put together by hand.
#pragma once

#include <cstdio>
#include <string>

namespace crossrail {

inline std::string json_text(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) {
      json += c;
    } else {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      json += code;
    }
  }
  return json + "\"";
}

}  // namespace crossrail
