#!/bin/sh
# clean_root.sh FOLDER TREE PACKAGE... installs Debian packages with dpkg into a copy of this system that is thrown
# away, in which the source tree is empty, uses them there, and removes them. Exit code 77 means that this machine
# cannot do that. The copy is an overlay over / in a mount namespace of its own: nothing of the machine itself is
# changed.
set -eu
[ "$(id -u)" = 0 ] || { echo "skipped: only root can make a root of its own"; exit 77; }
if [ "${INSIDE:-}" != yes ]; then
  unshare --mount true 2>/dev/null || { echo "skipped: no mount namespaces here"; exit 77; }
  INSIDE=yes exec unshare --mount --propagation private "$0" "$@"
fi
folder=$1 tree=$2
shift 2
# A container may forbid this to its root, too.
mounted() { mount "$@" || { echo "skipped: 'mount $*' is not allowed here"; exit 77; }; }
mkdir -p "$folder"
mounted -t tmpfs crossrail "$folder"
mkdir "$folder/upper" "$folder/work" "$folder/root" "$folder/packages"
cp "$@" "$folder/packages"
mounted -t overlay crossrail -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
for one in proc dev sys; do mounted --rbind "/$one" "$folder/root/$one"; done
mounted -t tmpfs crossrail "$folder/root/tmp"
mkdir "$folder/root/tmp/packages"
cp "$folder/packages/"* "$folder/root/tmp/packages"
mkdir -p "$folder/root$tree"
mounted -t tmpfs crossrail "$folder/root$tree"
cat >"$folder/root/tmp/use.sh" <<'END'
set -eu
export PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/tmp LC_ALL=C DEBIAN_FRONTEND=noninteractive OMPI_MCA_rmaps_base_oversubscribe=1
cd /tmp
dpkg --install packages/*.deb
[ "$(command -v crossrail)" = /usr/bin/crossrail ]
crossrail doctor
crossrail list >list && grep -q node_shared list
ldconfig -p | grep 'libcrossrail\.so\.'
if command -v mpicc; then
  mpicc -O2 /usr/share/crossrail/examples/transpose.c -o transpose -lm
  crossrail run -n 2 --report -- ./transpose
fi
if dpkg -L crossrail-bench-openmpi >/dev/null 2>&1; then crossrail bench alltoall -n 2 --max 8 --repetitions 20 --mpi openmpi; fi
dpkg --remove $(dpkg-query -W -f '${Package}\n' 'crossrail*')
if find /usr -path /usr/src -prune -o -name '*crossrail*' -print | grep .; then echo "left after removal"; exit 1; fi
END
chroot "$folder/root" /bin/sh /tmp/use.sh
echo "used and removed"
