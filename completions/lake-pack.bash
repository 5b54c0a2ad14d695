# bash completion for lake-pack; made by tests/completions.rs from --help; run it with UPDATE=1

_lake_pack() {
    COMPREPLY=()
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    --fleet | --agent | --host-id | --runtime | --ended-before | --max-bytes) compopt +o bashdefault +o default 2>/dev/null ;;
    *) case ${COMP_WORDS[COMP_CWORD]} in
        -*) COMPREPLY=($(compgen -W '--fleet --agent --host-id --runtime --ended-before --claims --shown --max-bytes --files0-from -q --quiet -v --verbose -h --help -V --version' -- "${COMP_WORDS[COMP_CWORD]}")) ;;
        esac ;;
    esac
}

complete -o bashdefault -o default -F _lake_pack lake-pack
