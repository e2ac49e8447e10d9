/* A program does this beside the calls of exchanges.h: messages and other collectives, checked as well. */
#pragma once

#include "operations.h"

void message_step(Script* script);
void other_step(Script* script);
