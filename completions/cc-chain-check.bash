# bash completion for cc-chain-check; made by tests/completions.rs from --help; run it with UPDATE=1

_cc_chain_check() {
    COMPREPLY=()
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    --max-bytes) compopt +o bashdefault +o default 2>/dev/null ;;
    *) case ${COMP_WORDS[COMP_CWORD]} in
        -*) COMPREPLY=($(compgen -W '--strict -W --fatal-warnings -l --list --json -0 --null -q --quiet -v --verbose --max-bytes --files0-from -h --help -V --version' -- "${COMP_WORDS[COMP_CWORD]}")) ;;
        esac ;;
    esac
}

complete -o bashdefault -o default -F _cc_chain_check cc-chain-check
