# SPDX-License-Identifier: GPL-2.0-only
# bash completion of all programs of cluster-sim: flags as --help lists them, else files. A flag is what a line of the list
# begins with, up to the wide gap; not what a description names.
_cluster_sim()
{
    local current=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    if [[ $current == -* ]]; then
        local flags
        flags=$("$1" --help 2> /dev/null | sed -nE 's/^ {1,4}(-.*)/\1/p' |
            sed -E 's/  +.*//' | grep -oP -- '(?<![^ ,\[])--?[A-Za-z][-\w]*(?=[ ,\]]|$)')
        mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
    fi
}
complete -o default -F _cluster_sim "${BASH_SOURCE[0]##*/}"
