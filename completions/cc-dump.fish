# fish completion for cc-dump; made by tests/completions.rs from --help; run it with UPDATE=1

complete -c cc-dump -l session -x -d 'only the session ID (repeatable)'
complete -c cc-dump -l since -x -d 'only sessions active since WHEN: 90d, 12h, 30m, 45s, YYYY-MM-DD or an RFC 3339 time'
complete -c cc-dump -l subagents -d 'of folders, the transcripts of subagents too, each as a session'
complete -c cc-dump -l max-bytes -x -d 'pass over lines longer than this (default 256M, 0: none is)'
complete -c cc-dump -l files0-from -r -F -d 'read input names from this file, each ended by NUL'
complete -c cc-dump -s q -l quiet -d 'do not name lines that cannot be read'
complete -c cc-dump -s v -l verbose -d 'name damaged lines that could be read too'
complete -c cc-dump -s h -l help -d 'display usage information'
complete -c cc-dump -s V -l version -d 'display the version'
