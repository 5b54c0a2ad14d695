# bash completion for curt-check; made by tests/completions.rs from --help; run it with UPDATE=1

_curt_check() {
    COMPREPLY=()
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    -j | --jobs | --max-bytes) compopt +o bashdefault +o default 2>/dev/null ;;
    *) case ${COMP_WORDS[COMP_CWORD]} in
        -*) COMPREPLY=($(compgen -W '-q --quiet -v --verbose -l --list-invalid -L --list-valid --json --lint -W --fatal-warnings --lines -j --jobs -0 --null --max-bytes --files0-from -h --help -V --version' -- "${COMP_WORDS[COMP_CWORD]}")) ;;
        esac ;;
    esac
}

complete -o bashdefault -o default -F _curt_check curt-check
