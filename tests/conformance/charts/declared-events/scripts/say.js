emit("order", { n: 1 });
emit("order", { n: "one" });
emit("rumour", 1);
