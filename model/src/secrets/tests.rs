use super::*;

/// What is shown of an argument after others, the last one of `arguments`.
fn argument(arguments: &[&str]) -> String {
    let all: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    let index = all.len() - 1;
    shown(ConfigField::Argument { command: "server", all: &all, index }, &all[index])
}

fn shown(place: ConfigField<'_>, text: &str) -> String {
    replace(text, &find(place, text), |secret| format!("{}<{}>", if secret.is_default { ":-" } else { "" }, secret.key))
}

#[test]
fn only_the_secret_is_hidden() {
    for (place, text, expected) in [
        (ConfigField::Env("GITHUB_TOKEN"), "abc", "<GITHUB_TOKEN>"),
        (ConfigField::Env("ANYTHING"), "ghp_0123456789abcdef", "<ANYTHING>"),
        (ConfigField::Env("ANYTHING"), "use ghp_0123456789abcdef, please", "use <ANYTHING>, please"),
        (ConfigField::Header("Authorization"), "Bearer abc", "Bearer <Authorization>"),
        (ConfigField::Header("authorization"), "${SCHEME} abc", "${SCHEME} <authorization>"),
        (ConfigField::Header("Cookie"), "a=${A}; b=${B}", "a=${A}; b=${B}"),
        (ConfigField::Header("Cookie"), "a=${A}; b=c", "a=${A}<Cookie>"),
        (ConfigField::Url, "https://user:abc@host/x", "https://user:<password>@host/x"),
        (ConfigField::Url, "https://u:a/b?c@host/x", "https://u:<password>@host/x"),
        (ConfigField::Url, "https://host/x?a=b&api_key=abc&c=d", "https://host/x?a=b&api_key=<api_key>&c=d"),
        (
            ConfigField::Url,
            "https://u:p@host/x?sig=abc#access_token=def",
            "https://u:<password>@host/x?sig=<sig>#access_token=<access_token>",
        ),
        (ConfigField::Url, "https://host/x?api%5Fkey=abc", "https://host/x?api%5Fkey=<api%5Fkey>"),
        (ConfigField::Env("X"), "https://hooks.slack.com/services/T/B/X", "https://hooks.slack.com/services/<webhook>"),
        (ConfigField::Env("X"), "Server=s;Password=a,b&c d;Database=d", "Server=s;Password=<Password>;Database=d"),
        (ConfigField::Env("X"), "host=h password=abc dbname=d", "host=h password=<password> dbname=d"),
        (
            ConfigField::Env("X"),
            r#"{"apiKey":"a\"b","port":1,"pin_token":42}"#,
            r#"{"apiKey":"<apiKey>","port":1,"pin_token":<pin_token>}"#,
        ),
        (ConfigField::Env("X"), r#"{\"apiKey\": \"abc\", \"b\": 1}"#, r#"{\"apiKey\": \"<apiKey>\", \"b\": 1}"#),
        (ConfigField::Env("X"), r#"{"tokens":["a","b"],"c":1}"#, r#"{"tokens":<tokens>,"c":1}"#),
        (ConfigField::Env("AUTH"), r#"{"user":"u","password":"abc"}"#, r#"{"user":"u","password":"<password>"}"#),
        (ConfigField::Env("CREDENTIALS"), r#"{"password":"${P}","a":"b"}"#, r#"{"password":"${P}","a":"b"}"#),
        (ConfigField::Env("X"), "A=1\nTOKEN=abc def\nB=2", "A=1\nTOKEN=<TOKEN>\nB=2"),
        (ConfigField::Env("TOKEN"), "${A:-abc}", "${A:-<TOKEN>}"),
        (ConfigField::Env("X"), "${TOKEN:-abc}", "${TOKEN:-<TOKEN>}"),
        (ConfigField::Env("TOKEN"), "${A}abc${B}", "${A}<TOKEN>${B}"),
        (ConfigField::Command, "server --token abc --port 80", "server --token <token> --port 80"),
        (ConfigField::Command, "server --token 'a b' --secret c", "server --token '<token>' --secret <secret>"),
        (ConfigField::Command, "env API_KEY=abc server", "env API_KEY=<API_KEY> server"),
        (ConfigField::Note("description"), "give it a token: any of yours", "give it a token: any of yours"),
        (ConfigField::Note("description"), "use password=hunter2 here", "use password=<password> here"),
    ] {
        assert_eq!(shown(place, text), expected, "{place:?}");
    }
}

#[test]
fn arguments_are_read_with_those_before_them() {
    for (arguments, expected) in [
        (&["--token=abc"][..], "--token=<token>"),
        (&["--token='a;b=c'"], "--token='<token>'"),
        (&["--api-key", "abc"], "<api-key>"),
        (&["--api-key", "-9abc"], "<api-key>"),
        (&["-p", "abc"], "<password>"),
        (&["-u", "me:abc"], "me:<password>"),
        (&["--header", "Authorization: Bearer abc"], "Authorization: Bearer <Authorization>"),
        (&["--header", "Authorization:Basic YWJjOmRlZg=="], "Authorization:Basic <Authorization>"),
        (&["--header", "X-Api-Key:", "abc"], "<X-Api-Key>"),
        (&["-e", "API_KEY=abc"], "API_KEY=<API_KEY>"),
        (&["--env=API_KEY=abc"], "--env=API_KEY=<API_KEY>"),
        (&["sk-0123456789abcdef"], "<secret>"),
        (&["--url", "postgres://u:p@h/db?password=x"], "postgres://u:<password>@h/db?password=<password>"),
        (&["me:abc@host:80"], "me:<password>@host:80"),
        (&["-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\n"], "<secret>\n"),
        // No secrets.
        (&["token", "abc"], "abc"),
        (&["--token", "--verbose"], "--verbose"),
        (&["--no-auth", "stdio"], "stdio"),
        (&["-p", "8080:80"], "8080:80"),
        (&["-p", "./project"], "./project"),
    ] {
        assert_eq!(argument(arguments), expected, "{arguments:?}");
    }
    let all = ["-y", "-p", "server", "-p", "abc"].map(str::to_owned);
    let npx = |index: usize| shown(ConfigField::Argument { command: "npx", all: &all, index }, &all[index]);
    assert_eq!((npx(2).as_str(), npx(4).as_str()), ("server", "<password>"));
}
