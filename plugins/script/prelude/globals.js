// Timers, chance, clock and bytes, under the names that they have in Node; and what is not to be found.
(natives) => {
    const { setTimer, clearTimer, random, elapsed, started, encode, decode } = natives;
    const NewTypeError = TypeError;
    const NewRangeError = RangeError;
    const NewBytes = Uint8Array;
    const toNumber = Number;
    const isView = ArrayBuffer.isView;
    const { defineProperty } = Object;
    const { toLowerCase, trim } = String.prototype;
    const { apply, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
    const bytesPrototype = getPrototypeOf(Uint8Array.prototype);
    const bufferOf = getOwnPropertyDescriptor(bytesPrototype, "buffer").get;
    const offsetOf = getOwnPropertyDescriptor(bytesPrototype, "byteOffset").get;
    const lengthOf = getOwnPropertyDescriptor(bytesPrototype, "byteLength").get;
    const viewOf = ["buffer", "byteOffset", "byteLength"].map((name) => getOwnPropertyDescriptor(DataView.prototype, name).get);
    const typedName = getOwnPropertyDescriptor(bytesPrototype, Symbol.toStringTag).get;
    const putBytes = bytesPrototype.set;

    const timer = (name, repeats) => (callback, pause, ...args) => {
        if (typeof callback !== "function") throw new NewTypeError(`${name} takes a function`);
        return setTimer(callback, toNumber(pause ?? 0), args, repeats);
    };
    const clear = (id) => {
        if (typeof id === "number" || typeof id === "string") clearTimer(toNumber(id));
    };

    /** The bytes of a buffer or of any view of one. */
    const bytesOf = (input) => {
        if (input === undefined) return new NewBytes(0);
        if (!isView(input)) return new NewBytes(input);
        const parts = apply(typedName, input, []) === undefined ? viewOf : [bufferOf, offsetOf, lengthOf];
        return new NewBytes(apply(parts[0], input, []), apply(parts[1], input, []), apply(parts[2], input, []));
    };
    class TextEncoder {
        get encoding() {
            return "utf-8";
        }
        encode(input) {
            return encode(input === undefined ? "" : `${input}`);
        }
        encodeInto(input, into) {
            let read = 0;
            let written = 0;
            for (const character of `${input}`) {
                const bytes = encode(character);
                if (written + bytes.length > into.length) break;
                apply(putBytes, into, [bytes, written]);
                read += character.length;
                written += bytes.length;
            }
            return { read, written };
        }
    }
    class TextDecoder {
        #fatal;
        #keepsMark;
        #left = null;
        #begun = false;
        constructor(encoding, options) {
            const name = apply(toLowerCase, apply(trim, `${encoding ?? "utf-8"}`, []), []);
            if (name !== "utf-8" && name !== "utf8" && name !== "unicode-1-1-utf-8") throw new NewRangeError(`The "${name}" encoding is not supported`);
            this.#fatal = Boolean(options?.fatal);
            this.#keepsMark = Boolean(options?.ignoreBOM);
        }
        get encoding() { return "utf-8"; }
        get fatal() { return this.#fatal; }
        get ignoreBOM() { return this.#keepsMark; }
        decode(input, options) {
            const streams = Boolean(options?.stream);
            let bytes = bytesOf(input);
            if (this.#left !== null) {
                const whole = new NewBytes(this.#left.length + bytes.length);
                apply(putBytes, whole, [this.#left, 0]);
                apply(putBytes, whole, [bytes, this.#left.length]);
                bytes = whole;
            }
            const pair = decode(bytes, this.#fatal, this.#keepsMark || this.#begun, streams);
            this.#left = pair[1] > 0 ? new NewBytes(bytes.subarray(bytes.length - pair[1])) : null;
            this.#begun = streams && (this.#begun || pair[0] !== "" );
            return pair[0];
        }
    }

    const performance = {
        now: () => elapsed(),
        get timeOrigin() { return started(); },
    };
    const given = {
        setTimeout: timer("setTimeout", false),
        setInterval: timer("setInterval", true),
        setImmediate: (callback, ...args) => given.setTimeout(callback, 0, ...args),
        clearTimeout: clear,
        clearInterval: clear,
        clearImmediate: clear,
        TextEncoder,
        TextDecoder,
        performance,
    };
    for (const name of Object.keys(given)) {
        defineProperty(globalThis, name, { value: given[name], writable: true, enumerable: false, configurable: true });
    }
    const mathRandom = () => random();
    defineProperty(mathRandom, "name", { value: "random" });
    defineProperty(Math, "random", { value: mathRandom, writable: true, enumerable: false, configurable: true });

    // The interpreter asks these whenever it writes a stack; what is read of a failure must stay its own.
    Error.stackTraceLimit = 20;
    delete Error.prepareStackTrace;
    delete Error.stackTraceLimit;
    // No other thread is there to share with or to wait for, and no shell.
    for (const name of ["gc", "Atomics", "SharedArrayBuffer", "navigator", "scriptArgs", "print"]) delete globalThis[name];
}
