// `structuredClone`: values and their cycles, no functions, no symbols, no prototypes.
(natives) => {
    const { classOf, isProxy, inspect, classes, look } = natives;
    const uncurry = (method) => Function.prototype.call.bind(method);
    const { getOwnPropertyDescriptor, getPrototypeOf, ownKeys, defineProperty } = Reflect;
    const isArray = Array.isArray;
    const push = uncurry(Array.prototype.push);
    const mapEach = uncurry(Map.prototype.forEach);
    const mapGet = uncurry(Map.prototype.get);
    const mapHas = uncurry(Map.prototype.has);
    const mapPut = uncurry(Map.prototype.set);
    const setEach = uncurry(Set.prototype.forEach);
    const setPut = uncurry(Set.prototype.add);
    const dateTime = uncurry(Date.prototype.getTime);
    const regexSource = uncurry(getOwnPropertyDescriptor(RegExp.prototype, "source").get);
    const regexFlags = uncurry(getOwnPropertyDescriptor(RegExp.prototype, "flags").get);
    const bufferSlice = uncurry(ArrayBuffer.prototype.slice);
    const typed = getPrototypeOf(Uint8Array.prototype);
    const typedName = uncurry(getOwnPropertyDescriptor(typed, Symbol.toStringTag).get);
    const typedBuffer = uncurry(getOwnPropertyDescriptor(typed, "buffer").get);
    const typedOffset = uncurry(getOwnPropertyDescriptor(typed, "byteOffset").get);
    const typedLength = uncurry(getOwnPropertyDescriptor(typed, "length").get);
    const viewBuffer = uncurry(getOwnPropertyDescriptor(DataView.prototype, "buffer").get);
    const viewOffset = uncurry(getOwnPropertyDescriptor(DataView.prototype, "byteOffset").get);
    const viewLength = uncurry(getOwnPropertyDescriptor(DataView.prototype, "byteLength").get);
    const viewClass = classOf(new DataView(new ArrayBuffer(1)));
    const plainClasses = [classOf({}), classOf((function () { return arguments; })())];
    const NewMap = Map;
    const NewSet = Set;
    const NewDate = Date;
    const NewRegExp = RegExp;
    const NewView = DataView;
    const NewException = DOMException;
    const toObject = Object;
    const numberOf = uncurry(Number.prototype.valueOf);
    const stringOf = uncurry(String.prototype.valueOf);
    const booleanOf = uncurry(Boolean.prototype.valueOf);
    const bigintOf = uncurry(BigInt.prototype.valueOf);
    const errors = { __proto__: null, Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
    const arrays = {
        __proto__: null, Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
        BigInt64Array, BigUint64Array, Float32Array, Float64Array,
    };
    if (typeof Float16Array === "function") arrays.Float16Array = Float16Array;

    const refuse = (value) => {
        throw new NewException(`${inspect(value, 0)} could not be cloned.`, "DataCloneError");
    };
    const put = (to, key, value) =>
        defineProperty(to, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });

    const errorClone = (value) => {
        const name = look(value, "name");
        const message = look(value, "message");
        const Kind = errors[name] ?? errors.Error;
        const copy = message === undefined ? new Kind() : new Kind(message);
        const stack = natives.stackOf(value);
        if (typeof stack === "string") defineProperty(copy, "stack", { __proto__: null, value: stack, writable: true, configurable: true });
        return copy;
    };
    /** The copy before it has contents, or `undefined` where properties are to be copied too. */
    const shell = (value, known) => {
        switch (classOf(value)) {
            case classes.date: return new NewDate(dateTime(value));
            case classes.regex: return new NewRegExp(regexSource(value), regexFlags(value));
            case classes.buffer: return bufferSlice(value, 0);
            case classes.number: return toObject(numberOf(value));
            case classes.string: return toObject(stringOf(value));
            case classes.boolean: return toObject(booleanOf(value));
            case classes.bigint: return toObject(bigintOf(value));
            case classes.error: return errorClone(value);
            case viewClass: return new NewView(copied(viewBuffer(value), known), viewOffset(value), viewLength(value));
        }
        const name = typedName(value);
        if (name !== undefined) return new arrays[name](copied(typedBuffer(value), known), typedOffset(value), typedLength(value));
        return undefined;
    };
    const copied = (value, known) => {
        if (typeof value === "symbol" || typeof value === "function") refuse(value);
        if (typeof value !== "object" || value === null) return value;
        if (mapHas(known, value)) return mapGet(known, value);
        if (isProxy(value)) refuse(value);
        let copy = shell(value, known);
        if (copy !== undefined) {
            mapPut(known, value, copy);
            return copy;
        }
        const kind = classOf(value);
        if (kind === classes.map) {
            mapPut(known, value, (copy = new NewMap()));
            const items = [];
            mapEach(value, (item, key) => push(items, key, item));
            for (let i = 0; i < items.length; i += 2) mapPut(copy, copied(items[i], known), copied(items[i + 1], known));
            return copy;
        }
        if (kind === classes.set) {
            mapPut(known, value, (copy = new NewSet()));
            const items = [];
            setEach(value, (item) => push(items, item));
            for (let i = 0; i < items.length; i++) setPut(copy, copied(items[i], known));
            return copy;
        }
        if (!isArray(value) && kind !== plainClasses[0] && kind !== plainClasses[1]) refuse(value);
        mapPut(known, value, (copy = isArray(value) ? [] : {}));
        if (isArray(value)) copy.length = value.length;
        const keys = ownKeys(value);
        for (let i = 0; i < keys.length; i++) {
            if (typeof keys[i] === "symbol" || !getOwnPropertyDescriptor(value, keys[i])?.enumerable) continue;
            put(copy, keys[i], copied(value[keys[i]], known));
        }
        return copy;
    };
    const structuredClone = (...args) => {
        if (args.length === 0) throw new errors.TypeError("structuredClone takes a value");
        return copied(args[0], new NewMap());
    };
    Object.defineProperty(structuredClone, "name", { value: "structuredClone" });
    Object.defineProperty(globalThis, "structuredClone", { value: structuredClone, writable: true, enumerable: true, configurable: true });
}
