/* JSON laid out without reading it: numbers keep their digits, keys their order, doubles stay. Line breaks within a
   string are broken after their escape, so that files and diffs can be read. */

function tokensOf(source) {
  try {
    JSON.parse(source);
  } catch {
    return null;
  }
  return source.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g);
}

function laidOut(source) {
  const start = source.trimStart()[0];
  const tokens = start === "{" || start === "[" ? tokensOf(source) : null;
  if (tokens === null) return null;
  let depth = 0;
  let out = "";
  const line = () => "\n" + "  ".repeat(depth);
  tokens.forEach((token, position) => {
    const next = tokens[position + 1];
    if (token === "{" || token === "[") {
      depth += 1;
      out += next === "}" || next === "]" ? token : token + line();
    } else if (token === "}" || token === "]") {
      depth -= 1;
      const before = tokens[position - 1];
      out += before === "{" || before === "[" ? token : line() + token;
    } else if (token === ",") {
      out += token + line();
    } else if (token === ":") {
      out += ": ";
    } else {
      out += token[0] === '"' ? broken(token, depth) : token;
    }
  });
  return out;
}

function broken(token, depth) {
  const inner = "\n" + "  ".repeat(depth + 1);
  return token.replace(/\\./g, (escape, at) => (escape === "\\n" && at + 3 < token.length ? "\\n" + inner : escape));
}

/* Arguments on one line: key: value, key: value. */
function argumentsLine(number, limit) {
  const tokens = text(number).tail ? null : tokensOf(text(number).head);
  if (tokens === null || tokens[0] !== "{") return brief(number, limit);
  let depth = 0;
  const parts = tokens.slice(1, -1).map((token) => {
    if (token === "{" || token === "[") depth += 1;
    if (token === "}" || token === "]") depth -= 1;
    if (token === ":" || token === ",") return `${token} `;
    return depth === 0 && token[0] === '"' ? JSON.parse(token) : token;
  });
  const line = parts.join("").replace(/\s+/g, " ");
  return line.length > limit ? `${line.slice(0, limit)}…` : line;
}
