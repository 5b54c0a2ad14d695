# fish completion for curt2cc; made by tests/completions.rs from --help; run it with UPDATE=1

complete -c curt2cc -s o -l output -x -a '(__fish_complete_directories)' -d 'make one file a conversation in this directory, not lines on stdout'
complete -c curt2cc -l print -d 'print the path of each file that was written'
complete -c curt2cc -s 0 -l null -d 'end printed paths with NUL, not newline'
complete -c curt2cc -l summary-json -r -F -d 'write the counts of the run to this file, as one JSON object'
complete -c curt2cc -l max-bytes -x -d 'longest body to read in bytes, 0 for no limit (default 1G)'
complete -c curt2cc -l files0-from -r -F -d 'read input names from this file, each ended by NUL'
complete -c curt2cc -s q -l quiet -d 'no summary'
complete -c curt2cc -s v -l verbose -d 'a summary also when stderr is no terminal'
complete -c curt2cc -s h -l help -d 'display usage information'
complete -c curt2cc -s V -l version -d 'display the version'
