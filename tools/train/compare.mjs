// Holds llama.cpp (through node-llama-cpp) against the cases of make_cases.py.
// Usage: node compare.mjs MODEL.gguf CASES.json; prints one line of JSON.
import { readFileSync } from "node:fs";
import { getLlama } from "node-llama-cpp";

const [, , file, casesFile] = process.argv;
const cases = JSON.parse(readFileSync(casesFile, "utf8"));
const llama = await getLlama({ gpu: false, build: "never", logLevel: "warn", maxThreads: 1 });
const model = await llama.loadModel({ modelPath: file });
const context = await model.createContext({
  contextSize: 2048,
  flashAttention: false,
  experimentalKvCacheKeyType: "F32",
  experimentalKvCacheValueType: "F32",
});
const sequence = context.getSequence();

/** Token ids as llama.cpp finds them, control tokens known and <bos> put before. */
function tokenize(text) {
  const ids = [...model.tokenize(text, true)];
  return [model.tokens.bos, ...ids];
}

/** The two best next tokens after each of `ids`. */
async function topTwo(ids) {
  await sequence.clearHistory();
  const wanted = { generateNext: { logits: { filter: { tokens: [], includeTop: 2 } } } };
  const outputs = await sequence.controlledEvaluate(ids.map((id) => [id, wanted]));
  return outputs.map((output) => [...output.next.logits.entries()]);
}

/** Greedy continuation, token by token. */
async function greedy(ids, count) {
  await sequence.clearHistory();
  const made = [];
  for await (const token of sequence.evaluate(ids, { temperature: 0, yieldEogToken: true })) {
    made.push(token);
    if (made.length === count) break;
  }
  return made;
}

const same = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);
const tokenized = cases.strings.filter(({ text, ids }) => same(tokenize(text), ids));
let continued = 0;
for (const { ids, made } of cases.greedy) continued += same(await greedy(ids, made.length), made);

const agreement = { argmax: { agree: 0, gaps: [] }, argmax_rounded: { agree: 0, gaps: [] } };
let places = 0;
for (const [row, ids] of cases.rows.entries()) {
  for (const [column, [[best, high], [, second]]] of (await topTwo(ids)).entries()) {
    places += 1;
    for (const kind of Object.keys(agreement)) {
      if (cases[kind][row][column] === best) agreement[kind].agree += 1;
      else agreement[kind].gaps.push(high - second);
    }
  }
}
console.log(
  JSON.stringify({
    strings: `${tokenized.length}/${cases.strings.length}`,
    greedy: `${continued}/${cases.greedy.length}`,
    places,
    agreement,
  }),
);
