//! What a script finds, and what it does not.

use crate::rig::returns;

#[test]
fn nothing_is_there_that_reaches_anything() {
    returns(&[
        (
            "return ['fetch', 'require', 'process', 'Worker', 'WebAssembly', 'std', 'os', 'module', 'gc', 'print', 'Atomics', 'navigator', 'Deno'].filter(n => n in globalThis)",
            "[]",
        ),
        (
            "try { await import('fs') } catch (e) { return e instanceof Error }",
            "true",
        ),
    ]);
}

#[test]
fn structured_clones() {
    returns(&[
        (
            "const a = { m: new Map([[{ k: 1 }, new Set([1])]]), d: new Date(5), r: /x/gi, b: new Uint8Array([1, 2]), n: null, u: undefined }; a.self = a; const c = structuredClone(a); return [c !== a, c.self === c, [...c.m.keys()][0].k, c.d.getTime(), c.r.flags, [...c.b], 'u' in c]",
            r#"[true,true,1,5,"gi",[1,2],true]"#,
        ),
        (
            "const e = structuredClone(new RangeError('x')); return [e instanceof RangeError, e.message]",
            r#"[true,"x"]"#,
        ),
        (
            "const b = new ArrayBuffer(4); const c = structuredClone({ x: new Uint8Array(b), y: new Uint16Array(b) }); c.x[0] = 7; return [c.y[0], new Uint8Array(b)[0]]",
            "[7,0]",
        ),
        (
            "return [() => 1, Symbol('x'), { f() {} }, new Proxy({}, {}), new WeakMap(), Promise.resolve()].map(x => { try { structuredClone(x); return 0 } catch (e) { return e.name } })",
            r#"["DataCloneError","DataCloneError","DataCloneError","DataCloneError","DataCloneError","DataCloneError"]"#,
        ),
        (
            "class A { x = 1 } const c = structuredClone(new A()); return [c.x, c instanceof A]",
            "[1,false]",
        ),
        (
            "return Object.getOwnPropertyNames(structuredClone(JSON.parse('{\"__proto__\": 1}')))",
            r#"["__proto__"]"#,
        ),
        ("return structuredClone([1, , 3]).length", "3"),
    ]);
}

#[test]
fn texts_and_bytes() {
    returns(&[
        (
            "return [...new TextEncoder().encode('ä€')]",
            "[195,164,226,130,172]",
        ),
        (
            "return [...new TextEncoder().encode('\\ud800')]",
            "[239,191,189]",
        ),
        (
            "return new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 65, 0xff]))",
            "\"A\u{fffd}\"",
        ),
        (
            "return new TextDecoder('utf-8', { ignoreBOM: true }).decode(new Uint8Array([0xef, 0xbb, 0xbf])).length",
            "1",
        ),
        (
            "try { new TextDecoder('utf8', { fatal: true }).decode(new Uint8Array([0xff])) } catch (e) { return e.name }",
            "\"TypeError\"",
        ),
        (
            "const d = new TextDecoder(); return d.decode(new Uint8Array([0xe2, 0x82]), { stream: true }) + d.decode(new Uint8Array([0xac]))",
            "\"€\"",
        ),
        (
            "return new TextDecoder().decode(new Uint16Array([0x4241]).buffer) + new TextDecoder().decode(new DataView(new ArrayBuffer(1)))",
            "\"AB\\u0000\"",
        ),
        (
            "try { new TextDecoder('latin1') } catch (e) { return e.name }",
            "\"RangeError\"",
        ),
        (
            "const into = new Uint8Array(4); return [new TextEncoder().encodeInto('a€b', into), [...into]]",
            "[{\"read\":2,\"written\":4},[97,226,130,172]]",
        ),
        ("return btoa('héllo') + atob('aGk=')", "\"aOlsbG8=hi\""),
        (
            "try { btoa('€') } catch (e) { return e.name }",
            "\"InvalidCharacterError\"",
        ),
        (
            "try { atob('a') } catch (e) { return e.name }",
            "\"InvalidCharacterError\"",
        ),
    ]);
}

#[test]
fn urls() {
    returns(&[
        (
            "const u = new URL('../b?x=1#h', 'https://me:pw@example.com:8080/a/c/d'); return [u.href, u.origin, u.host, u.port, u.pathname, u.search, u.hash, u.username]",
            r##"["https://me:pw@example.com:8080/a/b?x=1#h","https://example.com:8080","example.com:8080","8080","/a/b","?x=1","#h","me"]"##,
        ),
        (
            "const u = new URL('http://x.y'); u.searchParams.append('a b', '&'); u.pathname = '/p q'; u.port = '99'; return u.href",
            "\"http://x.y:99/p%20q?a+b=%26\"",
        ),
        (
            "const u = new URL('http://x.y?a=1'); const p = u.searchParams; u.search = '?b=2'; return [p.get('b'), p.has('a'), JSON.stringify(u)]",
            r#"["2",false,"\"http://x.y/?b=2\""]"#,
        ),
        (
            "try { new URL('nope') } catch (e) { return e.name }",
            "\"TypeError\"",
        ),
        (
            "return [URL.canParse('x:y'), URL.parse('nope')]",
            "[true,null]",
        ),
        (
            "return new URL('http://bücher.de/ä').href",
            "\"http://xn--bcher-kva.de/%C3%A4\"",
        ),
        (
            "const p = new URLSearchParams({ b: 2, a: 'x' }); p.append('b', '3'); p.sort(); return [p.toString(), p.getAll('b'), [...p.keys()], p.size]",
            r#"["a=x&b=2&b=3",["2","3"],["a","b","b"],3]"#,
        ),
        (
            "return [new URLSearchParams('?a=1&a=2').toString(), new URLSearchParams([['x', 'y']]).get('x'), new URLSearchParams(new URLSearchParams('q=1')).get('q')]",
            r#"["a=1&a=2","y","1"]"#,
        ),
        (
            "const p = new URLSearchParams('a=1&b=2&a=3'); p.delete('a'); p.set('b', 5); p.set('c', 6); return p.toString()",
            "\"b=5&c=6\"",
        ),
    ]);
}
