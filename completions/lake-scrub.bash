# bash completion for lake-scrub; made by tests/completions.rs from --help; run it with UPDATE=1

_lake_scrub() {
    COMPREPLY=()
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    --max-bytes) compopt +o bashdefault +o default 2>/dev/null ;;
    *) case ${COMP_WORDS[COMP_CWORD]} in
        -*) COMPREPLY=($(compgen -W '--rules --max-bytes --files0-from -h --help -V --version' -- "${COMP_WORDS[COMP_CWORD]}")) ;;
        esac ;;
    esac
}

complete -o bashdefault -o default -F _lake_scrub lake-scrub
