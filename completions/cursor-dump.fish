# fish completion for cursor-dump; made by tests/completions.rs from --help; run it with UPDATE=1

complete -c cursor-dump -l session -x -d 'only the session ID (repeatable)'
complete -c cursor-dump -l since -x -d 'only chats active since WHEN: 90d, 12h, 30m, 45s, YYYY-MM-DD or an RFC 3339 time'
complete -c cursor-dump -l max-bytes -x -d 'leave out files of more than N bytes (default 256M, 0: none is)'
complete -c cursor-dump -s q -l quiet -d 'do not name files that cannot be read'
complete -c cursor-dump -s h -l help -d 'display usage information'
complete -c cursor-dump -s V -l version -d 'display the version'
