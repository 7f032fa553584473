return { n: input.n * 2, text: input.text, deep: input.deep };
