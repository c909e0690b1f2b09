/** Draft. */
import { join } from "node:path";
import { parseTree } from "./lib/source-tree.ts";
import { readSourceTexts } from "./vocabulary/source-texts.ts";
import { collectSourceHits } from "./vocabulary/hits.ts";
import { parseTable, TableMatcher } from "./vocabulary/table.ts";
const root = join(import.meta.dir, "..");
let t=performance.now(); const lap=(n:string)=>{const x=performance.now(); console.error(n, Math.round(x-t), process.cpuUsage().user/1e6); t=x;};
const files = await parseTree(root, join(root,"scripts/vocabulary/tsconfig.json"), ["src","web","test","scripts"]);
lap("parse");
const texts = files.map(readSourceTexts);
lap("read");
const m = new TableMatcher(parseTable(await Bun.file(join(root,"scripts/vocabulary.tsv")).text()));
const hits = collectSourceHits(texts, m);
lap("match");
console.error(hits.length, texts.reduce((a,x)=>a+x.comments.length,0), texts.reduce((a,x)=>a+x.names.length,0), texts.reduce((a,x)=>a+x.uiTexts.length,0), texts.reduce((a,x)=>a+x.testNames.length,0));
await Bun.write("/tmp/lang-hits.json", JSON.stringify(hits));
await Bun.write("/tmp/lang-texts.json", JSON.stringify(texts));
