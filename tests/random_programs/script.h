/* The text of a program: words and numbers between blanks, read one after the other. */
#pragma once

#include <stdint.h>

enum { kMostRanks = 16, kWordBytes = 120 };

typedef struct {
  const char* at;
  char word[kWordBytes]; /* the last one read */
} Script;

/* "" at the end. */
const char* next_word(Script* script);
int64_t next_number(Script* script);
void skip_line(Script* script);
/* The whole file, to be freed; the program ends where it cannot be read. */
char* read_file(const char* path);
/* What no rank can go on after: a sentence, and the end of the job. */
void give_up(const char* format, ...) __attribute__((noreturn, format(printf, 1, 2)));
