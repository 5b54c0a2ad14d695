# fish completion for hermes-dump; made by tests/completions.rs from --help; run it with UPDATE=1

complete -c hermes-dump -l source -x -d 'only sessions from SOURCE (repeatable)'
complete -c hermes-dump -l session -x -d 'only the session ID (repeatable)'
complete -c hermes-dump -l since -x -d 'only sessions active since WHEN: 90d, 12h, 30m, 45s, YYYY-MM-DD or an RFC 3339 time'
complete -c hermes-dump -l immutable -d 'nobody writes the store: take no lock, ignore a write-ahead log'
complete -c hermes-dump -l copy -d 'read a private copy of the store'
complete -c hermes-dump -l salvage -d 'of damaged sessions, print what can be read'
complete -c hermes-dump -l profiles -d 'also the stores of the profiles beside each DB, profiles/*/state.db'
complete -c hermes-dump -l max-bytes -x -d 'leave out sessions with a message of more than N bytes (0: no bound but SQLite\'s, 10^9)'
complete -c hermes-dump -s q -l quiet -d 'do not name sessions that cannot be read'
complete -c hermes-dump -s v -l verbose -d 'name the ids that messages give for their session and no session has'
complete -c hermes-dump -s h -l help -d 'display usage information'
complete -c hermes-dump -s V -l version -d 'display the version'
