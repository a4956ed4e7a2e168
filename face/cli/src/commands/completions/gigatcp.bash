# Completion of gigatcp for bash: gigatcp itself says what fits.
_gigatcp() {
    # bash also ends a word at `=` and `:`; what stands together is one word here.
    local words=() rest=$COMP_LINE word i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((${#words[@]})) && [[ $rest != [[:space:]]* ]]; then
            words[${#words[@]} - 1]+=$word
        else
            rest=${rest#"${rest%%[![:space:]]*}"}
            words+=("$word")
        fi
        rest=${rest#"$word"}
    done
    local index=$((${#words[@]} - 1))
    # bash replaces only what it takes for the last word.
    local before=${words[index]%"$2"}
    local IFS=$'\013'
    COMPREPLY=($(_CLAP_IFS=$IFS _CLAP_COMPLETE_INDEX=$index _CLAP_COMPLETE_COMP_TYPE=$COMP_TYPE \
        _CLAP_COMPLETE_SPACE=false COMPLETE=bash gigatcp -- "${words[@]}" 2>/dev/null))
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=${COMPREPLY[i]#"$before"}
    done
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/:] ]]; then
        compopt -o nospace
    fi
}
complete -o bashdefault -o nosort -F _gigatcp gigatcp 2>/dev/null ||
    complete -o bashdefault -F _gigatcp gigatcp
