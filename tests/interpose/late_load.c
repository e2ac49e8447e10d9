/* This program is not linked with MPI and loads it, privately, long after its start.
 *
 *   late_load           loads late_part.so from the program's folder */
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  char self[4096], path[4200];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length > 0 ? length : 0] = '\0';
  snprintf(path, sizeof path, "%s/late_part.so", dirname(self));
  void* part = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (part == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  int (*late_main)(int, char**) = (int (*)(int, char**))dlsym(part, "late_main");
  return late_main(argc, argv);
}
