# fish completion for cc-chain-check; made by tests/completions.rs from --help; run it with UPDATE=1

complete -c cc-chain-check -l strict -d 'hold the input to the rules for generated files'
complete -c cc-chain-check -s W -l fatal-warnings -d 'count warnings as errors'
complete -c cc-chain-check -s l -l list -d 'print only the names of files with an error'
complete -c cc-chain-check -l json -d 'print one JSON object for each file'
complete -c cc-chain-check -s 0 -l null -d 'end printed names with NUL, not newline'
complete -c cc-chain-check -s q -l quiet -d 'print nothing; the status tells'
complete -c cc-chain-check -s v -l verbose -d 'print warnings, and a line for each good file'
complete -c cc-chain-check -l max-bytes -x -d 'pass over lines longer than this (default 256M, 0: none is)'
complete -c cc-chain-check -l files0-from -r -F -d 'read the files named in FILE, each ended by NUL'
complete -c cc-chain-check -s h -l help -d 'display usage information'
complete -c cc-chain-check -s V -l version -d 'display the version'
