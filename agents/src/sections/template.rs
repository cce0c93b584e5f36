//! The templates of sections.

use minijinja::value::Serde;
use minijinja::{Environment, Error, Value as Shown};
use serde_json::Value;

use super::params::Names;
use crate::{jinja, text};

/// Creates the environment of sections, with a filter that shows a value as a line.
pub(super) fn environment() -> Environment<'static> {
    let mut environment = jinja::environment();
    environment.add_filter("line", |line: String| text::unmarked_line(&line));
    environment
}

/// Returns the faults in a template, whatever the values.
pub(super) fn problems(environment: &Environment<'_>, source: &str, names: &Names) -> Vec<String> {
    let template = match environment.template_from_str(source) {
        Ok(template) => template,
        Err(error) => return vec![format!("does not compile: {}", in_words(&error))],
    };
    let Names::These(names) = names else { return Vec::new() };
    let unknown = jinja::undeclared(&template, environment).into_iter().filter(|name| !names.contains(name));
    let problem = |name: String| {
        let near =
            mcp_bindgen_model::nearest(&name, names.iter().map(String::as_str)).first().map(|near| near.to_string());
        let help = match (near, names.is_empty()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, true) => "its section has no parameters".to_owned(),
            (None, false) => format!("there are {}", listed(names.iter().map(String::as_str))),
        };
        format!("uses the unknown parameter `{name}`; {help}")
    };
    unknown.map(problem).collect()
}

/// Returns the text for these values, without blank lines around it.
pub(super) fn render(environment: &Environment<'_>, source: &str, values: &Value) -> Result<String, String> {
    let template = environment.template_from_str(source).map_err(|error| in_words(&error))?;
    let text = template.render(Shown::from(Serde(values))).map_err(|error| in_words(&error))?;
    Ok(text.trim().to_owned())
}

/// minijinja's words, with the line.
fn in_words(error: &Error) -> String {
    let what = jinja::in_words(error);
    match error.line() {
        Some(line) => format!("{what} (line {line})"),
        None => what,
    }
}

/// Formats names between backticks, separated by commas.
pub(super) fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_placeholders_are_reported() {
        let (environment, names) = (environment(), Names::these(["path", "items"]));
        assert!(problems(&environment, "{{ path }} {% for i in range(3) %}{{ i }}{% endfor %}", &names).is_empty());
        let [problem] = &problems(&environment, "{{ pth }}", &names)[..] else { panic!("one placeholder is unknown") };
        assert!(problem.contains("did you mean `path`?"), "{problem}");
        let [problem] = &problems(&environment, "{{ x", &names)[..] else { panic!("it does not compile") };
        assert!(problem.contains("line 1"), "{problem}");
        assert!(!problems(&environment, "{% include 'secrets.txt' %}", &names).is_empty());
        assert!(problems(&environment, "{{ whatever }}", &Names::Any).is_empty());
    }

    #[test]
    fn values_are_not_interpreted_as_templates() {
        let values = json!({ "path": "{{ items }} {% raw %} </b>", "items": [] });
        let text = render(&environment(), "\n  at {{ path }}\n", &values).expect("it renders");
        assert_eq!(text, "at {{ items }} {% raw %} </b>");
        let line = render(&environment(), "{{ path|line }}", &values).expect("it renders");
        assert!(!line.contains("{{") && !line.contains('<'), "{line}");
    }

    #[test]
    fn missing_value_or_endless_loop_is_an_error() {
        let environment = environment();
        let missing = render(&environment, "{{ a.b.c }}", &json!({ "a": {} })).expect_err("there is no such value");
        assert!(missing.contains("undefined"), "{missing}");
        let endless = "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}";
        let endless = render(&environment, endless, &json!({})).expect_err("it takes too much");
        assert!(endless.contains("fuel"), "{endless}");
    }
}
