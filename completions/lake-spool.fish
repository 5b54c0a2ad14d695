# fish completion for lake-spool; made by tests/completions.rs from --help; run it with UPDATE=1

complete -c lake-spool -l state -x -a '(__fish_complete_directories)' -d 'the lake\'s folder (default ~/.ctxlake)'
complete -c lake-spool -l cap -x -d 'bytes that the spool of a runtime may hold, 0 for any (default 512M)'
complete -c lake-spool -l max-bytes -x -d 'longest event to read in bytes, 0 for no limit (default 256M)'
complete -c lake-spool -l files0-from -r -F -d 'read input names from this file, each ended by NUL'
complete -c lake-spool -s q -l quiet -d 'no summary'
complete -c lake-spool -s v -l verbose -d 'a summary also when stderr is no terminal'
complete -c lake-spool -s h -l help -d 'display usage information'
complete -c lake-spool -s V -l version -d 'display the version'
