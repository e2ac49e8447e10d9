/* A case that does not end in time is named, and its process ends. A hang becomes a sentence. */
#pragma once

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char case_name[200] = "the beginning";

static void out_of_time(int signal_number) {
  (void)signal_number;
  static const char before[] = "not ended in time: ";
  if (write(2, before, sizeof before - 1) < 0 || write(2, case_name, strlen(case_name)) < 0 || write(2, "\n", 1) < 0) _exit(5);
  _exit(4);
}

/* From now on, what the text names has `seconds` to end; 0 is for ever. */
static inline void begin_case(unsigned seconds, const char* format, ...) {
  char text[sizeof case_name];
  va_list arguments;
  alarm(0);
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  memcpy(case_name, text, sizeof text);
  if (getenv("VERBOSE") != NULL) fprintf(stderr, "[%d] %s\n", (int)getpid(), case_name);
  signal(SIGALRM, out_of_time);
  alarm(seconds);
}
