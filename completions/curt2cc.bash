# bash completion for curt2cc; made by tests/completions.rs from --help; run it with UPDATE=1

_curt2cc() {
    COMPREPLY=()
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    --cc-version | --layout | --title | --max-bytes) compopt +o bashdefault +o default 2>/dev/null ;;
    *) case ${COMP_WORDS[COMP_CWORD]} in
        -*) COMPREPLY=($(compgen -W '-o --output --cwd --cc-version --session-uuid --layout --title --repair --print -0 --null --summary-json --max-bytes --files0-from -q --quiet -v --verbose -h --help -V --version' -- "${COMP_WORDS[COMP_CWORD]}")) ;;
        esac ;;
    esac
}

complete -o bashdefault -o default -F _curt2cc curt2cc
