#include "script.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void give_up(const char* format, ...) {
  char text[500];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "GAVE UP: %s\n", text);
  _exit(3);
}

const char* next_word(Script* script) {
  int length = 0;
  while (isspace((unsigned char)*script->at)) ++script->at;
  while (*script->at != '\0' && !isspace((unsigned char)*script->at) && length < kWordBytes - 1) {
    script->word[length++] = *script->at++;
  }
  script->word[length] = '\0';
  return script->word;
}

int64_t next_number(Script* script) {
  char* end;
  next_word(script);
  const int64_t number = strtoll(script->word, &end, 10);
  if (end == script->word || *end != '\0') give_up("a number is expected, not '%s'", script->word);
  return number;
}

void skip_line(Script* script) {
  while (*script->at != '\0' && *script->at != '\n') ++script->at;
}

char* read_file(const char* path) {
  FILE* file = fopen(path, "r");
  if (file == NULL) give_up("%s cannot be read", path);
  fseek(file, 0, SEEK_END);
  const long bytes = ftell(file);
  rewind(file);
  char* text = calloc(1, (size_t)bytes + 1);
  if (fread(text, 1, (size_t)bytes, file) != (size_t)bytes) give_up("%s cannot be read to its end", path);
  fclose(file);
  return text;
}
