//! What a scrubber looks for: one table of data. [`super::scrub`] knows how to look.
//!
//! The matchers are our own and not regular expressions: most rules are a prefix and a run of bytes, the
//! others (Luhn, entropy, the last `@` of an authority) are no regular language, and one pass that tries a
//! rule only where a word may begin is linear whatever the text.

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// Its name in `rules_fired`.
    pub name: &'static str,
    /// The fields it looks into.
    pub fields: Fields,
    /// What happens to the field.
    pub effect: Effect,
    /// How it finds.
    pub find: Find,
    /// A text it must find something in. A `~` is left out of it, so that nobody takes it for a secret.
    pub hit: &'static str,
    /// A text like it in which it must find nothing.
    pub miss: &'static str,
}

/// Which fields a rule looks into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fields {
    /// All text.
    All,
    /// What a tool was given and what it gave.
    Tool,
}

/// What happens where a rule finds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The whole field is withheld and the event quarantined: what stands around a key is often secret too.
    Withhold,
    /// What was found is replaced by this.
    Replace(&'static str),
}

/// How a rule finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Find {
    /// A prefix where a word begins, then at least `least` bytes of `bytes`.
    Token {
        /// How it begins.
        prefix: &'static str,
        /// What follows.
        bytes: Bytes,
        /// How many at least.
        least: usize,
        /// Whether they must look drawn by lot: a digit, or both cases.
        mixed: bool,
    },
    /// This text wherever it stands.
    Text(&'static str),
    /// A name, `=` or `:`, and a value that is no reference to another.
    Assigned(&'static str),
    /// An `Authorization` header with something in it.
    Authorization,
    /// `scheme://user:password@host`.
    UriPassword,
    /// 13 to 19 digits of a card scheme that Luhn's formula confirms.
    Card,
    /// `ddd-dd-dddd`, of an area that is given out.
    Ssn,
    /// 32 or more bytes of [`Bytes::Base64`] with at least 4.5 bits each.
    Entropy,
    /// A path of [`denied`], as an argument or in a command.
    Path,
}

/// A set of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// `A-Z0-9`
    Upper,
    /// `A-Za-z0-9`
    Alnum,
    /// and `_-`
    Word,
    /// and `_-./`
    Dotted,
    /// and `+/=_-`
    Base64,
    /// and `+/=_-.~`
    Token68,
}

impl Bytes {
    /// Whether `byte` is one of them.
    pub fn has(self, byte: u8) -> bool {
        match self {
            Bytes::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Bytes::Alnum => byte.is_ascii_alphanumeric(),
            Bytes::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Bytes::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/'),
            Bytes::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-'),
            Bytes::Token68 => Bytes::Base64.has(byte) || matches!(byte, b'.' | b'~'),
        }
    }

    /// As a page writes them.
    pub fn name(self) -> &'static str {
        match self {
            Bytes::Upper => "A-Z0-9",
            Bytes::Alnum => "A-Za-z0-9",
            Bytes::Word => "A-Za-z0-9_-",
            Bytes::Dotted => "A-Za-z0-9_./-",
            Bytes::Base64 => "A-Za-z0-9+/=_-",
            Bytes::Token68 => "A-Za-z0-9+/=_.~-",
        }
    }
}

impl Rule {
    /// The true positive, whole.
    pub fn example(&self) -> String {
        self.hit.replace('~', "")
    }

    /// As `lake-scrub --rules` prints it: name, fields, effect, what it finds, what it finds it in and what not.
    pub fn line(&self) -> String {
        let fields = if self.fields == Fields::All { "all" } else { "tool" };
        let effect = if self.effect == Effect::Withhold { "withhold" } else { "replace" };
        let find = match self.find {
            Find::Token { prefix, bytes, least, mixed } => {
                let mixed = if mixed { ", mixed" } else { "" };
                format!("{prefix}[{}]{{{least},}}{mixed}", bytes.name())
            }
            Find::Text(text) => text.to_owned(),
            Find::Assigned(name) => format!("{name}=value"),
            Find::Authorization => "Authorization: value".to_owned(),
            Find::UriPassword => "scheme://user:password@host".to_owned(),
            Find::Card => "13 to 19 digits of a card scheme, Luhn".to_owned(),
            Find::Ssn => "ddd-dd-dddd".to_owned(),
            Find::Entropy => format!("[{}]{{32,}}, 4.5 bits or more a byte", Bytes::Base64.name()),
            Find::Path => "a denied path".to_owned(),
        };
        [self.name, fields, effect, &find, &self.example(), self.miss].join("\t")
    }
}

const fn key(
    name: &'static str,
    prefix: &'static str,
    bytes: Bytes,
    least: usize,
    hit: &'static str,
    miss: &'static str,
) -> Rule {
    let find = Find::Token { prefix, bytes, least, mixed: true };
    Rule { name, fields: Fields::All, effect: Effect::Withhold, find, hit, miss }
}

const fn assigned(name: &'static str, variable: &'static str, hit: &'static str, miss: &'static str) -> Rule {
    let find = Find::Assigned(variable);
    Rule { name, fields: Fields::All, effect: Effect::Withhold, find, hit, miss }
}

const fn prefixed(
    name: &'static str,
    prefix: &'static str,
    bytes: Bytes,
    least: usize,
    hit: &'static str,
    miss: &'static str,
) -> Rule {
    let find = Find::Token { prefix, bytes, least, mixed: true };
    Rule { name, fields: Fields::All, effect: Effect::Replace(SECRET), find, hit, miss }
}

const fn other(
    name: &'static str,
    fields: Fields,
    effect: Effect,
    find: Find,
    hit: &'static str,
    miss: &'static str,
) -> Rule {
    Rule { name, fields, effect, find, hit, miss }
}

const SECRET: &str = "[ctxlake:redacted-secret]";

/// The rules, in the order in which they look. What withholds comes first, and what replaces reads what
/// the one before it left.
pub const RULES: &[Rule] = &[
    key(
        "anthropic_or_openai_key",
        "sk-",
        Bytes::Word,
        16,
        "sk~-ant-api03-0123456789abcdef",
        "task-sk-learn-compatible-estimators",
    ),
    key(
        "stripe_live_key",
        "sk_live_",
        Bytes::Word,
        10,
        "sk~_live_4eC39HqLyjWDarjt",
        "task_live_reload_enabled1",
    ),
    key(
        "stripe_test_key",
        "sk_test_",
        Bytes::Word,
        10,
        "sk~_test_4eC39HqLyjWDarjt",
        "disk_test_0123456789ab",
    ),
    key(
        "stripe_restricted_key",
        "rk_live_",
        Bytes::Word,
        10,
        "rk~_live_4eC39HqLyjWDarjt",
        "work_live_0123456789ab",
    ),
    key("aws_access_key_id", "AKIA", Bytes::Upper, 16, "AKIAIOSFODNN7EXAMPLE", "AKIAN is a name"),
    key("aws_session_key_id", "ASIA", Bytes::Upper, 16, "ASIAIOSFODNN7EXAMPLE", "ASIA AND EUROPE 2026"),
    key("github_pat", "ghp_", Bytes::Alnum, 20, "gh~p_0123456789abcdefghijABCDEFGHIJ", "ghp_ is a prefix"),
    key(
        "github_oauth",
        "gho_",
        Bytes::Alnum,
        20,
        "gh~o_0123456789abcdefghijABCDEFGHIJ",
        "gho_st_in_the_shell_01234567",
    ),
    key(
        "github_server_token",
        "ghs_",
        Bytes::Alnum,
        20,
        "gh~s_0123456789abcdefghijABCDEFGHIJ",
        "highs_0123456789abcdefghij",
    ),
    key(
        "github_fine_grained_pat",
        "github_pat_",
        Bytes::Word,
        20,
        "github~_pat_11ABCDEFG0123456789abc",
        "github_pat_ is a prefix",
    ),
    key("slack_bot_token", "xoxb-", Bytes::Word, 10, "xo~xb-123456789012-abcdef", "xoxb- and a number"),
    key("slack_user_token", "xoxp-", Bytes::Word, 10, "xo~xp-123456789012-abcdef", "xoxp- and a number"),
    key("slack_app_token", "xoxa-", Bytes::Word, 10, "xo~xa-123456789012-abcdef", "xoxa- and a number"),
    key("slack_refresh_token", "xoxr-", Bytes::Word, 10, "xo~xr-123456789012-abcdef", "xoxr- and a number"),
    key("slack_app_level_token", "xapp-", Bytes::Word, 10, "xa~pp-1-A0123456789-abc", "xapp-example-name"),
    key("gitlab_pat", "glpat-", Bytes::Word, 16, "gl~pat-0123456789abcdefghij", "glpat-your-token-goes-here"),
    key(
        "gitlab_runner_token",
        "glrt-",
        Bytes::Word,
        16,
        "gl~rt-0123456789abcdefghij",
        "glrt-your-token-goes-here",
    ),
    key(
        "google_api_key",
        "AIza",
        Bytes::Word,
        30,
        "AI~zaSyA0123456789abcdefghijklmnopqrstuv",
        "AIzawa is a name",
    ),
    key("google_oauth_token", "ya29.", Bytes::Word, 16, "ya~29.a0AfH6SMB0123456789", "ya29.example"),
    other(
        "pem_block",
        Fields::All,
        Effect::Withhold,
        Find::Text("-----BEGIN "),
        "-----BEGIN RSA PRIVATE KEY-----",
        "a PRIVATE KEY is a file; ----- BEGIN",
    ),
    key("jwt", "eyJhbGciOi", Bytes::Token68, 10, "eyJhbGciOi~JIUzI1NiJ9.e30.abc", "eyJhbGciOi begins one"),
    other(
        "authorization_header",
        Fields::All,
        Effect::Withhold,
        Find::Authorization,
        "Authorization: Basic dXNlcjpwYXNz",
        "Authorization: required for everybody",
    ),
    assigned(
        "aws_secret_kv",
        "aws_secret_access_key",
        "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENG",
        "set AWS_SECRET_ACCESS_KEY=$SECRET",
    ),
    assigned(
        "anthropic_key_kv",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_API_KEY=abcdefgh",
        "set ANTHROPIC_API_KEY first",
    ),
    key("groq_key", "gsk_", Bytes::Word, 16, "gs~k_0123456789abcdefghij", "msgsk_0123456789abcdefghij"),
    key("xai_key", "xai-", Bytes::Word, 16, "xa~i-0123456789abcdefghij", "xai-explainable-models-here"),
    key(
        "digitalocean_token",
        "dop_v1_",
        Bytes::Alnum,
        16,
        "do~p_v1_0123456789abcdef0123",
        "dop_v1_ is a prefix",
    ),
    key(
        "shopify_access_token",
        "shpat_",
        Bytes::Alnum,
        16,
        "sh~pat_0123456789abcdef0123",
        "shpat_ is a prefix",
    ),
    key(
        "shopify_shared_secret",
        "shpss_",
        Bytes::Alnum,
        16,
        "sh~pss_0123456789abcdef0123",
        "shpss_ is a prefix",
    ),
    key(
        "slack_webhook",
        "hooks.slack.com/services/",
        Bytes::Dotted,
        10,
        "https://hooks.slack~.com/services/T00000000/B00000000/x",
        "hooks.slack.com/services/ is where they are",
    ),
    key(
        "discord_webhook",
        "discord.com/api/webhooks/",
        Bytes::Dotted,
        10,
        "https://discord~.com/api/webhooks/123456789/abc",
        "discord.com/api/webhooks/ is where they are",
    ),
    assigned("postgres_password_kv", "PGPASSWORD", "PGPASSWORD=hunter2 psql", "PGPASSWORD=$P psql"),
    assigned("mysql_password_kv", "MYSQL_PWD", "MYSQL_PWD='hunter2'", "unset MYSQL_PWD"),
    assigned(
        "gcp_adc_kv",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_APPLICATION_CREDENTIALS=/k.json",
        "GOOGLE_APPLICATION_CREDENTIALS is unset",
    ),
    other(
        "uri_credentials",
        Fields::All,
        Effect::Replace("[ctxlake:redacted]"),
        Find::UriPassword,
        "postgres://user:pa/ss@db/x",
        "postgres://db.example.com:5432/x?mail=a@b",
    ),
    other(
        "card_number",
        Fields::All,
        Effect::Replace("[ctxlake:redacted-card]"),
        Find::Card,
        "12/27 4111 1111 1111 1111 123",
        "order 4111111111111112 at 1763000100250",
    ),
    other(
        "ssn",
        Fields::All,
        Effect::Replace("[ctxlake:redacted-ssn]"),
        Find::Ssn,
        "123-45-6789",
        "900-45-6789 and 415-555-0134",
    ),
    prefixed(
        "bearer_token",
        "Bearer ",
        Bytes::Token68,
        16,
        "Bearer 0123456789abcdef0123",
        "Bearer tokens-are-not-logged",
    ),
    prefixed(
        "huggingface_token",
        "hf_",
        Bytes::Alnum,
        20,
        "h~f_0123456789abcdefghijkl",
        "hf_hub_download_0123456789abcdef",
    ),
    prefixed(
        "npm_token",
        "npm_",
        Bytes::Alnum,
        20,
        "np~m_0123456789abcdefghijkl",
        "npm_config_prefix_01234567",
    ),
    prefixed(
        "sendgrid_key",
        "SG.",
        Bytes::Token68,
        16,
        "SG~.0123456789abcdef.0123456789",
        "MSG.0123456789abcdefghij",
    ),
    other(
        "high_entropy_run",
        Fields::Tool,
        Effect::Replace(SECRET),
        Find::Entropy,
        "q7Zk2pXw9LmVb4Rt8NcYh1GfDs6JuTa3EoQi5BxK",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    ),
    other(
        "denied_path",
        Fields::Tool,
        Effect::Withhold,
        Find::Path,
        "cat /home/me/.aws/credentials",
        "cat .env.example notes/vault/keyboard.md",
    ),
];

/// Whether a file of this name is one that a lake must not hold. Names and folders are compared as whole
/// components, in any case, behind `/` and `\`.
pub fn denied(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let mut parts: Vec<&str> = lower.split(['/', '\\']).filter(|part| !matches!(*part, "" | ".")).collect();
    let open_end = lower.ends_with(['/', '\\']);
    let last = if open_end { "" } else { parts.pop().unwrap_or_default() };
    let above =
        |n: usize| parts.len().checked_sub(n).and_then(|at| parts.get(at)).copied().unwrap_or_default();
    FOLDERS.iter().any(|folder| parts.contains(folder))
        || parts.windows(2).any(|pair| INNER.iter().any(|inner| pair == inner))
        || FILES.contains(&last)
        || FILES_IN.iter().any(|(folder, file)| above(1) == *folder && last == *file)
        || (above(2), above(1), last) == (".config", "gh", "hosts.yml")
        || above(1) == ".ssh" && last.starts_with("id_") && !last.ends_with(".pub")
        || last.strip_prefix(".env.").is_some_and(|kind| !SAMPLES.contains(&kind))
        || last.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && ENDINGS.contains(&end))
}

const FOLDERS: &[&str] = &["secrets", ".azure", ".gnupg"];
/// An Obsidian vault is no HashiCorp Vault.
const INNER: &[[&str; 2]] = &[
    ["var", "vault"],
    ["etc", "vault"],
    ["run", "vault"],
    ["opt", "vault"],
    ["mnt", "vault"],
    [".config", "gcloud"],
];
const FILES: &[&str] = &[
    ".env",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".vault-token",
    "terraform.tfstate",
    "terraform.tfstate.backup",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
];
const FILES_IN: &[(&str, &str)] =
    &[(".aws", "credentials"), (".aws", "config"), (".docker", "config.json"), (".kube", "config")];
const SAMPLES: &[&str] = &["example", "sample", "template", "dist", "defaults", "schema"];
const ENDINGS: &[&str] = &["pem", "key", "p12", "pfx", "jks"];
