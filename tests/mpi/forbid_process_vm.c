/* This starts a program that may not use process_vm_readv, as in a container: the kernel returns EPERM.
 *
 *   forbid_process_vm program argument... */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int forbid(void) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (forbid() != 0) {
    perror("seccomp");
    return 2;
  }
  char byte = 1, copy = 0;
  struct iovec from = {&byte, 1}, to = {&copy, 1};
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != -1 || errno != EPERM) return 3; /* It is not forbidden. */
  execvp(argv[1], argv + 1);
  perror(argv[1]);
  return 2;
}
