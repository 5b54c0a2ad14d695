# bash completion for hermes-dump; made by tests/completions.rs from --help; run it with UPDATE=1

_hermes_dump() {
    COMPREPLY=()
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    --source | --session | --since | --max-bytes) compopt +o bashdefault +o default 2>/dev/null ;;
    *) case ${COMP_WORDS[COMP_CWORD]} in
        -*) COMPREPLY=($(compgen -W '--source --session --since --immutable --copy --salvage --profiles --max-bytes -q --quiet -v --verbose -h --help -V --version' -- "${COMP_WORDS[COMP_CWORD]}")) ;;
        esac ;;
    esac
}

complete -o bashdefault -o default -F _hermes_dump hermes-dump
