import { ConsoleWorld, expectAccessible } from "#test/support/instances/console-world.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
const world = await ConsoleWorld.start();
await createChain(world.instance, "ecdsa-p256");
for (const path of process.argv.slice(2)) {
  for (const [w,t] of [[1280,"light"],[360,"dark"]] as const) {
    const v = await world.root(path, { width: w, theme: t });
    await v.page.getByRole("navigation", { name: "Pages", exact: true }).waitFor();
    await v.page.waitForLoadState("networkidle"); await Bun.sleep(800);
    const name = path.replace(/[^a-z]+/g, "-");
    await v.page.screenshot({ path: `/tmp/look${name}-${w}.png` });
    if (v.complaints.length) console.log(v.complaints);
    try { await expectAccessible(v.page); console.log(path, w, "axe ok"); } catch (e) { console.log(String(e).slice(0, 1500)); }
    await v.close();
  }
}
await world.stop(); process.exit(0);
