//! Calls of tools: names, arguments, errors, bounds.

use lazaret_script::{Bounds, Outcome, Reason, Wish};

use crate::rig::{BOUNDS, returns, run, run_with, usual};

#[test]
fn any_name_is_a_tool() {
    let cases = [
        (
            "await tools.files.read({ path: 'a' })",
            r#"files.read {"path":"a"}"#,
        ),
        ("await tools['files.read']({})", "files.read {}"),
        ("await tools['mcp.server'].x()", "mcp.server.x {}"),
        ("await tools.x(undefined)", "x {}"),
        ("await tools.x([1, null])", "x [1,null]"),
        ("await tools.constructor()", "constructor {}"),
        ("await tools.__proto__.x()", "__proto__.x {}"),
        ("await tools.a.toString()", "a.toString {}"),
        ("await tools.a.valueOf()", "a.valueOf {}"),
        ("await tools.a.apply({})", "a.apply {}"),
        ("await tools.a.call({ b: 1 })", r#"a.call {"b":1}"#),
        ("await tools.a.bind()", "a.bind {}"),
        ("await tools.a.name()", "a.name {}"),
        ("await tools.a.length()", "a.length {}"),
        ("await tools.a.path()", "a.path {}"),
        ("await tools.hasOwnProperty()", "hasOwnProperty {}"),
        ("await tools.naïve['😀']()", "naïve.😀 {}"),
        ("await tools['\\ud800']()", "\u{fffd} {}"),
        (
            "const { files } = tools; await files.read()",
            "files.read {}",
        ),
        (
            "const { read } = tools.files; await read({ a: 1 })",
            r#"files.read {"a":1}"#,
        ),
        (
            "const f = await tools.files; await f.read()",
            "files.read {}",
        ),
        ("await Reflect.apply(tools.a.b, null, [{}])", "a.b {}"),
        (
            "const o = { n: 1 }; const p = tools.x(o); o.n = 2; await p",
            r#"x {"n":1}"#,
        ),
    ];
    for (source, expected) in cases {
        let run = run(source);
        assert!(run.end.is_ok(), "{source}: {:?}", run.end);
        assert_eq!(run.calls(), [expected], "{source}");
    }
}

#[test]
fn what_looks_at_tools_calls_nothing() {
    returns(&[
        (
            "return `${tools.files} ${tools}` + (tools.a + 1)",
            "\"[tools.files] [tools][tools.a]1\"",
        ),
        (
            "return [tools.then === undefined, tools.a.then === undefined, tools.a.toJSON === undefined]",
            "[true,true,true]",
        ),
        (
            "return [typeof tools, typeof tools.a, JSON.stringify({ t: tools.a })]",
            r#"["function","function","{}"]"#,
        ),
        (
            "return [tools[Symbol.iterator] === undefined, Object.keys(tools).length]",
            "[true,0]",
        ),
        (
            "try { new tools.x() } catch (e) { return e instanceof TypeError }",
            "true",
        ),
        (
            "try { for (const x of tools) {} } catch (e) { return e.name }",
            "\"TypeError\"",
        ),
        ("return Object.getPrototypeOf(tools.a)", "null"),
    ]);
}

#[test]
fn tools_cannot_be_changed() {
    for source in [
        "tools.x = () => 1",
        "tools = {}",
        "globalThis.tools = {}",
        "delete tools.x",
        "delete globalThis.tools",
        "try { Object.defineProperty(globalThis, 'tools', { value: 1 }) } catch {}",
        "try { Object.defineProperty(tools, 'x', { value: 1 }) } catch {}",
        "try { Object.setPrototypeOf(tools, { x: 1 }) } catch {}",
        "try { (() => { 'use strict'; tools.x = 1 })() } catch {}",
        "try { Object.freeze(tools) } catch {}",
        "tools.__proto__ = { x: 1 }",
        "Object.prototype.x = () => 'mine'; Function.prototype.x = () => 'mine'",
        "Object.prototype.get = () => 'mine'; Object.prototype.apply = () => 'mine'",
    ] {
        let run = run(&format!("{source}\nreturn await tools.x({{ a: 1 }})"));
        assert_eq!(run.calls(), [r#"x {"a":1}"#], "{source}");
        assert_eq!(run.value(), r#"{"tool":"x","args":{"a":1}}"#, "{source}");
    }
}

#[test]
fn pollution_changes_nothing_that_the_host_sees() {
    for source in [
        "JSON.stringify = () => '\"mine\"'; JSON.parse = () => 'mine'",
        "Promise.prototype.then = () => { throw 1 }",
        "Promise = class {}; globalThis.Promise = null",
        "Object.defineProperty(Object.prototype, 'position', { set() { throw 1 } })",
        "Object.defineProperty(Array.prototype, 0, { set() {}, get() { return 'mine' } })",
        "Array.prototype[Symbol.iterator] = function* () { yield 'mine' }",
        "Object.defineProperty = () => { throw 1 }; Reflect.apply = () => { throw 1 }; Reflect.construct = () => { throw 1 }",
        "Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => { throw 1 }",
        "String.prototype.slice = String.prototype.split = () => { throw 1 }; String = () => 'mine'",
        "Object.defineProperty(Object.prototype, 'code', { get() { throw 1 }, set() { throw 1 } })",
        "Object.defineProperty(Object.prototype, 'value', { value: 'mine' })",
        "Object.defineProperty(Object.prototype, 'get', { value: () => 'mine' })",
        "Error = null; TypeError = null; Proxy = null; Symbol = null; Map = null",
        "for (const k of Reflect.ownKeys(globalThis)) { try { delete globalThis[k] } catch {} }",
        "ToolError.prototype.constructor = null; try { Object.setPrototypeOf(ToolError, null) } catch {}",
        "Error.prepareStackTrace = () => { throw 1 }; Error.stackTraceLimit = 0",
    ] {
        let source = format!(
            "{source}\nconst a = await tools.x({{ a: [1] }})\nlet c\ntry {{ await tools.fail() }} catch (e) {{ c = e.code }}\nreturn {{ a, c }}"
        );
        let run = run(&source);
        assert_eq!(
            run.calls(),
            [r#"x {"a":[1]}"#, "fail {}"],
            "{source}: {:?}",
            run.end
        );
        assert_eq!(
            run.value(),
            r#"{"a":{"tool":"x","args":{"a":[1]}},"c":"denied"}"#,
            "{source}"
        );
    }
}

#[test]
fn bad_arguments_reject_and_ask_nothing() {
    let caught = |call: &str| {
        run(&format!(
            "try {{ await {call} }} catch (e) {{ return [e.name, e.code ?? null, e.message] }}"
        ))
    };
    for (call, name, words) in [
        ("tools.x({}, 1)", "TypeError", "one object"),
        ("tools.x(1n)", "TypeError", "BigInt"),
        (
            "tools.x((() => { const c = {}; c.c = c; return c })())",
            "TypeError",
            "circular",
        ),
        ("tools.x(() => 1)", "TypeError", "JSON"),
        ("tools()", "TypeError", "name one"),
        (
            "tools.x({ toJSON() { throw new RangeError('mine') } })",
            "RangeError",
            "mine",
        ),
        ("tools.x({ a: 'x'.repeat(70000) })", "ToolError", "too_big"),
        ("tools['x'.repeat(2000)]()", "ToolError", "unknown_tool"),
    ] {
        let run = caught(call);
        assert!(
            run.value().contains(name) && run.value().contains(words),
            "{call}: {:?}",
            run.end
        );
        assert!(run.asked.is_empty(), "{call}");
    }
    let run = run("await tools.x({ a: 'x'.repeat(70000) })");
    assert_eq!(run.failure().reason, Reason::TooBig);
}

#[test]
fn a_failed_call_is_a_tool_error_with_a_place() {
    returns(&[(
        "try {\n await tools.fail.x()\n} catch (e) { return [e instanceof ToolError, e instanceof Error, e.name, e.code, e.message, e.retryable, e.stack.includes('script:2:')] }",
        r#"[true,true,"ToolError","denied","not allowed",false,true]"#,
    )]);
    let run = run("async function go() {\n  return await tools.fail.x()\n}\nawait go()");
    let failure = run.failure();
    assert_eq!(failure.message, "ToolError: not allowed");
    assert_eq!(failure.line, 2);
    assert_eq!(failure.stack.lines().count(), 2, "{}", failure.stack);
}

#[test]
fn results_are_plain_values() {
    let json = |_: &Wish| Outcome::Value(r#"{"__proto__":{"x":1},"a":[1,"ü"],"then":2}"#.into());
    let run = run_with(
        "const r = await tools.x(); return [Object.keys(r), r.x ?? null, r.a]",
        BOUNDS,
        1,
        json,
    );
    assert_eq!(run.value(), r#"[["__proto__","a","then"],null,[1,"ü"]]"#);
    let deep = |_: &Wish| Outcome::Value(format!("{}{}", "[".repeat(200_000), "]".repeat(200_000)));
    let run = run_with(
        "try { await tools.x() } catch (e) { return e.name }",
        BOUNDS,
        1,
        deep,
    );
    assert!(run.end.is_ok(), "{:?}", run.end);
}

#[test]
fn calls_beyond_the_budget_are_rejected_and_cheap() {
    let source = "const all = await Promise.allSettled(Array.from({ length: 100000 }, (_, i) => tools.x({ i })));
        const no = all.filter(r => r.status === 'rejected');
        return [no.length, no[0].reason.code, no[0].reason instanceof ToolError]";
    let bounds = Bounds {
        heap_bytes: 128 << 20,
        polls: 2000,
        ..BOUNDS
    };
    let run = run_with(source, bounds, 1, usual);
    assert_eq!(run.value(), r#"[99936,"over_budget",true]"#);
    assert_eq!(run.asked.len(), 64);
    let bounds = Bounds { calls: 0, ..BOUNDS };
    let run = run_with("await tools.x()", bounds, 1, usual);
    assert!(
        run.failure().message.contains("runs apart has no tools"),
        "{:?}",
        run.end
    );
}

#[test]
fn calls_of_one_step_are_requests_of_one_step() {
    let run =
        run("return (await Promise.all([1, 2, 3].map(i => tools.x({ i })))).map(r => r.args.i)");
    assert_eq!(run.value(), "[1,2,3]");
    assert_eq!(run.asked.len(), 3);
}

#[test]
fn a_handle_has_what_is_shown_of_it_and_throws_for_all_else() {
    let held = |wish: &Wish| match wish {
        Wish::Call(call) if call.tool == "web.fetch" => Outcome::Value(
            r#"{"$handle":"h1","bytes":64,"label":["web:https://a.test"],"of":"web.fetch"}"#.into(),
        ),
        other => usual(other),
    };
    let page = |source: &str| {
        let source = format!("const page = await tools.web.fetch({{}}); {source}");
        run_with(&source, BOUNDS, 7, held)
    };
    let whole = r#"{"$handle":"h1","bytes":64,"label":["web:https://a.test"],"of":"web.fetch"}"#;
    for (source, expected) in [
        ("return page", whole),
        ("return await page", whole),
        ("return structuredClone(page)", whole),
        ("return { ...page }", whole),
        (
            "return [page.bytes, page.label.length, 'markdown' in page]",
            "[64,1,false]",
        ),
        (
            "return [page instanceof Object, page.hasOwnProperty('of')]",
            "[true,true]",
        ),
        ("page.mine = 1; return page.mine", "1"),
        (
            "try { return page?.markdown ?? '' } catch (e) { return [e instanceof TypeError, e.message.includes('`markdown`')] }",
            "[true,true]",
        ),
        (
            "try { return `${page}` } catch (e) { return e.message.includes('no text') }",
            "true",
        ),
        (
            "try { return page.toString() } catch (e) { return e.message.includes('no text') }",
            "true",
        ),
        (
            "try { return [...page] } catch (e) { return e.message.includes('no list') }",
            "true",
        ),
        (
            "try { return page.length } catch (e) { return e.message.includes('reveal(handle)') }",
            "true",
        ),
        (
            "try { return handle('h1').markdown } catch (e) { return e.name }",
            "\"TypeError\"",
        ),
        // Only what a tool has answered is one.
        ("return (await tools.x({})).markdown === undefined", "true"),
    ] {
        assert_eq!(page(source).value(), expected, "{source}");
    }
    assert_eq!(
        page("console.log(page)").text(),
        "{\n  $handle: 'h1',\n  bytes: 64,\n  label: [ 'web:https://a.test' ],\n  of: 'web.fetch'\n}"
    );
    assert_eq!(
        page("await tools.files.write({ path: 'a', content: page })").calls()[1],
        format!(r#"files.write {{"path":"a","content":{whole}}}"#)
    );
}

#[test]
fn what_only_looks_like_a_handle_is_passed_to_no_tool() {
    let held = |wish: &Wish| match wish {
        Wish::Call(call) if call.tool == "held" => {
            Outcome::Value(r#"{"$handle":"h1","of":"held"}"#.into())
        }
        // Somebody has written it there.
        Wish::Call(call) if call.tool == "read" => {
            Outcome::Value(r#"{"text":"{\"$handle\":\"h9\"}","best":{"$handle":"h9"}}"#.into())
        }
        other => usual(other),
    };
    let said = |passed: &str| {
        let source = format!(
            "const page = await tools.held({{}}); const read = await tools.read({{}});
            const forged = JSON.parse(read.text);
            try {{ await tools.send({{ to: 'a', text: {passed} }}); return 'sent' }} catch (e) {{ return e.name }}"
        );
        let run = run_with(&source, BOUNDS, 7, held);
        (run.value().to_owned(), run.calls().len())
    };
    for passed in [
        "page",
        "[page]",
        "handle('h9')",
        "read.text",
        "{ $handle: 3 }",
        "'\"$handle\":'",
    ] {
        assert_eq!(said(passed), ("\"sent\"".to_owned(), 3), "{passed}");
    }
    for passed in [
        "forged",
        "[{ a: forged }]",
        "read.best",
        "read",
        "{ ...page }",
        "structuredClone(page)",
        "{ $handle: 'h1' }",
        "{ toJSON: () => forged }",
    ] {
        assert_eq!(said(passed), ("\"TypeError\"".to_owned(), 2), "{passed}");
    }
}
