# How the bash of `make shell` starts: see shell.sh.
#
# The user's own file comes first: pyenv and conda put another python3 on PATH there.
case $- in
    *i*) [ ! -f ~/.bashrc ] || . ~/.bashrc ;;
esac
root=$XPLANE_BRIDGE_ROOT
. "${BASH_SOURCE[0]%/*}/environment.sh"
PATH=$root/install/xplane_bridge/lib/xplane_bridge:$PATH:${BASH_SOURCE[0]%/*}/ros2
# Not for the scripts that this shell runs.
unset root BASH_ENV XPLANE_BRIDGE_ROOT
