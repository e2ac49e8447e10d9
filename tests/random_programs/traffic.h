/* What a program does beside its alltoalls: messages and other collectives, checked as well. */
#pragma once

#include "operations.h"

void message_step(Script* script);
void other_step(Script* script);
