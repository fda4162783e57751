(natives) => {}
