/* This is the text of a program: words and numbers between blanks, read one after the other. */
#pragma once

#include <stdint.h>

enum { kMostRanks = 16, kWordBytes = 120 };

typedef struct {
  const char* at;
  char word[kWordBytes]; /* It is the last one read. */
} Script;

/* Returns "" at the end. */
const char* next_word(Script* script);
int64_t next_number(Script* script);
void skip_line(Script* script);
/* Returns the whole file, to be freed. The program ends where it cannot be read. */
char* read_file(const char* path);
/* No rank can go on after this. It says a sentence and ends the job. */
void give_up(const char* format, ...) __attribute__((noreturn, format(printf, 1, 2)));
