import { test } from "bun:test";
import { readFileSync } from "node:fs";
import { Instance } from "#test/support/instances/instance.ts";
import { makeCaAt } from "#test/support/instances/listed-cas.ts";
const cpu = (pid: number) => { const p = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" "); return (Number(p[11]) + Number(p[12])) * 10; };
test("x", async () => {
  const instance = await Instance.start({});
  const pid = (instance as any).child.pid;
  const kids = Bun.spawnSync(["pgrep", "-P", String(pid)]).stdout.toString().trim().split("\n").map(Number);
  const root = await makeCaAt(instance, "/api/ca/init-root", "old-root");
  let n = 0;
  for (let round = 0; round < 5; round++) {
    const a = cpu(pid), b = kids.map(cpu), t = performance.now();
    const end = n + 100;
    const work = async () => { while (n < end) await makeCaAt(instance, `/api/ca/${root.id}/issue-intermediate`, `other-${n++}`); };
    await Promise.all(Array.from({ length: 8 }, work));
    console.log("wall", Math.round(performance.now() - t), "serve", cpu(pid) - a, "signer", kids.map((k, i) => cpu(k) - b[i]!));
  }

  let longest = 0, over = false; 
  const probe = (async () => { while (!over) { const t = performance.now(); await (await instance.fetch("/healthz")).text(); longest = Math.max(longest, performance.now() - t); await Bun.sleep(2); } })();
  for (const path of ["/api/ca?limit=500", "/api/crls?limit=500", "/api/inventory/certificates", "/api/jobs", "/api/monitor/expiring?limit=1", "/readyz", "/api/preflight", "/api/inventory/days", "/api/approvals?decidable=true&limit=1"]) {
    longest = 0;
    const a = cpu(pid), t = performance.now();
    let s = ""; for (let i = 0; i < 3; i++) { const r = await instance.admin("GET", path).catch(String); s = JSON.stringify(r)?.length + ""; }
    console.log(path, "each: wall", (performance.now() - t) / 3, "cpu", (cpu(pid) - a) / 3, "chars", s, "others waited", longest);
  }
  over = true; await probe;
  await instance.dispose();
}, 120_000);
