//! A request in the languages of those who write clients: curl, JavaScript (Node 18), Python (its standard library), Java 17 and C# 12.

use std::fmt::Write;

use serde_json::{Value, json};

use super::sample::{SampleBody, SampleRequest};

/// `x-codeSamples`, as tools that show OpenAPI know it.
pub fn snippets(request: &SampleRequest) -> Value {
    let snippets = [
        ("Shell", "curl", curl(request)),
        ("JavaScript", "JavaScript", javascript(request)),
        ("Python", "Python", python(request)),
        ("Java", "Java", java(request)),
        ("C#", "C#", c_sharp(request)),
    ];
    snippets.map(|(lang, label, source)| json!({"lang": lang, "label": label, "source": source})).into_iter().collect()
}

/// As editors read it in a file `.http`.
pub fn http_text(request: &SampleRequest) -> String {
    let mut text = format!("{} {}\n", request.method, request.url());
    if request.needs_token {
        text.push_str("Authorization: Bearer {{token}}\n");
    }
    for (name, value) in &request.headers {
        let _ = writeln!(text, "{name}: {value}");
    }
    if let Some(body) = &request.body {
        let _ = writeln!(text, "\n{}", body.indented());
    }
    text
}

fn curl(request: &SampleRequest) -> String {
    let mut text = match request.method.as_str() {
        "GET" => format!("curl -s {}", quoted(&request.url())),
        "POST" if request.body.is_some() => format!("curl -s {}", quoted(&request.url())),
        method => format!("curl -s -X {method} {}", quoted(&request.url())),
    };
    if request.needs_token {
        text.push_str(" \\\n  -H \"Authorization: Bearer $TOKEN\"");
    }
    for (name, value) in &request.headers {
        let _ = write!(text, " \\\n  -H {}", quoted(&format!("{name}: {value}")));
    }
    match &request.body {
        Some(SampleBody { file: Some(file), .. }) => {
            let _ = write!(text, " \\\n  --data-binary @examples/{file}");
        }
        Some(SampleBody { text: body, .. }) => {
            let _ = write!(text, " \\\n  --data-binary {}", quoted(body));
        }
        None => {}
    }
    if let Some(file) = request.saved_as() {
        let _ = write!(text, " \\\n  -o {file}");
    }
    text.push('\n');
    text
}

/// For a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A text literal, which is the same in JSON, JavaScript, Python, Java and C#.
fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

/// Name and value of every header as literals; `token` is the value of `Authorization` in the language.
fn headers(request: &SampleRequest, token: &str) -> Vec<(String, String)> {
    let token = request.needs_token.then(|| (literal("Authorization"), token.to_owned()));
    let others = request.headers.iter().map(|(name, value)| (literal(name), literal(value)));
    token.into_iter().chain(others).collect()
}

fn javascript(request: &SampleRequest) -> String {
    let mut text = String::new();
    if request.saved_as().is_some() {
        text.push_str("import { writeFile } from \"node:fs/promises\";\n\n");
    }
    let body = request.body.as_ref().map(|body| match &body.file {
        Some(file) => {
            text.push_str("import { readFile } from \"node:fs/promises\";\n\n");
            format!("await readFile({})", literal(&format!("examples/{file}")))
        }
        None => literal(&body.text),
    });
    let _ = write!(text, "const response = await fetch({}", literal(&request.url()));
    let headers = headers(request, "`Bearer ${process.env.TOKEN}`");
    let mut options = Vec::new();
    if request.method != "GET" {
        options.push(format!("  method: {},\n", literal(&request.method)));
    }
    if !headers.is_empty() {
        let lines: String = headers.iter().map(|(name, value)| format!("    {name}: {value},\n")).collect();
        options.push(format!("  headers: {{\n{lines}  }},\n"));
    }
    options.extend(body.map(|body| format!("  body: {body},\n")));
    if !options.is_empty() {
        let _ = write!(text, ", {{\n{}}}", options.concat());
    }
    text.push_str(");\n");
    match request.saved_as() {
        Some(file) => {
            let _ = writeln!(text, "await writeFile({}, Buffer.from(await response.arrayBuffer()));", literal(file));
            text.push_str("console.log(response.status);\n");
        }
        None => text.push_str("console.log(response.status, await response.text());\n"),
    }
    text
}

fn python(request: &SampleRequest) -> String {
    let mut text = String::new();
    if request.needs_token {
        text.push_str("import os\n");
    }
    if request.saved_as().is_some() || request.body.as_ref().is_some_and(|body| body.file.is_some()) {
        text.push_str("import pathlib\n");
    }
    text.push_str("import urllib.request\n\n");
    let _ = write!(text, "request = urllib.request.Request(\n    {},\n", literal(&request.url()));
    let _ = writeln!(text, "    method={},", literal(&request.method));
    let headers = headers(request, "\"Bearer \" + os.environ[\"TOKEN\"]");
    if !headers.is_empty() {
        let lines: String = headers.iter().map(|(name, value)| format!("        {name}: {value},\n")).collect();
        let _ = writeln!(text, "    headers={{\n{lines}    }},");
    }
    match &request.body {
        Some(SampleBody { file: Some(file), .. }) => {
            let _ = writeln!(text, "    data=pathlib.Path({}).read_bytes(),", literal(&format!("examples/{file}")));
        }
        Some(SampleBody { text: body, .. }) => {
            let _ = writeln!(text, "    data={}.encode(),", literal(body));
        }
        None => {}
    }
    text.push_str(")\nwith urllib.request.urlopen(request) as response:\n");
    match request.saved_as() {
        Some(file) => {
            let _ = writeln!(text, "    pathlib.Path({}).write_bytes(response.read())", literal(file));
            text.push_str("    print(response.status)\n");
        }
        None => text.push_str("    print(response.status, response.read().decode())\n"),
    }
    text
}

fn java(request: &SampleRequest) -> String {
    let mut text = String::from("import java.net.URI;\nimport java.net.http.*;\n");
    let handler = match request.saved_as() {
        Some(file) => {
            text.push_str("import java.nio.file.Path;\n");
            format!("ofFile(Path.of({}))", literal(file))
        }
        None => "ofString()".to_owned(),
    };
    let body = match &request.body {
        Some(SampleBody { file: Some(file), .. }) => {
            text.push_str("import java.nio.file.Path;\n");
            format!("HttpRequest.BodyPublishers.ofFile(Path.of({}))", literal(&format!("examples/{file}")))
        }
        Some(SampleBody { text: body, .. }) => format!("HttpRequest.BodyPublishers.ofString({})", literal(body)),
        None => "HttpRequest.BodyPublishers.noBody()".to_owned(),
    };
    let _ = write!(
        text,
        "\nclass Example {{\n    public static void main(String[] arguments) throws Exception {{\n        \
         var request = HttpRequest.newBuilder(URI.create({}))\n            .method({}, {body})\n",
        literal(&request.url()),
        literal(&request.method)
    );
    for (name, value) in headers(request, "\"Bearer \" + System.getenv(\"TOKEN\")") {
        let _ = writeln!(text, "            .header({name}, {value})");
    }
    let _ = write!(
        text,
        "            .build();\n        var response = HttpClient.newHttpClient().send(request, \
         HttpResponse.BodyHandlers.{handler});\n        System.out.println(response.statusCode() + \" \" + response.body());\n    }}\n}}\n",
    );
    text
}

fn c_sharp(request: &SampleRequest) -> String {
    let mut text = String::from("using System.Net.Http;\n\nusing var client = new HttpClient();\n");
    let _ = writeln!(
        text,
        "using var request = new HttpRequestMessage(new HttpMethod({}), {});",
        literal(&request.method),
        literal(&request.url())
    );
    if let Some(body) = &request.body {
        let content = match &body.file {
            Some(file) => format!("await File.ReadAllBytesAsync({})", literal(&format!("examples/{file}"))),
            None => format!("System.Text.Encoding.UTF8.GetBytes({})", literal(&body.text)),
        };
        let _ = writeln!(text, "request.Content = new ByteArrayContent({content});");
    }
    let token = "$\"Bearer {Environment.GetEnvironmentVariable(\"TOKEN\")}\"";
    for (name, value) in headers(request, token) {
        // Headers of the body belong to it.
        let of = if name == "\"Content-Type\"" { "request.Content!.Headers" } else { "request.Headers" };
        let _ = writeln!(text, "{of}.TryAddWithoutValidation({name}, {value});");
    }
    text.push_str("using var response = await client.SendAsync(request);\n");
    match request.saved_as() {
        Some(file) => {
            let bytes = "await response.Content.ReadAsByteArrayAsync()";
            let _ = writeln!(text, "await File.WriteAllBytesAsync({}, {bytes});", literal(file));
            text.push_str("Console.WriteLine((int)response.StatusCode);\n");
        }
        None => text.push_str(
            "Console.WriteLine($\"{(int)response.StatusCode} {await response.Content.ReadAsStringAsync()}\");\n",
        ),
    }
    text
}
