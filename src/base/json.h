// This header helps to write JSON: strings are escaped here, and everything else is put together by hand.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace crossrail {

// Returns how many bytes the UTF-8 character that begins here has (RFC 3629), or 0 if none begins here.
inline std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first <= 0xdf ? 2 : first >= 0xe0 && first <= 0xef ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, halves of UTF-16 surrogate pairs and codes beyond the last character are not accepted.
  const unsigned second = byte(1);
  const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return wrong ? 0 : length;
}

// Bytes in paths that are not UTF-8 become U+FFFD.
inline std::string json_text(std::string_view text) {
  std::string json = "\"";
  for (std::size_t at = 0, length = 0; at < text.size(); at += length) {
    length = utf8_length(text.substr(at));
    const char c = text[at];
    if (length == 0) {
      json += "\\ufffd";
      length = 1;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      json += code;
    } else {
      if (c == '"' || c == '\\') json += '\\';
      json += text.substr(at, length);
    }
  }
  return json + "\"";
}

}  // namespace crossrail
