// This is the kernels' code as data of the module, from the file that the kernels were compiled into.

#include "gpu.h"

asm(".pushsection .rodata\n"
    ".balign 64\n"
    ".hidden crossrail_kernel_image\n"
    ".global crossrail_kernel_image\n"
    "crossrail_kernel_image:\n"
    ".incbin \"" CROSSRAIL_KERNEL_FILE "\"\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" const char crossrail_kernel_image[];

namespace gpu {
const void* kernel_image() { return crossrail_kernel_image; }
}  // namespace gpu
