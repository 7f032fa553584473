emit("tried", "again");
throw new Error("no luck");
