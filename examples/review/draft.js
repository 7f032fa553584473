// draft.js

return "A draft of " + input.document
