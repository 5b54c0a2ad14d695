# bash completion for curt-hermes; made by tests/completions.rs from --help; run it with UPDATE=1

_curt_hermes() {
    COMPREPLY=()
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    --source | --session | --sample) compopt +o bashdefault +o default 2>/dev/null ;;
    *) case ${COMP_WORDS[COMP_CWORD]} in
        -*) COMPREPLY=($(compgen -W '-o --output --source --session --sample --stdout --emit-cc-jsonl -h --help -V --version' -- "${COMP_WORDS[COMP_CWORD]}")) ;;
        esac ;;
    esac
}

complete -o bashdefault -o default -F _curt_hermes curt-hermes
