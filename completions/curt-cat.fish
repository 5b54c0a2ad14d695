# fish completion for curt-cat; made by tests/completions.rs from --help; run it with UPDATE=1

complete -c curt-cat -l pretty -d 'lay bodies out like files, indented by tabs'
complete -c curt-cat -s o -l output -x -a '(__fish_complete_directories)' -d 'make one file a conversation in this directory, not lines on stdout'
complete -c curt-cat -s f -l force -d 'replace a file that holds a later state of its conversation'
complete -c curt-cat -l print -d 'print the path of each file that was written'
complete -c curt-cat -s 0 -l null -d 'end printed paths with NUL, not newline'
complete -c curt-cat -l max-bytes -x -d 'refuse a body of more than N bytes, 0 for no limit (default 1G)'
complete -c curt-cat -l files0-from -r -F -d 'read the names of the files from this file, NUL after each'
complete -c curt-cat -s h -l help -d 'display usage information'
complete -c curt-cat -s V -l version -d 'display the version'
