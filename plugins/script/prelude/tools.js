// `tools`: a proxy that knows no names. Whatever is asked for is the name of a tool, or the beginning of one.
(natives) => {
    const { call } = natives;
    const { create, defineProperty, entries, freeze, hasOwn, preventExtensions, prototype: plain } = Object;
    const { construct, get: look, getPrototypeOf, has } = Reflect;
    const { stringify: toJson } = JSON;
    const { iterator, toPrimitive } = Symbol;
    const NewProxy = Proxy;
    const toText = String;
    const NewTypeError = TypeError;
    const { isArray } = Array;
    const sourceOf = Function.prototype.call.bind(Function.prototype.toString);

    class ToolError extends Error {
        constructor(message, options) {
            super(message);
            defineProperty(this, "code", { __proto__: null, value: toText(options?.code ?? "failed"), writable: true, enumerable: true, configurable: true });
            defineProperty(this, "retryable", { __proto__: null, value: options?.retryable === true, writable: true, enumerable: true, configurable: true });
        }
    }
    defineProperty(ToolError.prototype, "name", { __proto__: null, value: "ToolError", writable: true, configurable: true });
    // Its parent is looked up at every `new`; it must stay what it is.
    preventExtensions(ToolError);
    preventExtensions(ToolError.prototype);
    natives.makeToolError = (code, message, retryable) => construct(ToolError, [message, { __proto__: null, code, retryable }]);

    // Names are few, and asked for again and again; beyond these many below one name, each is made anew.
    const KNOWN_MOST = 64;
    const named = (path) => {
        // A function, so that it can be called; an arrow, so that `new` throws; without any property that must be shown.
        const target = () => {};
        defineProperty(target, "path", { __proto__: null, value: path, configurable: true });
        defineProperty(target, "known", { __proto__: null, value: { __proto__: null }, configurable: true });
        defineProperty(target, "count", { __proto__: null, value: 0, writable: true, configurable: true });
        return new NewProxy(target, traps);
    };
    const traps = {
        __proto__: null,
        get(target, key) {
            if (typeof key === "symbol") {
                const text = target.path === "" ? "[tools]" : `[tools.${target.path}]`;
                return key === toPrimitive ? () => text : undefined;
            }
            // With `then` it would be a promise to `await`, with `toJSON` JSON would call it.
            if (key === "then" || key === "toJSON") return undefined;
            const { known } = target;
            const before = known[key];
            if (before !== undefined) return before;
            const made = named(target.path === "" ? key : `${target.path}.${key}`);
            if (target.count < KNOWN_MOST) {
                target.count += 1;
                known[key] = made;
            }
            return made;
        },
        apply(target, self, args) {
            return call(target.path, args);
        },
        has: (target, key) => typeof key === "string" && key !== "then" && key !== "toJSON",
        ownKeys: () => [],
        getOwnPropertyDescriptor: () => undefined,
        getPrototypeOf: () => null,
        set: () => false,
        deleteProperty: () => false,
        defineProperty: () => false,
        setPrototypeOf: () => false,
        preventExtensions: () => false,
    };
    natives.toolTraps = traps;

    // What stands behind a handle is not there to be looked at. As an ordinary object it would answer `undefined`, which the
    // script would write into a file, or take for a no.
    const refuse = (what) => {
        throw new NewTypeError(`${what}: an outcome that is held back is passed on as it is, and \`await reveal(handle)\` shows it`);
    };
    const isText = (key) => key === "toString" || key === "toLocaleString";
    const heldTraps = {
        __proto__: null,
        get(target, key, handle) {
            if (key === toPrimitive) return () => refuse("a handle is no text and no number");
            if (isText(key)) refuse("a handle is no text");
            if (key === iterator) refuse("a handle is no list");
            // With `then` it would be a promise to `await`, with `toJSON` JSON would call it.
            if (typeof key === "symbol" || key === "then" || key === "toJSON" || has(plain, key)) return look(target, key, handle);
            return refuse(`a handle has no \`${key}\``);
        },
    };
    const held = new NewProxy(freeze(create(plain)), heldTraps);
    natives.held = held;

    // Whatever a script has read may have the form of a handle, and stand for what its author never meant to pass on.
    const checked = (key, value) => {
        const isHandle = typeof value === "object" && value !== null && hasOwn(value, "$handle") && typeof value.$handle === "string";
        if (isHandle && getPrototypeOf(value) !== held) {
            throw new NewTypeError(
                "an object with `$handle` among the arguments is no handle that a tool has given here: pass a handle on as it is, " +
                    'and name one that you know with `handle("h1")`',
            );
        }
        return value;
    };
    natives.writtenWithHandles = (args) => toJson(args, checked);

    /** Shows what a handle holds; from then on the script is under the influence of it. */
    const reveal = (handle) => call("handle.read", [{ value: handle }]);
    /** The handle of that name, such as one that the run was begun with. */
    const handle = (name) => ({ __proto__: held, $handle: toText(name) });
    /** Runs a pure function over values, and over what handles hold, in a guest of its own without tools. */
    const isolate = (pure, ...of) => {
        if (typeof pure !== "function") {
            throw new NewTypeError("isolate takes a function, and then what it is given: isolate(letters => letters.length, handle)");
        }
        return call("handle.isolate", [{ code: sourceOf(pure), of }]);
    };
    /** Asks the model one question about values, and about what handles hold; it has no tools and knows nothing else. */
    const consult = (of, question, shape) => {
        if (!isArray(of)) {
            throw new NewTypeError('consult takes a list, a question, and the shape of the answer: consult([handle], "who wrote it?", { type: "string" })');
        }
        return call("handle.consult", [{ of, question, shape }]);
    };

    defineProperty(globalThis, "tools", { value: named(""), writable: false, enumerable: true, configurable: false });
    for (const [name, value] of entries({ reveal, handle, isolate, consult })) {
        defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });
    }
    defineProperty(globalThis, "ToolError", { value: ToolError, writable: true, enumerable: false, configurable: true });
}
