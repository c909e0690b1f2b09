/** Bars and lines drawn by hand, each with a table of the same figures one key away. */

import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useId } from "preact/hooks";
import { hrefWith, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import type { Answering } from "./answer.ts";
import { isMissing, Outcome, Waiting } from "./asked.tsx";
import { Table } from "./list.tsx";

export interface Point {
  /** What stands below it: a day, a state. */
  readonly name: string;
  /** Undefined where there was nothing to measure: a gap, and no zero. */
  readonly value: number | undefined;
}

export interface Series {
  readonly name: string;
  readonly points: readonly Point[];
}

const LookContext = createContext({ asTable: false, turn: () => {} });

/** The plots of a page: `t`, or the button of any, makes tables of all; the address says which. */
export function Plots({ children }: { readonly children: ComponentChildren }) {
  const address = useAddress();
  const asTable = address.query.view === "table";
  const turn = () => visit(hrefWith(address, { view: asTable ? undefined : "table" }));
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, target } = event;
      const isTyping =
        target instanceof Element && target.closest("input, select, textarea, dialog") !== null;
      if (key !== "t" || ctrlKey || metaKey || altKey || isTyping) return;
      // Behind `g` a key names a page; what was taken for that is no press of this one.
      if (!event.defaultPrevented) turn();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
  return (
    <LookContext.Provider value={{ asTable, turn }}>
      <div class="cards plots">{children}</div>
    </LookContext.Provider>
  );
}

interface PlotProps {
  readonly title: string;
  /** What a value counts: "certificates", "ms". */
  readonly unit: string;
  readonly series: readonly Series[];
  readonly kind: "bars" | "lines";
  /** Said below the title. */
  readonly children?: ComponentChildren;
}

/** One card. The picture is for eyes; its name and the table say the same. */
export function Plot({ title, unit, series, kind, children }: PlotProps) {
  const { asTable } = useContext(LookContext);
  const id = useId();
  return (
    <section class="card" aria-labelledby={id}>
      <PlotHeading id={id} title={title} />
      {children}
      {asTable ? (
        <Told title={title} unit={unit} series={series} />
      ) : (
        <Picture title={title} unit={unit} series={series} kind={kind} known />
      )}
    </section>
  );
}

interface PlotHeadingProps {
  readonly id: string;
  readonly title: string;
}

function PlotHeading({ id, title }: PlotHeadingProps) {
  const { asTable, turn } = useContext(LookContext);
  return (
    <div class="heading">
      <h2 id={id}>{title}</h2>
      <button
        type="button"
        class="button plain small"
        aria-pressed={asTable}
        aria-keyshortcuts="t"
        title="Picture or table of all (t)"
        onClick={turn}
      >
        {asTable ? "Picture" : "Table"}
      </button>
    </div>
  );
}

interface NoPlotProps extends Omit<PlotProps, "children"> {
  /** Of its figures. */
  readonly asking: Pick<Answering<unknown>, "reply" | "refresh">;
}

/**
 * Stands where a plot will, as high as that with `series` as many figures, or where it would if its
 * figures could be had.
 */
export function NoPlot({ asking: { reply, refresh }, ...plot }: NoPlotProps) {
  const { asTable } = useContext(LookContext);
  const id = useId();
  const { title } = plot;
  if (reply !== undefined && !isMissing(reply)) return null;
  return (
    <section class="card" aria-labelledby={id}>
      <PlotHeading id={id} title={title} />
      {reply !== undefined && <Outcome reply={reply} again={refresh} />}
      {reply === undefined && (
        <>
          <div class="over">
            <Waiting />
          </div>
          <div class="awaited" aria-hidden="true">
            {asTable ? <Told {...plot} /> : <Picture {...plot} known={false} />}
          </div>
        </>
      )}
    </section>
  );
}

/** Series of so many figures each, none of which is known yet. */
export const awaited = (names: readonly string[], count: number): readonly Series[] =>
  names.map((name) => ({
    name,
    points: Array.from({ length: count }, () => ({ name: "…", value: undefined })),
  }));

const Told = ({ title, unit, series }: Pick<PlotProps, "title" | "unit" | "series">) => (
  <div class="scroll">
    <Table
      caption={title}
      columns={[
        { name: "Of", cell: ({ name }) => name },
        ...series.map(({ name, points }) => ({
          name: `${name} (${unit})`,
          cell: ({ index }: { readonly index: number }) => rounded(points[index]?.value),
        })),
      ]}
      rows={(series[0]?.points ?? []).map(({ name }, index) => ({ name, index }))}
      keyOf={({ index }) => String(index)}
    />
  </div>
);

interface PictureProps extends Omit<PlotProps, "children"> {
  /** False while its figures are awaited: then there is nothing that could be told of them. */
  readonly known: boolean;
}

function Picture({ title, unit, series, kind, known }: PictureProps) {
  const most = Math.max(1, ...series.flatMap(({ points }) => points.map(({ value = 0 }) => value)));
  const points = series[0]?.points ?? [];
  const [first] = points;
  const isEmpty = series.every((one) => one.points.every(({ value = 0 }) => value === 0));
  const said = series
    .map(({ name, points }) => `${name}: ${points.map(({ value }) => rounded(value)).join(", ")}`)
    .join("; ");
  return (
    <figure class="plot">
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${title}. ${said}`}>
        {[0, 0.5, 1].map((share) => (
          <GridLine key={share} value={share * most} most={most} known={known} />
        ))}
        {series.map(({ name, points }, at) =>
          kind === "bars" ? (
            <Bars key={name} points={points} most={most} at={at} of={series.length} />
          ) : (
            <Line key={name} points={points} most={most} at={at} />
          ),
        )}
      </svg>
      {kind === "bars" && first !== undefined && points.length <= namedMax ? (
        <Categories points={points} />
      ) : (
        <figcaption class="quiet small">
          {known && first !== undefined && (
            <span>
              {first.name} – {points.at(-1)?.name}
            </span>
          )}
          {known && <span>{isEmpty ? "nothing yet" : `top ${rounded(most)} ${unit}`}</span>}
          {series.map(({ name }, at) => (
            <span key={name} class={`key series-${at}`}>
              {name}
            </span>
          ))}
        </figcaption>
      )}
    </figure>
  );
}

interface GridLineProps {
  readonly value: number;
  readonly most: number;
  readonly known: boolean;
}

/** With its figure before it, where that is known, and none at the ground: that is nothing. */
const GridLine = ({ value, most, known }: GridLineProps) => (
  <>
    <line class="grid" x1={left} x2={width} y1={yOf(value, most)} y2={yOf(value, most)} />
    {known && value > 0 && (
      <text class="figure" x={left - 6} y={yOf(value, most) + 4}>
        {scaled(value)}
      </text>
    )}
  </>
);

/** Below each bar what it is and how much, where there are few. */
const Categories = ({ points }: { readonly points: readonly Point[] }) => (
  <figcaption class="categories small">
    {points.map(({ name, value }, index) => (
      <span key={index}>
        <strong>{rounded(value)}</strong> <span class="quiet">{name}</span>
      </span>
    ))}
  </figcaption>
);

interface LineProps {
  readonly points: readonly Point[];
  readonly most: number;
  readonly at: number;
}

/** Broken where nothing was measured; a figure between two gaps is a point. */
const Line = ({ points, most, at }: LineProps) => (
  <g>
    {runsOf(points).map((run) => (
      <Run
        key={run[0]?.index}
        look={`series-${at}`}
        points={run.map(({ index, value }) => ({
          x: xOf(index, points.length),
          y: yOf(value, most),
        }))}
      />
    ))}
  </g>
);

interface RunProps {
  readonly look: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

function Run({ look, points }: RunProps) {
  const [first, second] = points;
  if (first !== undefined && second === undefined) {
    return <circle class={look} cx={first.x} cy={first.y} r={2.5} />;
  }
  return <polyline class={look} points={points.map(({ x, y }) => `${x},${y}`).join(" ")} />;
}

interface Measured {
  readonly index: number;
  readonly value: number;
}

/** The figures that stand next to each other. */
function runsOf(points: readonly Point[]): readonly (readonly Measured[])[] {
  const runs: Measured[][] = [];
  for (const [index, { value }] of points.entries()) {
    if (value === undefined) continue;
    const last = runs.at(-1);
    if (last?.at(-1)?.index === index - 1) last.push({ index, value });
    else runs.push([{ index, value }]);
  }
  return runs;
}

interface BarsProps {
  readonly points: readonly Point[];
  readonly most: number;
  readonly at: number;
  readonly of: number;
}

function Bars({ points, most, at, of }: BarsProps) {
  const slot = (width - left) / Math.max(1, points.length);
  const thick = (slot * 0.8) / of;
  return (
    <g class={`series-${at}`}>
      {points.map(({ name, value = 0 }, index) => (
        <rect
          key={index}
          x={left + index * slot + slot * 0.1 + at * thick}
          y={yOf(value, most)}
          width={thick}
          height={height - bottom - yOf(value, most)}
        >
          <title>{`${name}: ${rounded(value)}`}</title>
        </rect>
      ))}
    </g>
  );
}

const xOf = (index: number, count: number): number =>
  count < 2 ? left + pointRoom : left + (index / (count - 1)) * (width - left - pointRoom);
const yOf = (value: number, most: number): number =>
  top + (1 - Math.min(1, value / most)) * (height - top - bottom);

const rounded = (value: number | undefined): string =>
  value === undefined
    ? "–"
    : value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 2 : 0 });

/** A figure at the grid has little room: thousands and millions by a letter. */
const scaled = (value: number): string =>
  value.toLocaleString("en", {
    notation: "compact",
    maximumFractionDigits: value < 10 ? 2 : 1,
  });

/** More bars than these are told by the first and the last. */
const namedMax = 6;
const width = 480;
const height = 120;
/** For half of a figure. */
const top = 14;
/** For the figures at the grid; `.plot .categories` in the style stands below the rest. */
const left = 48;
/** For the half of a point that is the last. */
const pointRoom = 4;
const bottom = 1;
