// `console`: formats as Node does, and hands lines to the log of the step.
(natives) => {
    const { log, inspect, elapsed } = natives;
    const [DEBUG, INFO, WARN, ERROR] = [0, 1, 2, 3];
    const uncurry = (method) => Function.prototype.call.bind(method);
    const join = uncurry(Array.prototype.join);
    const push = uncurry(Array.prototype.push);
    const indexOf = uncurry(String.prototype.indexOf);
    const slice = uncurry(String.prototype.slice);
    const split = uncurry(String.prototype.split);
    const repeat = uncurry(String.prototype.repeat);
    const padEnd = uncurry(String.prototype.padEnd);
    const { ownKeys, getOwnPropertyDescriptor } = Reflect;
    const { isArray } = Array;
    const toText = String;
    const toNumber = Number;
    const toInteger = parseInt;
    const toFloat = parseFloat;
    const traced = Error.captureStackTrace;
    const GROUPS_MAX = 20;
    const ROWS_MAX = 100;
    let groups = 0;
    const since = new Map();
    const counts = new Map();
    const read = uncurry(Map.prototype.get);
    const write = uncurry(Map.prototype.set);
    const forget = uncurry(Map.prototype.delete);

    const shown = (value) => (typeof value === "string" ? value : inspect(value));
    const placed = (mark, value) => {
        switch (mark) {
            case "s": return typeof value === "string" ? value : typeof value === "object" || typeof value === "function" ? inspect(value, 0) : inspect(value);
            case "d": return typeof value === "bigint" ? `${value}n` : typeof value === "object" || typeof value === "symbol" ? "NaN" : toText(toNumber(value));
            case "i": return typeof value === "object" || typeof value === "symbol" ? "NaN" : toText(toInteger(value));
            case "f": return typeof value === "symbol" ? "NaN" : typeof value === "object" ? "NaN" : toText(toFloat(value));
            case "j": return shown(value);
            case "o":
            case "O": return inspect(value);
            default: return "";
        }
    };
    /** Fills the places of the first argument, and adds what is left. */
    const format = (args) => {
        const parts = [];
        let next = 0;
        if (typeof args[0] === "string") {
            let text = "";
            let from = 0;
            next = 1;
            for (let at = indexOf(args[0], "%"); at >= 0 && at < args[0].length - 1; at = indexOf(args[0], "%", from)) {
                const mark = args[0][at + 1];
                text += slice(args[0], from, at);
                from = at + 2;
                if (mark === "%" && args.length > 1) text += "%";
                else if (next < args.length && indexOf("sdifjoOc", mark) >= 0) text += placed(mark, args[next++]);
                else text += `%${mark}`;
            }
            push(parts, text + slice(args[0], from));
        }
        for (; next < args.length; next++) push(parts, shown(args[next]));
        return join(parts, " ");
    };
    const writeLine = (level, text) => {
        const pad = repeat("  ", groups);
        log(level, groups === 0 ? text : pad + join(split(text, "\n"), `\n${pad}`));
    };
    const at = (level) => (...args) => writeLine(level, format(args));
    const label = (name) => (name === undefined ? "default" : toText(name));

    const cells = (row) => {
        const found = { __proto__: null };
        if (typeof row !== "object" || row === null || natives.isProxy(row)) {
            found.Values = inspect(row, 0);
            return found;
        }
        const keys = ownKeys(row);
        for (let i = 0; i < keys.length && i < ROWS_MAX; i++) {
            const property = getOwnPropertyDescriptor(row, keys[i]);
            if (property?.enumerable && typeof keys[i] === "string") found[keys[i]] = property.get ? "[Getter]" : inspect(property.value, 0);
        }
        return found;
    };
    /** Rows and columns, as text. */
    const table = (value) => {
        if (typeof value !== "object" || value === null || natives.isProxy(value)) return shown(value);
        const columns = ["(index)"];
        const rows = [];
        const keys = ownKeys(value);
        for (let i = 0; i < keys.length && rows.length < ROWS_MAX; i++) {
            const property = getOwnPropertyDescriptor(value, keys[i]);
            if (!property?.enumerable || typeof keys[i] === "symbol") continue;
            const row = cells(property.value);
            row["(index)"] = keys[i];
            for (const name in row) {
                let known = false;
                for (let c = 0; c < columns.length; c++) known ||= columns[c] === name;
                if (!known) push(columns, name);
            }
            push(rows, row);
        }
        const lines = [""];
        for (let r = 0; r < rows.length; r++) push(lines, "");
        for (let c = 0; c < columns.length; c++) {
            let width = columns[c].length;
            for (let r = 0; r < rows.length; r++) width = (rows[r][columns[c]] ?? "").length > width ? rows[r][columns[c]].length : width;
            lines[0] += `${c ? " │ " : ""}${padEnd(columns[c], width)}`;
            for (let r = 0; r < rows.length; r++) lines[r + 1] += `${c ? " │ " : ""}${padEnd(rows[r][columns[c]] ?? "", width)}`;
        }
        return join(lines, "\n");
    };
    const ownFrames = () => {
        const here = {};
        traced(here);
        let text = "";
        const frames = split(natives.stackOf(here), "\n");
        for (let i = 0; i < frames.length; i++) if (indexOf(frames[i], "(script:") >= 0) text += `\n${frames[i]}`;
        return text;
    };
    const timed = (name) => {
        const begun = read(since, label(name));
        return begun === undefined ? `No such label '${label(name)}'` : `${label(name)}: ${elapsed() - begun}ms`;
    };

    const console = {
        log: at(INFO),
        info: at(INFO),
        debug: at(DEBUG),
        warn: at(WARN),
        error: at(ERROR),
        trace: (...args) => writeLine(ERROR, `Trace: ${format(args)}${ownFrames()}`),
        dir: (value, options) => writeLine(INFO, inspect(value, typeof options?.depth === "number" ? options.depth : undefined)),
        dirxml: at(INFO),
        table: (value) => writeLine(INFO, table(value)),
        assert: (holds, ...args) => {
            if (!holds) writeLine(ERROR, args.length > 0 ? `Assertion failed: ${format(args)}` : "Assertion failed");
        },
        count: (name) => {
            const count = (read(counts, label(name)) ?? 0) + 1;
            write(counts, label(name), count);
            writeLine(INFO, `${label(name)}: ${count}`);
        },
        countReset: (name) => { forget(counts, label(name)); },
        group: (...args) => {
            if (args.length > 0) writeLine(INFO, format(args));
            if (groups < GROUPS_MAX) groups++;
        },
        groupEnd: () => {
            if (groups > 0) groups--;
        },
        time: (name) => { write(since, label(name), elapsed()); },
        timeLog: (name, ...args) => writeLine(INFO, args.length > 0 ? `${timed(name)} ${format(args)}` : timed(name)),
        timeEnd: (name) => {
            writeLine(INFO, timed(name));
            forget(since, label(name));
        },
    };
    console.groupCollapsed = console.group;
    Object.defineProperty(globalThis, "console", { value: console, writable: true, enumerable: false, configurable: true });
}
