# fish completion for lake-scrub; made by tests/completions.rs from --help; run it with UPDATE=1

complete -c lake-scrub -l rules -d 'print the rules, one a line, and read nothing'
complete -c lake-scrub -l max-bytes -x -d 'longest event to read in bytes, 0 for no limit (default 256M)'
complete -c lake-scrub -l files0-from -r -F -d 'read input names from this file, each ended by NUL'
complete -c lake-scrub -s h -l help -d 'display usage information'
complete -c lake-scrub -s V -l version -d 'display the version'
