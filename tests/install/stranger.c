/* This program knows crossrail only by what was installed. */
#include <crossrail/crossrail.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  crossrail_question question;
  memset(&question, 0, sizeof question);
  question.collective = "alltoall";
  question.block_bytes = 64;
  question.size = 4;
  question.shared_segment = 1;
  printf("version %s\n", crossrail_version());
  printf("%s\n", crossrail_explain(&question));
  printf("%s\n", crossrail_machine());
  return strlen(crossrail_catalogue()) > 2 && strlen(crossrail_settings()) > 2 ? 0 : 1;
}
