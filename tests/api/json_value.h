// This reads JSON strictly (RFC 8259), to check what the C API writes.
#pragma once

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace crossrail::tests {

struct JsonValue {
  enum class Kind { null, boolean, number, text, list, object } kind = Kind::null;
  bool truth = false;
  double number = 0;
  std::string text;
  std::vector<JsonValue> list;
  std::map<std::string, JsonValue> members;

  bool has(const std::string& name) const { return members.count(name) != 0; }
  const JsonValue& operator[](const std::string& name) const {
    static const JsonValue none;
    const auto found = members.find(name);
    return found == members.end() ? none : found->second;
  }
};

class JsonReader {
 public:
  explicit JsonReader(const char* text) : at_(text) {}
  bool read_all(JsonValue& value) {
    if (!read(value)) return false;
    skip_blanks();
    return *at_ == '\0';
  }

 private:
  void skip_blanks() {
    while (*at_ != '\0' && std::strchr(" \t\r\n", *at_) != nullptr) ++at_;
  }
  bool take(char expected) {
    skip_blanks();
    if (*at_ != expected) return false;
    ++at_;
    return true;
  }
  bool take_word(const char* word) {
    const std::size_t length = std::strlen(word);
    if (std::strncmp(at_, word, length) != 0) return false;
    at_ += length;
    return true;
  }
  bool read(JsonValue& value) {
    skip_blanks();
    switch (*at_) {
      case '{': return read_object(value);
      case '[': return read_list(value);
      case '"': value.kind = JsonValue::Kind::text; return read_text(value.text);
      case 't': value.truth = true; value.kind = JsonValue::Kind::boolean; return take_word("true");
      case 'f': value.kind = JsonValue::Kind::boolean; return take_word("false");
      case 'n': return take_word("null");
      default: return read_number(value);
    }
  }
  bool read_object(JsonValue& value) {
    value.kind = JsonValue::Kind::object;
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string name;
      skip_blanks();
      if (!read_text(name) || !take(':') || value.has(name) || !read(value.members[name])) return false;
    } while (take(','));
    return take('}');
  }
  bool read_list(JsonValue& value) {
    value.kind = JsonValue::Kind::list;
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      value.list.emplace_back();
      if (!read(value.list.back())) return false;
    } while (take(','));
    return take(']');
  }
  bool read_text(std::string& text) {
    if (*at_ != '"') return false;
    for (++at_; *at_ != '"'; ++at_) {
      if (static_cast<unsigned char>(*at_) < 0x20) return false;  // This is also the end.
      if (*at_ != '\\') {
        text += *at_;
      } else if (!read_escape(text)) {
        return false;
      }
    }
    ++at_;
    return true;
  }
  bool read_escape(std::string& text) {
    static const char* const names = "\"\\/bfnrt";
    static const char* const values = "\"\\/\b\f\n\r\t";
    ++at_;
    if (*at_ == 'u') {
      char digits[5] = {};
      for (int digit = 0; digit < 4; ++digit) {
        if (std::isxdigit(static_cast<unsigned char>(*++at_)) == 0) return false;
        digits[digit] = *at_;
      }
      text += static_cast<char>(std::strtol(digits, nullptr, 16));  // The C API escapes below 0x20 only.
      return true;
    }
    const char* const found = *at_ == '\0' ? nullptr : std::strchr(names, *at_);
    if (found == nullptr) return false;
    text += values[found - names];
    return true;
  }
  bool read_number(JsonValue& value) {
    value.kind = JsonValue::Kind::number;
    if (*at_ != '-' && std::isdigit(static_cast<unsigned char>(*at_)) == 0) return false;
    char* end = nullptr;
    value.number = std::strtod(at_, &end);
    at_ = end;
    return true;
  }
  const char* at_;
};

inline bool parse_json(const char* text, JsonValue& value) { return text != nullptr && JsonReader(text).read_all(value); }

}  // namespace crossrail::tests
