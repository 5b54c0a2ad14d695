# bash completion for cursor-dump; made by tests/completions.rs from --help; run it with UPDATE=1

_cursor_dump() {
    COMPREPLY=()
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    --session | --since | --max-bytes) compopt +o bashdefault +o default 2>/dev/null ;;
    *) case ${COMP_WORDS[COMP_CWORD]} in
        -*) COMPREPLY=($(compgen -W '--session --since --max-bytes -q --quiet -h --help -V --version' -- "${COMP_WORDS[COMP_CWORD]}")) ;;
        esac ;;
    esac
}

complete -o bashdefault -o default -F _cursor_dump cursor-dump
