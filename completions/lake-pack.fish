# fish completion for lake-pack; made by tests/completions.rs from --help; run it with UPDATE=1

complete -c lake-pack -l fleet -x -d 'whose events they are (required)'
complete -c lake-pack -l agent -x -d 'the agent in that fleet (required)'
complete -c lake-pack -l host-id -x -d 'the machine, not the hash of this one\'s name'
complete -c lake-pack -l runtime -x -d 'only rows of hermes, claude-code or cursor'
complete -c lake-pack -l ended-before -x -d 'sessions not active since WHEN have ended: 1d, 12h, YYYY-MM-DD or an RFC 3339 time'
complete -c lake-pack -l shown -d 'leave out rewound, hidden and repeated rows of Hermes'
complete -c lake-pack -l max-bytes -x -d 'longest row to read in bytes, 0 for no limit (default 1G)'
complete -c lake-pack -l files0-from -r -F -d 'read input names from this file, each ended by NUL'
complete -c lake-pack -s q -l quiet -d 'no summary'
complete -c lake-pack -s v -l verbose -d 'a summary also when stderr is no terminal'
complete -c lake-pack -s h -l help -d 'display usage information'
complete -c lake-pack -s V -l version -d 'display the version'
