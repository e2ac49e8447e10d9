/* This is the program of docs/several_processes.md, as it stands there. */
#include "program_of_page.h"
