// How values look in the console and in failures: as in Node, bounded, and without asking the value. Getters are not
// called, traps of proxies not reached; what a class is, the interpreter says.
(natives) => {
    const { classOf, isProxy, promiseState, toolName, bufferBytes } = natives;
    const DEPTH_MAX = 3;
    const ITEMS_MAX = 100;
    const STRING_MAX = 10000;
    const TEXT_MAX = 65536;
    const WIDTH = 72;

    const uncurry = (method) => Function.prototype.call.bind(method);
    const { getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
    const { is } = Object;
    const isArray = Array.isArray;
    const join = uncurry(Array.prototype.join);
    const push = uncurry(Array.prototype.push);
    const slice = uncurry(String.prototype.slice);
    const split = uncurry(String.prototype.split);
    const includes = uncurry(String.prototype.includes);
    const startsWith = uncurry(String.prototype.startsWith);
    const replace = uncurry(String.prototype.replace);
    const trimEnd = uncurry(String.prototype.trimEnd);
    const test = uncurry(RegExp.prototype.test);
    const mapEach = uncurry(Map.prototype.forEach);
    const setEach = uncurry(Set.prototype.forEach);
    const mapSize = uncurry(getOwnPropertyDescriptor(Map.prototype, "size").get);
    const setSize = uncurry(getOwnPropertyDescriptor(Set.prototype, "size").get);
    const isoDate = uncurry(Date.prototype.toISOString);
    const dateTime = uncurry(Date.prototype.getTime);
    const regexText = uncurry(RegExp.prototype.toString);
    const functionText = uncurry(Function.prototype.toString);
    const symbolText = uncurry(Symbol.prototype.toString);
    const typedLength = uncurry(getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), "length").get);
    const typedName = uncurry(getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get);
    const boxed = [
        ["Number", uncurry(Number.prototype.valueOf)],
        ["String", uncurry(String.prototype.valueOf)],
        ["Boolean", uncurry(Boolean.prototype.valueOf)],
        ["Symbol", uncurry(Symbol.prototype.valueOf)],
        ["BigInt", uncurry(BigInt.prototype.valueOf)],
    ];
    const toText = String;
    const json = JSON.stringify;
    const NoDate = Number.isNaN;
    const identifier = /^[A-Za-z_$][\w$]*$/;
    const index = /^(?:0|[1-9]\d*)$/;

    const classes = {
        __proto__: null,
        map: classOf(new Map()),
        set: classOf(new Set()),
        weakMap: classOf(new WeakMap()),
        weakSet: classOf(new WeakSet()),
        date: classOf(new Date(0)),
        regex: classOf(/x/),
        error: classOf(new Error("x")),
        promise: classOf(new Promise(() => {})),
        buffer: classOf(new ArrayBuffer(0)),
        number: classOf(Object(1)),
        string: classOf(Object("x")),
        boolean: classOf(Object(true)),
        symbol: classOf(Object(Symbol("x"))),
        bigint: classOf(Object(1n)),
    };
    natives.classes = classes;
    const boxes = [classes.number, classes.string, classes.boolean, classes.symbol, classes.bigint];

    /** The value of a data property, on the object or its prototypes; of an accessor, nothing. */
    const look = (object, key) => {
        for (let at = object, steps = 0; at !== null && steps < 64 && !isProxy(at); at = getPrototypeOf(at), steps++) {
            const property = getOwnPropertyDescriptor(at, key);
            if (property) return property.value;
        }
        return undefined;
    };
    natives.look = look;
    const className = (object) => {
        if (!isProxy(object) && getPrototypeOf(object) === null) return null;
        const made = look(object, "constructor");
        const name = typeof made === "function" && !isProxy(made) ? look(made, "name") : undefined;
        return typeof name === "string" && name !== "" ? slice(name, 0, 100) : "Object";
    };

    // The stack is an accessor of the interpreter's own, unless somebody has put a text there.
    const ownStack = uncurry(getOwnPropertyDescriptor(Error.prototype, "stack").get);
    natives.stackOf = (error) => {
        const own = getOwnPropertyDescriptor(error, "stack");
        const stack = own ? own.value : ownStack(error);
        return typeof stack === "string" ? stack : "";
    };

    const quoted = (string) => {
        let text = string.length > STRING_MAX ? slice(string, 0, STRING_MAX) : string;
        const mark = !includes(text, "'") ? "'" : !includes(text, '"') ? '"' : includes(text, "`") ? "'" : "`";
        text = slice(json(text), 1, -1);
        text = replace(text, /\\"/g, '"');
        text = mark + (mark === "'" ? replace(text, /'/g, "\\'") : mark === '"' ? replace(text, /"/g, '\\"') : text) + mark;
        return string.length > STRING_MAX ? `${text}... ${string.length - STRING_MAX} more characters` : text;
    };
    const keyText = (key) =>
        typeof key === "symbol" ? `[${symbolText(key)}]` : test(identifier, key) ? key : quoted(key);

    const primitive = (value) => {
        switch (typeof value) {
            case "string": return quoted(value);
            case "number": return is(value, -0) ? "-0" : toText(value);
            case "bigint": return `${toText(value)}n`;
            case "symbol": return symbolText(value);
            default: return toText(value);
        }
    };

    const functionLook = (value) => {
        const name = look(value, "name");
        const named = typeof name === "string" && name !== "" ? slice(name, 0, 100) : "";
        if (startsWith(functionText(value), "class")) return `[class ${named || "(anonymous)"}]`;
        return named ? `[Function: ${named}]` : "[Function (anonymous)]";
    };
    const errorLook = (value) => {
        const name = look(value, "name");
        const message = look(value, "message");
        const stack = natives.stackOf(value);
        let text = typeof name === "string" ? slice(name, 0, 200) : "Error";
        if (typeof message === "string" && message !== "") text += `: ${slice(message, 0, STRING_MAX)}`;
        if (typeof stack !== "string") return text;
        const frames = split(slice(stack, 0, STRING_MAX), "\n");
        for (let i = 0; i < frames.length; i++) {
            if (includes(frames[i], "(script:")) text += `\n${trimEnd(frames[i])}`;
        }
        return text;
    };

    /** Puts parts on one line, or, where they are long, on one each. */
    const laid = (prefix, open, parts, close, indent) => {
        const head = prefix === "" ? open : `${prefix} ${open}`;
        if (parts.length === 0) return head + close;
        let width = head.length + close.length + indent;
        let broken = false;
        for (let i = 0; i < parts.length; i++) {
            width += parts[i].length + 2;
            broken ||= includes(parts[i], "\n");
        }
        if (!broken && width <= WIDTH) return `${head} ${join(parts, ", ")} ${close}`;
        let pad = "\n";
        for (let i = 0; i < indent + 2; i++) pad += " ";
        return `${head}${pad}${join(parts, `,${pad}`)}${slice(pad, 0, -2)}${close}`;
    };

    class Looking {
        constructor(depth) {
            this.depth = depth;
            this.seen = [];
            this.left = TEXT_MAX;
            this.circular = null;
        }
        spent(text) {
            this.left -= text.length;
            return text;
        }
        at(value, level) {
            if (value === null || (typeof value !== "object" && typeof value !== "function")) return this.spent(primitive(value));
            if (isProxy(value)) {
                const tool = toolName(value);
                return tool === undefined || tool === null ? "[Proxy]" : tool === "" ? "[tools]" : `[tools.${tool}]`;
            }
            for (let i = 0; i < this.seen.length; i++) {
                if (this.seen[i] === value) {
                    this.circular = value;
                    return "[Circular *1]";
                }
            }
            if (this.left <= 0) return "…";
            push(this.seen, value);
            let text = this.object(value, level);
            this.seen.length--;
            if (this.circular === value) {
                this.circular = null;
                text = `<ref *1> ${text}`;
            }
            return text;
        }
        object(value, level) {
            const name = className(value);
            const kind = classOf(value);
            if (typeof value === "function") return this.plain(value, level, this.spent(functionLook(value)), false);
            if (kind === classes.error) return this.plain(value, level, this.spent(errorLook(value)), false);
            if (kind === classes.date) return this.plain(value, level, NoDate(dateTime(value)) ? "Invalid Date" : isoDate(value), false);
            if (kind === classes.regex) return this.plain(value, level, this.spent(regexText(value)), false);
            for (let i = 0; i < boxes.length; i++) {
                if (kind === boxes[i]) return `[${boxed[i][0]}: ${this.spent(primitive(boxed[i][1](value)))}]`;
            }
            if (kind === classes.weakMap || kind === classes.weakSet) return `${name} { <items unknown> }`;
            if (kind === classes.promise) return `${name} { <${["pending", "fulfilled", "rejected"][promiseState(value)[0]]}> }`;
            if (level > this.depth) return isArray(value) ? "[Array]" : `[${name ?? "Object: null prototype"}]`;
            if (isArray(value)) return this.list(value, level, value.length, name === "Array" ? "" : `${name}(${value.length})`);
            if (kind === classes.map) return this.map(value, level, name);
            if (kind === classes.set) return this.set(value, level, name);
            if (kind === classes.buffer) return `${name} { byteLength: ${bufferBytes(value)} }`;
            if (typedName(value) !== undefined) return this.list(value, level, typedLength(value), `${name}(${typedLength(value)})`);
            return this.plain(value, level, name === "Object" ? "" : (name ?? "[Object: null prototype]"), true);
        }
        property(object, key, level) {
            const property = getOwnPropertyDescriptor(object, key);
            if (!property) return undefined;
            if (property.get) return property.set ? "[Getter/Setter]" : "[Getter]";
            if (property.set) return "[Setter]";
            return this.at(property.value, level + 1);
        }
        /** The enumerable properties, without those that `list` shows. */
        properties(value, level, parts, isList) {
            const keys = ownKeys(value);
            let more = 0;
            for (let i = 0; i < keys.length; i++) {
                const key = keys[i];
                if (isList && typeof key === "string" && test(index, key)) continue;
                const property = getOwnPropertyDescriptor(value, key);
                if (!property?.enumerable) continue;
                if (parts.length >= ITEMS_MAX + 1 || this.left <= 0) {
                    more++;
                    continue;
                }
                push(parts, `${this.spent(keyText(key))}: ${this.property(value, key, level)}`);
            }
            if (more > 0) push(parts, `... ${more} more`);
        }
        plain(value, level, name, hasBraces) {
            const parts = [];
            if (level <= this.depth) this.properties(value, level, parts, false);
            if (parts.length === 0 && !hasBraces) return name;
            return laid(name, "{", parts, "}", level * 2);
        }
        list(value, level, length, name) {
            const parts = [];
            let holes = 0;
            let i = 0;
            const gap = () => {
                if (holes > 0) push(parts, holes === 1 ? "<1 empty item>" : `<${holes} empty items>`);
                holes = 0;
            };
            for (; i < length && parts.length < ITEMS_MAX && holes < 10000 && this.left > 0; i++) {
                const text = this.property(value, i, level);
                if (text === undefined) {
                    holes++;
                } else {
                    gap();
                    push(parts, text);
                }
            }
            gap();
            if (i < length) push(parts, `... ${length - i} more items`);
            if (isArray(value) && length <= ITEMS_MAX) this.properties(value, level, parts, true);
            return laid(name, "[", parts, "]", level * 2);
        }
        map(value, level, name) {
            const parts = [];
            let more = 0;
            mapEach(value, (item, key) => {
                if (parts.length >= ITEMS_MAX || this.left <= 0) more++;
                else push(parts, `${this.at(key, level + 1)} => ${this.at(item, level + 1)}`);
            });
            if (more > 0) push(parts, `... ${more} more items`);
            this.properties(value, level, parts, false);
            return laid(`${name}(${mapSize(value)})`, "{", parts, "}", level * 2);
        }
        set(value, level, name) {
            const parts = [];
            let more = 0;
            setEach(value, (item) => {
                if (parts.length >= ITEMS_MAX || this.left <= 0) more++;
                else push(parts, this.at(item, level + 1));
            });
            if (more > 0) push(parts, `... ${more} more items`);
            this.properties(value, level, parts, false);
            return laid(`${name}(${setSize(value)})`, "{", parts, "}", level * 2);
        }
    }

    natives.inspect = (value, depth) => new Looking(depth ?? DEPTH_MAX).at(value, 0);
}
