# bash completion for cc-dump; made by tests/completions.rs from --help; run it with UPDATE=1

_cc_dump() {
    COMPREPLY=()
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    --session | --since | --max-bytes) compopt +o bashdefault +o default 2>/dev/null ;;
    *) case ${COMP_WORDS[COMP_CWORD]} in
        -*) COMPREPLY=($(compgen -W '--session --since --subagents --max-bytes --files0-from -q --quiet -v --verbose -h --help -V --version' -- "${COMP_WORDS[COMP_CWORD]}")) ;;
        esac ;;
    esac
}

complete -o bashdefault -o default -F _cc_dump cc-dump
