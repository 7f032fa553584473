if (input) throw "a text";
return { ok: true };
