# fish completion for curt-hermes; made by tests/completions.rs from --help; run it with UPDATE=1

complete -c curt-hermes -s o -l output -x -a '(__fish_complete_directories)' -d 'put the files into this directory (default: the current one)'
complete -c curt-hermes -l source -x -d 'only sessions from this source; repeatable'
complete -c curt-hermes -l session -x -d 'only this session; repeatable'
complete -c curt-hermes -l sample -x -d 'only the first N sessions'
complete -c curt-hermes -l stdout -d 'print .curt lines instead of making files'
complete -c curt-hermes -l emit-cc-jsonl -r -F -d 'convert this .curt file, or those in this directory, to Claude Code session JSONL'
complete -c curt-hermes -s h -l help -d 'display usage information'
complete -c curt-hermes -s V -l version -d 'display the version'
