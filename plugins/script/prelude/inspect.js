(natives) => { natives.inspect = (value) => String(value); }
