#include "base/json.h"

#include <gtest/gtest.h>

#include "tests/api/json_value.h"

namespace crossrail::tests {
namespace {

TEST(Json, every_text_comes_back_as_it_was) {
  std::string all;
  for (int c = 1; c < 128; ++c) all += static_cast<char>(c);
  for (const std::string& text : {std::string(), std::string("plain"), std::string("a\"b\\c/d"), all, std::string("Zürich")}) {
    JsonValue value;
    ASSERT_TRUE(parse_json(json_text(text).c_str(), value)) << json_text(text);
    EXPECT_EQ(value.text, text);
  }
}

TEST(JsonReader, refuses_what_is_no_json) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1,}", "{a:1}", "\"a", "\"\n\"", "[1 2]", "{\"a\" 1}", "1 2", "tru",
                           "\"\\x\"", "{\"a\":1,\"a\":2}", "[]]"}) {
    JsonValue value;
    EXPECT_FALSE(parse_json(text, value)) << text;
  }
}

}  // namespace
}  // namespace crossrail::tests
