# fish completion for curt-zip; made by tests/completions.rs from --help; run it with UPDATE=1

complete -c curt-zip -s f -l force -d 'replace OUT even if it is no zip'
complete -c curt-zip -l max-bytes -x -d 'refuse a body of more than N bytes, 0 for no limit (default 1G)'
complete -c curt-zip -l files0-from -r -F -d 'read the names of the files from this file, NUL after each'
complete -c curt-zip -s h -l help -d 'display usage information'
complete -c curt-zip -s V -l version -d 'display the version'
