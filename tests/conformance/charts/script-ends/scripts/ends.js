const cycle = {};
cycle.self = cycle;
switch (input.by) {
  case "nothing": return;
  case "numbers": return [NaN, Infinity, -0, 1e21, undefined, () => 1];
  case "cycle": return cycle;
  case "bigint": return 1n;
  case "promise": return Promise.resolve(1);
  case "http": return require("http").get("http://127.0.0.1/");
  case "caught": try { require("fs"); } catch (error) { return "caught"; }
  case "loop": for (;;);
  case "reserved": emit("done", 1);
  case "text": throw "only a text";
}
