# fish completion for curt-name; made by tests/completions.rs from --help; run it with UPDATE=1

complete -c curt-name -s 0 -l null -d 'end each name with NUL instead of a newline'
complete -c curt-name -l ext -x -d 'the extension, curt by default'
complete -c curt-name -l safe -d 'make names that a folder can hold, as curt-pack -o does'
complete -c curt-name -l unique -d 'number a name that was printed before: -2, -3 and on'
complete -c curt-name -l max-bytes -x -d 'refuse a body of more than N bytes (none is too large by default; memory follows the title and the id)'
complete -c curt-name -l files0-from -r -F -d 'read the names of the files from this file, NUL after each'
complete -c curt-name -s h -l help -d 'display usage information'
complete -c curt-name -s V -l version -d 'display the version'
