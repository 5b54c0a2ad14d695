# fish completion for curt-check; made by tests/completions.rs from --help; run it with UPDATE=1

complete -c curt-check -s q -l quiet -d 'print nothing; the exit status tells'
complete -c curt-check -s v -l verbose -d 'print FILE: ok for each valid one as well'
complete -c curt-check -s l -l list-invalid -d 'print only the names of files with an invalid body'
complete -c curt-check -s L -l list-valid -d 'print only the names of files whose bodies are all valid'
complete -c curt-check -l json -d 'print one JSON object for each body, valid or not'
complete -c curt-check -s 0 -l null -d 'end printed names with NUL, not newline'
complete -c curt-check -l max-bytes -x -d 'refuse a body of more than N bytes (none is too large by default)'
complete -c curt-check -l files0-from -r -F -d 'read the names of the files from this file, NUL after each'
complete -c curt-check -s h -l help -d 'display usage information'
complete -c curt-check -s V -l version -d 'display the version'
