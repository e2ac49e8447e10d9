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

TEST(Json, bytes_that_are_no_characters_are_replaced) {
  const std::string replaced = "\\ufffd";
  for (const auto& [text, json] : {std::pair<std::string, std::string>{"a\xe9", "a" + replaced}, {"\xff/\xfe", replaced + "/" + replaced},
                                   {"\xc3", replaced}, {"\xc3\xa9", "\xc3\xa9"}, {"\xe2\x82", replaced + replaced}, {"\xe2\x82\xac", "\xe2\x82\xac"},
                                   {"\xc0\xaf", replaced + replaced}, {"\xed\xa0\x80", replaced + replaced + replaced},
                                   {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"}, {"\xf4\x90\x80\x80", replaced + replaced + replaced + replaced}}) {
    EXPECT_EQ(json_text(text), "\"" + json + "\"");
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
