/** Makes of the panels a dashboard that Grafana imports (its JSON model, schema 39). */

import { type Panel, type PanelKind, type PanelRow, panelRows } from "./panels.ts";
import { helpOf } from "./promql.ts";

type Model = Readonly<Record<string, unknown>>;

/**
 * The dashboard. Whoever imports it chooses the data source and the instances in its variables, so
 * that nothing in it is of one place.
 */
export function dashboard(): Model {
  return {
    id: null,
    uid: "pkid",
    title: "pkid",
    tags: ["pkid"],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: "1m",
    time: { from: "now-6h", to: "now" },
    timepicker: {},
    timezone: "browser",
    annotations: { list: [] },
    links: [],
    templating: { list: [datasourceVariable, instanceVariable] },
    panels: laidOut(panelRows),
  };
}

/** Rows from top to bottom, in each the panels from left to right. */
function laidOut(rows: readonly PanelRow[]): readonly Model[] {
  const made: Model[] = [];
  let y = 0;
  for (const { title, panels } of rows) {
    const gridPos = { h: 1, w: columnsMax, x: 0, y: y++ };
    made.push({ id: made.length + 1, type: "row", title, collapsed: false, gridPos, panels: [] });
    const perLine = panels.length > 4 ? 3 : panels.length;
    const w = columnsMax / perLine;
    for (const [at, panel] of panels.entries()) {
      const { h } = drawn[panel.kind];
      const x = (at % perLine) * w;
      const line = Math.floor(at / perLine);
      made.push(panelModel(panel, made.length + 1, { h, w, x, y: y + line * h }));
    }
    const tallest = Math.max(...panels.map(({ kind }) => drawn[kind].h));
    y += Math.ceil(panels.length / perLine) * tallest;
  }
  return made;
}

function panelModel({ title, kind, unit, curves }: Panel, id: number, gridPos: Model): Model {
  return {
    id,
    type: kind,
    title,
    description: [...new Set(curves.flatMap(({ expr }) => helpOf(expr)))].join(" "),
    datasource,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: drawn[kind].options,
    targets: curves.map(({ expr, legend }, at) => ({
      refId: String.fromCharCode(0x41 + at),
      datasource,
      editorMode: "code",
      expr,
      legendFormat: legend,
      range: kind === "timeseries",
      instant: kind === "stat",
    })),
  };
}

const datasource = { type: "prometheus", uid: "$datasource" };

const datasourceVariable = {
  name: "datasource",
  label: "Data source",
  type: "datasource",
  query: "prometheus",
  refresh: 1,
};

const instanceQuery = "label_values(pki_http_requests_in_flight, instance)";
const instanceVariable = {
  name: "instance",
  label: "Instance",
  type: "query",
  datasource,
  definition: instanceQuery,
  query: { qryType: 1, query: instanceQuery, refId: "instance" },
  includeAll: true,
  allValue: ".*",
  multi: true,
  current: { selected: true, text: ["All"], value: ["$__all"] },
  // At every change of the time shown: an instance that is new appears by itself.
  refresh: 2,
  sort: 1,
};

/** Columns of the grid of Grafana. */
const columnsMax = 24;

const drawn: Readonly<Record<PanelKind, { readonly h: number; readonly options: Model }>> = {
  timeseries: {
    h: 8,
    options: {
      legend: { displayMode: "list", placement: "bottom", showLegend: true },
      tooltip: { mode: "multi", sort: "desc" },
    },
  },
  stat: {
    h: 4,
    options: {
      reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false },
      colorMode: "value",
      graphMode: "none",
      textMode: "auto",
    },
  },
};
