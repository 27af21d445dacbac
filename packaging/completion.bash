# SPDX-License-Identifier: GPL-2.0-only
# bash completion of all programs of cluster-sim: flags as --help lists them, else files.
_cluster_sim()
{
    local current=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    if [[ $current == -* ]]; then
        local flags
        flags=$("$1" --help 2> /dev/null | grep -oE -- '(^|[[:space:],[])--?[A-Za-z][-_A-Za-z0-9]*' | tr -d ' ,[')
        mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
    fi
}
complete -o default -F _cluster_sim "${BASH_SOURCE[0]##*/}"
