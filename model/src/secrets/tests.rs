use super::*;

/// Returns the last of `arguments` as it is shown after the others.
fn argument(arguments: &[&str]) -> String {
    let all: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    let index = all.len() - 1;
    shown(ConfigField::Argument { command: "server", all: &all, index }, &all[index])
}

fn shown(place: ConfigField<'_>, text: &str) -> String {
    let mut instead = |secret: &Secret| format!("{}<{}>", if secret.is_default { ":-" } else { "" }, secret.key);
    replace(text, &find(place, text), &mut instead)
}

#[test]
fn only_the_secret_part_is_hidden() {
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

/// Replaces secrets in a text that has to keep its meaning.
fn exact(place: ConfigField<'_>, text: &str) -> String {
    replace_exactly(place, text, &mut |secret| format!("${{{}}}", secret.key))
}

#[test]
fn exact_replacement_preserves_all_but_the_secret() {
    let env = ConfigField::Env("OPTS");
    for (place, text, expected) in [
        // Names that begin as tokens do.
        (
            ConfigField::Url,
            "https://h/mcp?api_key=0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9&profile=aa",
            "https://h/mcp?api_key=${api_key}&profile=aa",
        ),
        (env, "mcp_token=abcdef1234567890", "mcp_token=${mcp_token}"),
        (env, "mcp_mode=abcdef1234567890", "mcp_mode=${OPTS}"),
        (env, "api_abcdef1234567890", "${OPTS}"),
        (env, "key-3ax6xnjp29jd6fds4gc373sgvjxteol0==", "${OPTS}"),
        // Options behind it.
        (env, "--token=tttt1234tttt --verbose --mode fast", "--token=${token} --verbose --mode fast"),
        (env, "--token='a b' --verbose", "--token='${token}' --verbose"),
        (env, "--env=API_KEY=abc --verbose", "--env=API_KEY=${API_KEY} --verbose"),
        (env, "password=abc dbname=d host=h", "password=${password} dbname=d host=h"),
        // The end of these values is unknown.
        (env, "--passphrase=correct horse battery", "--passphrase=${passphrase}"),
        (env, "password: a b", "password: ${password}"),
    ] {
        assert_eq!(exact(place, text), expected, "{text}");
        assert!(find(place, &exact(place, text)).is_empty(), "{text}");
        // The hidden part is never smaller.
        let hidden = replace(text, &find(place, text), &mut |_| "..".to_owned());
        assert!(hidden.len() <= exact(place, text).len(), "{text}");
    }
    for (words, expected) in [
        (&["sh", "-c", "TOKEN=abcd1234efgh exec srv"][..], "TOKEN=${TOKEN} exec srv"),
        (&["bash", "-lc", "export API_KEY=k1; cd /srv && ./run"], "export API_KEY=${API_KEY}; cd /srv && ./run"),
        (&["bash", "-c", "cd /srv;TOKEN='a b' ./run"], "cd /srv;TOKEN='${TOKEN}' ./run"),
        (&["/bin/sh", "-c", "(TOKEN=abc ./run)|tee x"], "(TOKEN=${TOKEN} ./run)|tee x"),
        (&["sh", "-c", "./run --token abc; echo"], "./run --token ${token}; echo"),
        (&["sh", "-c", "curl 'https://h/?a=b&token=a;b' -v"], "curl 'https://h/?a=b&token=${token}' -v"),
        (&["docker", "run", "img", "sh", "-c", "TOKEN=abc srv"], "TOKEN=${TOKEN} srv"),
        (&["cmd.exe", "/c", "set TOKEN=abc&& srv"], "set TOKEN=${TOKEN}&& srv"),
        // One argument is one value.
        (&["srv", "--api_key=abcdef1234567890"], "--api_key=${api_key}"),
        (&["srv", "--token=a --b"], "--token=${token}"),
        (&["srv", "password=abc dbname=d"], "password=${password} dbname=d"),
    ] {
        let all: Vec<String> = words[1..].iter().map(|word| (*word).to_owned()).collect();
        let index = all.len() - 1;
        let place = ConfigField::Argument { command: words[0], all: &all, index };
        assert_eq!(exact(place, &all[index]), expected, "{words:?}");
        assert!(find(place, expected).is_empty(), "{expected}");
    }
}

#[test]
fn text_after_a_secret_is_hidden_but_not_after_a_placeholder() {
    let env = ConfigField::Env("OPTS");
    for (text, expected) in [
        ("--token=tttt1234tttt --verbose", "--token=<token>"),
        ("--token=${T} --verbose", "--token=${T} --verbose"),
        ("--token=${T} swordfish", "--token=${T} <token>"),
        ("--token=${T}hunter2 --verbose", "--token=${T}<token>"),
        ("--token=${T} --password=abc", "--token=${T} --password=<password>"),
        ("api_key=abcdef1234567890", "<OPTS>"),
    ] {
        assert_eq!(shown(env, text), expected);
    }
}

#[test]
fn arguments_are_interpreted_with_the_preceding_ones() {
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
