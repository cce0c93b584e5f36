//! The examples of RFC 6570, and values that want out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::time::{Duration, Instant};

use mcp_bindgen_model::{TemplateError, TemplateValue, UriTemplate};

fn expand(template: &str, variables: &[(&str, &str)]) -> Result<String, TemplateError> {
    let list = ["red", "green", "blue"].map(str::to_owned);
    let dom = ["example", "com"].map(str::to_owned);
    let none: [String; 0] = [];
    let template = UriTemplate::parse(template).unwrap_or_else(|error| panic!("{template}: {error}"));
    template.expand(|name| match name {
        "list" => Some(TemplateValue::List(&list)),
        "dom" => Some(TemplateValue::List(&dom)),
        "empty_keys" => Some(TemplateValue::List(&none)),
        _ => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| TemplateValue::Text(value)),
    })
}

/// The tables of section 1.2 for levels 1 to 3, with the values that stand there.
#[test]
fn rfc_6570_examples_of_levels_1_to_3_pass() {
    let variables =
        [("var", "value"), ("hello", "Hello World!"), ("empty", ""), ("path", "/foo/bar"), ("x", "1024"), ("y", "768")];
    for (template, uri) in [
        // Level 1
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        // Level 2
        ("{+var}", "value"),
        ("{+hello}", "Hello%20World!"),
        ("{+path}/here", "/foo/bar/here"),
        ("here?ref={+path}", "here?ref=/foo/bar"),
        ("X{#var}", "X#value"),
        ("X{#hello}", "X#Hello%20World!"),
        // Level 3
        ("map?{x,y}", "map?1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("{+x,hello,y}", "1024,Hello%20World!,768"),
        ("{+path,x}/here", "/foo/bar,1024/here"),
        ("{#x,hello,y}", "#1024,Hello%20World!,768"),
        ("{#path,x}/here", "#/foo/bar,1024/here"),
        ("X{.var}", "X.value"),
        ("X{.x,y}", "X.1024.768"),
        ("{/var}", "/value"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{;x,y}", ";x=1024;y=768"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{?x,y}", "?x=1024&y=768"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&x,y,empty}", "&x=1024&y=768&empty="),
    ] {
        assert_eq!(expand(template, &variables).as_deref(), Ok(uri), "{template}");
    }
}

/// Section 3.2, but for associative arrays, with the values of its beginning.
#[test]
fn rfc_6570_examples_of_each_operator_pass() {
    let variables = [
        ("count", "one,two,three"),
        ("dub", "me/too"),
        ("hello", "Hello World!"),
        ("half", "50%"),
        ("var", "value"),
        ("who", "fred"),
        ("base", "http://example.com/home/"),
        ("path", "/foo/bar"),
        ("v", "6"),
        ("x", "1024"),
        ("y", "768"),
        ("empty", ""),
    ];
    for (template, uri) in [
        // 3.2.2, simple
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{half}", "50%25"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{x,y}", "1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"),
        ("?{undef,y}", "?768"),
        ("{var:3}", "val"),
        ("{var:30}", "value"),
        ("{list}", "red,green,blue"),
        ("{list*}", "red,green,blue"),
        // 3.2.3, reserved
        ("{+var}", "value"),
        ("{+hello}", "Hello%20World!"),
        ("{+half}", "50%25"),
        ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
        ("{+base}index", "http://example.com/home/index"),
        ("O{+empty}X", "OX"),
        ("O{+undef}X", "OX"),
        ("{+path}/here", "/foo/bar/here"),
        ("here?ref={+path}", "here?ref=/foo/bar"),
        ("up{+path}{var}/here", "up/foo/barvalue/here"),
        ("{+x,hello,y}", "1024,Hello%20World!,768"),
        ("{+path,x}/here", "/foo/bar,1024/here"),
        ("{+path:6}/here", "/foo/b/here"),
        ("{+list}", "red,green,blue"),
        ("{+list*}", "red,green,blue"),
        // 3.2.4, fragment
        ("{#var}", "#value"),
        ("{#hello}", "#Hello%20World!"),
        ("{#half}", "#50%25"),
        ("foo{#empty}", "foo#"),
        ("foo{#undef}", "foo"),
        ("{#x,hello,y}", "#1024,Hello%20World!,768"),
        ("{#path,x}/here", "#/foo/bar,1024/here"),
        ("{#path:6}/here", "#/foo/b/here"),
        ("{#list}", "#red,green,blue"),
        ("{#list*}", "#red,green,blue"),
        // 3.2.5, label
        ("{.who}", ".fred"),
        ("{.who,who}", ".fred.fred"),
        ("{.half,who}", ".50%25.fred"),
        ("www{.dom*}", "www.example.com"),
        ("X{.var}", "X.value"),
        ("X{.empty}", "X."),
        ("X{.undef}", "X"),
        ("X{.var:3}", "X.val"),
        ("X{.list}", "X.red,green,blue"),
        ("X{.list*}", "X.red.green.blue"),
        ("X{.empty_keys}", "X"),
        ("X{.empty_keys*}", "X"),
        // 3.2.6, path segments
        ("{/who}", "/fred"),
        ("{/who,who}", "/fred/fred"),
        ("{/half,who}", "/50%25/fred"),
        ("{/who,dub}", "/fred/me%2Ftoo"),
        ("{/var}", "/value"),
        ("{/var,empty}", "/value/"),
        ("{/var,undef}", "/value"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{/var:1,var}", "/v/value"),
        ("{/list}", "/red,green,blue"),
        ("{/list*}", "/red/green/blue"),
        ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
        // 3.2.7, parameters
        ("{;who}", ";who=fred"),
        ("{;half}", ";half=50%25"),
        ("{;empty}", ";empty"),
        ("{;v,empty,who}", ";v=6;empty;who=fred"),
        ("{;v,bar,who}", ";v=6;who=fred"),
        ("{;x,y}", ";x=1024;y=768"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{;x,y,undef}", ";x=1024;y=768"),
        ("{;hello:5}", ";hello=Hello"),
        ("{;list}", ";list=red,green,blue"),
        ("{;list*}", ";list=red;list=green;list=blue"),
        // 3.2.8, query
        ("{?who}", "?who=fred"),
        ("{?half}", "?half=50%25"),
        ("{?x,y}", "?x=1024&y=768"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("{?x,y,undef}", "?x=1024&y=768"),
        ("{?var:3}", "?var=val"),
        ("{?list}", "?list=red,green,blue"),
        ("{?list*}", "?list=red&list=green&list=blue"),
        // 3.2.9, continued query
        ("{&who}", "&who=fred"),
        ("{&half}", "&half=50%25"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&x,y,empty}", "&x=1024&y=768&empty="),
        ("{&x,y,undef}", "&x=1024&y=768"),
        ("{&var:3}", "&var=val"),
        ("{&list}", "&list=red,green,blue"),
        ("{&list*}", "&list=red&list=green&list=blue"),
    ] {
        assert_eq!(expand(template, &variables).as_deref(), Ok(uri), "{template}");
    }
}

#[test]
fn values_are_encoded_within_their_variable() {
    for (template, value, uri) in [
        ("file:///{x}/end", "../../etc/passwd", "file:///..%2F..%2Fetc%2Fpasswd/end"),
        ("file:///{x}", "a?b#c", "file:///a%3Fb%23c"),
        ("file:///{x}", "a\r\nHost: evil", "file:///a%0D%0AHost%3A%20evil"),
        ("file:///{x}", "\0", "file:///%00"),
        ("file:///{x}", "%2e%2e", "file:///%252e%252e"),
        ("file:///{x}", "größe", "file:///gr%C3%B6%C3%9Fe"),
        ("file:///{+x}", "a\n\0 b\\..\\c", "file:///a%0A%00%20b%5C..%5Cc"),
        ("file:///{+x}", "100%", "file:///100%25"),
        ("file:///{+x}", "a/...b/..c", "file:///a/...b/..c"),
        ("find?q={+x}", "../up", "find?q=../up"),
        ("find{?x}", "a&y=b/../c", "find?x=a%26y%3Db%2F..%2Fc"),
        ("{x}", "{x}", "%7Bx%7D"),
    ] {
        assert_eq!(expand(template, &[("x", value)]).as_deref(), Ok(uri), "{template} {value:?}");
    }
}

#[test]
fn value_cannot_leave_its_path_segment() {
    for (template, value) in [
        ("file:///home/{+x}", "../etc/passwd"),
        ("file:///home/{+x}", "a/../../etc"),
        ("file:///home/{+x}", "a/.."),
        ("file:///home/{+x}", "./b"),
        ("file:///home/{+x}", "%2e%2E/b"),
        ("file:///home/{+x}", ".%2e/b"),
        ("file:///home{/x}", ".."),
        ("file:///home/{x}/b", ".."),
        ("file:///home/.{x}/b", "."),
        ("file:///home/{.x}", "."),
        ("file:///home/.{x}./b", ""),
    ] {
        let error = expand(template, &[("x", value)]).expect_err(template);
        assert_eq!(error.variable, "x");
        assert!(error.to_string().contains("add the path segment"), "{template} {value:?}: {error}");
    }
    // The literal text of the template is not checked, because it comes from the server.
    assert_eq!(expand("up:/../{x}", &[("x", "a")]).as_deref(), Ok("up:/../a"));
    let list = ["a".to_owned(), "..".to_owned()];
    let template = UriTemplate::parse("file:///home{/x*}").expect("it is a template");
    assert!(template.expand(|_| Some(TemplateValue::List(&list))).is_err());
}

#[test]
fn malformed_template_is_refused() {
    for (text, said) in [
        ("{", "not closed"),
        ("a{b", "not closed"),
        ("a}b", "'}'"),
        ("{}", "no name"),
        ("{a,}", "no name"),
        ("{+}", "no name"),
        ("{a b}", "invalid variable name"),
        ("{repo-name}", "invalid variable name"),
        ("{a..b}", "invalid variable name"),
        ("{a%2}", "invalid variable name"),
        ("{%%41}", "invalid variable name"),
        ("{a%4g.b}", "invalid variable name"),
        ("{{a}}", "invalid variable name"),
        ("{=a}", "reserved operator"),
        ("{|a}", "reserved operator"),
        ("{a:0}", "from 1 to 9999"),
        ("{a:12345}", "from 1 to 9999"),
        ("{a:}", "from 1 to 9999"),
        ("{a:+1}", "from 1 to 9999"),
        ("{a:1*}", "invalid variable name"),
        ("{/a*}{a:3}", "prefix length"),
        ("a b", "' '"),
        ("a\nb", "'\\n'"),
        ("100%", "hexadecimal"),
        ("%zz%25", "hexadecimal"),
    ] {
        let error = UriTemplate::parse(text).expect_err(text);
        assert!(error.to_string().contains(said), "{text}: {error}");
    }
    let fine = UriTemplate::parse("weather://größe/%25/{a.b_1}'{%4a%20b.c}").expect("it is a template");
    let uri = fine.expand(|_| Some(TemplateValue::Text("v")));
    assert_eq!(uri.as_deref(), Ok("weather://gr%C3%B6%C3%9Fe/%25/v'v"));
}

#[test]
fn template_with_many_variables_is_parsed_fast() {
    let start = Instant::now();
    UriTemplate::parse(&format!("{{{}a}}", "a,".repeat(500_000))).expect("it is a template");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn variables_are_required_unless_in_a_query() {
    let template = UriTemplate::parse("a/{x}{/y*,z}{?page,x}{&more*}{;p}").expect("it is a template");
    let variables: Vec<_> =
        template.variables().into_iter().map(|found| (found.name, found.is_list, found.is_required)).collect();
    let expected = [
        ("x", false, true),
        ("y", true, true),
        ("z", false, true),
        ("page", false, false),
        ("more", true, false),
        ("p", false, false),
    ];
    assert_eq!(variables, expected.map(|(name, is_list, is_required)| (name.to_owned(), is_list, is_required)));
}
