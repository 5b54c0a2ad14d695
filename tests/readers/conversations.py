"""Conversations of every shape that .curt knows, as `.curt` bodies: what the readers are shown.

Small, and each of a kind of its own, so that a reader that loses one message says which kind.
"""

import json

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
NOON = 1_790_000_000_000  # 2026-09-21


def message(role, content, **more):
    return {"role": role, "content": content, **more}


def call(id, name, **arguments):
    return {"id": id, "name": name, "arguments": arguments}


def tokens(prompt, completion):
    return {"promptTokens": prompt, "completionTokens": completion, "totalTokens": prompt + completion}


CONVERSATIONS = {
    "plain": [
        message("user", "How long is a piece of string?"),
        message("assistant", "Twice the half of it.", tokens=tokens(11, 7)),
        message("user", "And of rope?"),
        message("assistant", "The same.", tokens=tokens(25, 3), stopReason="end_turn"),
    ],
    "system": [
        message("system", "Answer in one word."),
        message("user", "Ready?"),
        message("assistant", "Yes."),
    ],
    "thinking": [
        message("user", "What is 6 times 7?"),
        message("assistant", "42", thinking="Six sevens.\nForty-two.", tokens=tokens(5, 40)),
        message("user", "Think only."),
        message("assistant", "", thinking="Nothing to say, much to think."),
    ],
    "tools": [
        message("user", "List the folder and read the notes."),
        message("assistant", "Looking.", thinking="Two calls.", tokens=tokens(100, 20), stopReason="tool_use",
                toolCalls=[call("call_ls", "terminal", command="ls -l"), call("call_cat", "read_file", path="notes")]),
        message("tool", "total 0", toolCallId="call_ls", toolName="terminal"),
        message("tool", "no such file", toolCallId="call_cat", toolName="read_file", isError=True),
        message("assistant", "", toolCalls=[call("call_last", "terminal", command="pwd")]),
        message("tool", "", toolCallId="call_last"),
        message("assistant", "Done.", tokens=tokens(150, 2)),
    ],
    "known tools": [
        message("user", "Use what Claude Code has."),
        message("assistant", "", toolCalls=[call("toolu_bash", "Bash", command="true"),
                                            call("toolu_read", "Read", file_path="/tmp/a"),
                                            call("toolu_todo", "TodoWrite", unlike="the real one")]),
        message("tool", "ok", toolCallId="toolu_bash"),
        message("tool", "     1→a", toolCallId="toolu_read"),
        message("tool", "done", toolCallId="toolu_todo"),
        message("assistant", "Used."),
    ],
    "odd calls": [
        message("user", "Go on."),
        message("assistant", "", toolCalls=[{"id": "raw", "name": "terminal", "arguments": "{not json"},
                                            {"id": "list", "name": "terminal", "arguments": [1, 2]},
                                            {"id": "none", "name": "terminal"},
                                            {"name": "nameless id", "arguments": {"deep": [[[{"a": None}]]]}}]),
        message("tool", "first", toolCallId="raw"),
        message("tool", "of no call", toolCallId="elsewhere"),
        message("tool", "without an id"),
        message("assistant", "One of them was never answered."),
    ],
    "ids twice": [
        message("user", "Again and again."),
        message("assistant", "", toolCalls=[call("call_0", "terminal", command="one")]),
        message("tool", "1", toolCallId="call_0"),
        message("assistant", "", toolCalls=[call("call_0", "terminal", command="two")]),
        message("tool", "2", toolCallId="call_0"),
        message("assistant", "Twice."),
    ],
    "images": [
        message("user", f"What is this?\n{PIXEL}"),
        message("assistant", "A pixel."),
        message("user", PIXEL),
        message("assistant", "The same one."),
    ],
    "empty": [
        message("user", ""),
        message("assistant", ""),
        message("user", " \n\t"),
        message("assistant", "Silence."),
    ],
    "unicode": [
        message("user", "na\u00efve \u2026 \U0001f9f5\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2028 \u2029 \u0085 \u0000 \u001b[31m \ufeff end"),
        message("assistant", "\u05e9\u05dc\u05d5\u05dd \u0633\u0644\u0627\u0645 \u4f60\u597d \ud55c\uad6d\uc5b4 e\u0301", thinking="\u0000\u2028"),
        message("user", "C:\\path \"quoted\" </script> & <b>bold</b> ${x} `y`"),
        message("assistant", "\r\nCRLF\r\n"),
    ],
    "wrappers": [
        message("user", "<system-reminder>not a person</system-reminder>"),
        message("user", "<command-name>/clear</command-name>"),
        message("user", "A person."),
        message("assistant", "An answer."),
    ],
    "long": [
        message("user", "long " * 40_000),
        message("assistant", "\n".join(f"line {n}" for n in range(20_000)), tokens=tokens(2**40, 2**33)),
        message("user", "and many"),
        *(message("user" if n % 2 else "assistant", f"turn {n}", **({} if n % 2 else {"tokens": tokens(n, 1)}))
          for n in range(400)),
    ],
    "one speaker": [
        message("assistant", "I begin."),
        message("assistant", "And go on."),
        message("user", "Let me."),
        message("user", "Me too."),
    ],
    "models": [
        message("user", "Which one are you?", model="gone"),
        message("assistant", "This one.", model="claude-opus-4-6", tokens=tokens(3, 4)),
        message("assistant", "That one.", model="other/model", tokens={"totalTokens": 9}),
        message("assistant", "No one."),
    ],
}


def body(name, messages, at):
    """One `.curt` body; its messages are seconds apart, but for two of them."""
    created = NOON + at * 86_400_000
    numbered = [
        {"id": str(n + 1), **said, "timestamp": created + max(n - 1, 0) * 1000 + 7} for n, said in enumerate(messages)
    ]
    conversation = {
        "id": f"20260921_{at:06}_{at:06x}",
        "title": f"Readers: {name}",
        "createdAt": created,
        "updatedAt": created + len(messages) * 1000,
        "messages": numbered,
    }
    if name != "system":
        conversation["model"] = "claude-sonnet-4-5"
    return {"curt": "curtis-conversation", "version": 1, "extensions": ["usage-metadata"], "conversation": conversation}


def write(folder):
    """A file of each in `folder`; their paths."""
    paths = []
    for at, (name, messages) in enumerate(CONVERSATIONS.items()):
        path = folder / f"{name.replace(' ', '-')}.curt"
        path.write_text(json.dumps(body(name, messages, at), ensure_ascii=False), encoding="utf-8")
        paths.append(path)
    return paths
